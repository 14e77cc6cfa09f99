package evenkeel

import (
	"context"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/command"
	"github.com/evenkeel-go/evenkeel/internal/resp"
	"github.com/evenkeel-go/evenkeel/internal/wire"
	"github.com/evenkeel-go/evenkeel/pool"
)

const (
	// probeEvery is how often an endpoint with stalled conns is probed at most, besides the governor's backoff.
	probeEvery = 100 * time.Millisecond
	// recoverGrace is how long stalled conns have to recover once the endpoint answers again: a server that was frozen wakes to
	// all its conns at about the same time, and to close those whose replies are on their way would be a storm of our making.
	recoverGrace = 250 * time.Millisecond
)

// stalledConns are the conns whose oldest reply is overdue. They take no more work, but keep their places in the budget: if
// the whole server has stopped, another conn to it is of no use, and a hundred others are a storm. One probe finds out.
type stalledConns struct {
	mu      sync.Mutex
	conns   map[*wire.Conn]struct{}
	probing bool
}

func (s *stalledConns) remove(conn *wire.Conn) {
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
}

// list returns the conns that are stalled now.
func (s *stalledConns) list() []*wire.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := make([]*wire.Conn, 0, len(s.conns))
	for conn := range s.conns {
		conns = append(conns, conn)
	}
	return conns
}

// stallChanged is told when a conn stalls, and when its replies come after all.
func (c *Client) stallChanged(conn *wire.Conn, lane Lane) {
	if !conn.Stalled() {
		c.stalled.remove(conn)
		if conn.Err() == nil {
			c.connEvent(ConnEvent{Kind: ConnRecovered, Lane: lane})
			c.shared.recovered()
		}
		return
	}
	c.stalls.Add(1)
	c.connEvent(ConnEvent{Kind: ConnStalled, Lane: lane})
	s := &c.stalled
	s.mu.Lock()
	if s.conns == nil {
		s.conns = map[*wire.Conn]struct{}{}
	}
	s.conns[conn] = struct{}{}
	s.probing = s.probing || c.start(c.probe)
	s.mu.Unlock()
}

// probe opens one conn after the other until one comes through, or no conn is stalled any more. The shared lane puts it to
// use. What is stalled still a moment after a dial has come through is dead, and closed.
func (c *Client) probe() {
	for c.probing() {
		suspects := c.stalled.list()
		wait := probeEvery
		if c.endpointAnswers() {
			if !c.pause(recoverGrace) {
				return
			}
			for _, conn := range suspects {
				if conn.Stalled() {
					conn.Close(wire.ErrStalled)
				}
				c.stalled.remove(conn)
			}
		}
		if at := c.endpoint.State().NextAttempt; !at.IsZero() {
			wait = max(wait, time.Until(at))
		}
		if !c.pause(wait) {
			return
		}
	}
}

// probing reports whether there is something to find out still. When it returns false the next conn that stalls starts anew.
func (c *Client) probing() bool {
	s := &c.stalled
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probing = len(s.conns) > 0 && !c.isClosed()
	return s.probing
}

// endpointAnswers opens a conn to see. When there is no place for one, a conn that is not stalled is asked instead.
func (c *Client) endpointAnswers() bool {
	c.probes.Add(1)
	c.shared.makeWay()
	f := c.shared.fill()
	t := time.NewTimer(c.cfg.DialTimeout)
	defer t.Stop()
	select {
	case <-f.done:
		return f.err == nil
	case <-c.closed:
		return false
	case <-t.C:
	}
	if c.shared.pick() == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.cfg.DialTimeout)
	defer cancel()
	var v resp.Value
	_, _, err := c.onShared(ctx, command.Lookup("PING", ""), []any{"PING"}, &v)
	return err == nil
}

// pause waits and reports whether the client is still open.
func (c *Client) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.closed:
		return false
	}
}

// giveBack returns the lease of an exclusive or blocking conn: at once when nothing is owed on it, else when it is drained. A
// stalled or broken one is discarded in the end.
func giveBack(lease pool.Lease[*wire.Conn]) {
	conn := lease.Value()
	if conn.Owed() == 0 && conn.Err() == nil {
		_ = lease.Release() // fails only when the pool was closed meanwhile
		return
	}
	conn.AfterDrain(func(err error) {
		if err != nil {
			_ = lease.Discard(closeReason(err))
			return
		}
		_ = lease.Release()
	})
}

// acquire leases a conn that takes work from a pool, and says how long that took. timeout bounds the wait of a context without a
// deadline.
func (c *Client) acquire(ctx context.Context, p *pool.Pool[*wire.Conn], timeout time.Duration) (lease pool.Lease[*wire.Conn], waited time.Duration, err error) {
	lease, ok := p.TryAcquire()
	if ok && lease.Value().Usable() {
		return lease, 0, nil
	}
	start := time.Now()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, wire.ErrTimeout)
		defer cancel()
	}
	for {
		if !ok {
			if lease, err = p.Acquire(ctx); err != nil {
				return lease, time.Since(start), err
			}
		}
		switch conn := lease.Value(); {
		case conn.Usable():
			return lease, time.Since(start), nil
		case conn.Err() != nil: // it broke while it was idle
			_ = lease.Discard(closeReason(conn.Err()))
		default: // it stalled on a background ping
			giveBack(lease)
		}
		ok = false
	}
}
