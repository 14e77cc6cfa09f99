package evenkeel

import (
	"context"
	"strconv"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/command"
	"github.com/evenkeel-go/evenkeel/internal/resp"
	"github.com/evenkeel-go/evenkeel/internal/wire"
)

const (
	// unblockTries and unblockWait: CLIENT UNBLOCK may overtake the command on its way, and is repeated after 10, 20, 40 … ms.
	unblockTries = 6
	unblockWait  = 10 * time.Millisecond
)

// unblock frees a conn whose caller has left a command that waits on the server: the server is told to stop waiting, so that
// the conn drains and can be used again. When that does not help the conn is closed.
func (c *Client) unblock(conn *wire.Conn) {
	id := conn.Info().ID
	if id == 0 { // the server does not say which conn this is
		conn.Close(context.Canceled)
		return
	}
	drained := make(chan struct{})
	conn.AfterDrain(func(error) { close(drained) })
	started := c.start(func() {
		wait := unblockWait
		for range unblockTries {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			var v resp.Value
			_, _, err := c.onShared(ctx, unblockInfo(), []any{"CLIENT", "UNBLOCK", strconv.FormatInt(id, 10)}, &v)
			cancel()
			if err != nil {
				break
			}
			t := time.NewTimer(wait)
			select {
			case <-drained:
				t.Stop()
				return
			case <-c.closed:
				t.Stop()
				conn.Close(wire.ErrClosed)
				return
			case <-t.C:
			}
			wait *= 2
		}
		conn.Close(context.Canceled)
	})
	if !started {
		conn.Close(wire.ErrClosed)
	}
}

func unblockInfo() *command.Info { return command.Lookup("CLIENT", "UNBLOCK") }

// lostReply returns what is told of a reply that comes for a blocking command whose caller has left. Nil replies and the
// error of CLIENT UNBLOCK lose nothing.
func (c *Client) lostReply(info *command.Info) func(resp.Value) {
	return func(v resp.Value) {
		if v.IsNull() || v.Kind == resp.KindError || v.Kind == resp.KindInteger {
			return
		}
		c.lostReplies.Add(1)
		c.log.Warn("evenkeel: an element came for a blocking command whose caller had left; nobody got it",
			"endpoint", c.cfg.Addr, "command", info.Name)
		c.connEvent(ConnEvent{Kind: ConnLostReply, Lane: LaneBlocking, Command: info.Name})
	}
}
