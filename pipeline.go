package evenkeel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/command"
	"github.com/evenkeel-go/evenkeel/internal/resp"
	"github.com/evenkeel-go/evenkeel/internal/wire"
	"github.com/evenkeel-go/evenkeel/pool"
)

// sharedPipeline is the length up to which a pipeline travels on the shared lane; longer ones would hold up other callers.
const sharedPipeline = 128

// A Pipeline collects commands that are sent together, without waiting for each other's replies: for commands of which none
// depends on another's reply. Get one with Client.Pipeline or Conn.Pipeline. It is not safe for concurrent use; the zero
// Pipeline is of no use.
//
// MULTI … EXEC in a pipeline is a transaction: its commands are run together or not at all.
type Pipeline struct {
	client *Client
	conn   *Conn

	buf   []byte // encoded
	ends  []int  // where each command ends in buf
	infos []*command.Info
	err   error // the first command that cannot be sent; none is, then
	own   bool  // something needs a conn of its own
	safe  bool  // all of it only reads
	multi bool  // MULTI without EXEC yet
}

// Pipeline returns an empty pipeline.
func (c *Client) Pipeline() *Pipeline { return &Pipeline{client: c, safe: true} }

// Do adds a command; see Client.Do for the arguments. One that cannot be sent makes Exec fail without sending anything.
func (p *Pipeline) Do(args ...any) {
	if p.client == nil && p.conn == nil {
		p.err = usage("a zero Pipeline has no server: get one from Client.Pipeline or Conn.Pipeline")
	}
	if p.err != nil {
		return
	}
	info := lookup(args)
	if err := p.admit(info, args); err != nil {
		p.err = fmt.Errorf("command %d of the pipeline: %w", len(p.ends)+1, err)
		return
	}
	b, err := resp.AppendCommand(p.buf, args)
	if err != nil {
		p.err = fmt.Errorf("command %d of the pipeline: %w", len(p.ends)+1, usage("%v", err))
		return
	}
	p.buf = b
	p.ends = append(p.ends, len(b))
	p.infos = append(p.infos, info)
	p.safe = p.safe && info != nil && info.Retry == command.RetrySafe
}

func (p *Pipeline) admit(info *command.Info, args []any) error {
	if p.conn != nil {
		if err := p.conn.admit(info, args); err != nil {
			return err
		}
	}
	if info != nil && info.Class == command.ClassTx && p.conn == nil {
		switch info.Name {
		case "MULTI":
			p.multi, p.own = true, true
			return nil
		case "EXEC", "DISCARD":
			p.multi = false
			return nil
		}
	}
	if timeoutOf(info, args).waits && !p.multi {
		return usage("%s waits on the server, and would hold up what follows: call it by Do", info.Name)
	}
	return refuse(info, args, p.conn != nil)
}

// Len is the number of commands added.
func (p *Pipeline) Len() int { return len(p.ends) }

// Reset empties the pipeline for reuse; its memory is kept.
func (p *Pipeline) Reset() {
	p.buf, p.ends, p.infos = p.buf[:0], p.ends[:0], p.infos[:0]
	p.err, p.own, p.safe, p.multi = nil, false, true, false
}

// Exec sends the commands and returns their replies in order, one for each. Each reply has its own value or error: an error
// reply of one command concerns no other, and a nil is no error. err is the first error among them, nil when there is none;
// when the conn fails half way, the replies that had come are kept, and the others carry the error.
//
// The commands stay in the pipeline, which may be executed again; see Reset. ctx and CommandTimeout bound the whole. It is
// repeated only when none of it was sent, or when all of it only reads.
func (p *Pipeline) Exec(ctx context.Context) (replies []Reply, err error) {
	switch {
	case p.client == nil && p.conn == nil:
		return nil, p.err
	case p.err != nil:
		return nil, p.wrap(0, 0, p.err)
	}
	if len(p.ends) == 0 {
		return nil, nil
	}
	if p.multi && p.conn == nil {
		return nil, p.wrap(0, 0, usage("MULTI without EXEC in the pipeline"))
	}
	hooks := &p.config().Hooks
	start := hooks.start()
	replies, lane, attempts, err := p.exec(ctx)
	if !start.IsZero() {
		hooks.ended(CommandEvent{Name: "pipeline", Lane: lane, Commands: len(p.ends), Start: start, Attempts: attempts, Err: err})
	}
	return replies, err
}

func (p *Pipeline) config() *Config {
	if p.conn != nil {
		return p.conn.cfg
	}
	return &p.client.cfg
}

func (p *Pipeline) exec(ctx context.Context) (replies []Reply, lane Lane, attempts int, err error) {
	got, lane, attempts, err := p.send(ctx)
	if err == nil {
		for i := range got {
			if v := &got[i].v; v.Kind == resp.KindError {
				return got, lane, attempts, fmt.Errorf("command %d of the pipeline: %w", i+1, newServerError(v.Str))
			}
		}
		return got, lane, attempts, nil
	}
	err = p.wrap(lane, attempts, err)
	replies = make([]Reply, len(p.ends))
	n := copy(replies, got)
	for i := range replies[n:] {
		replies[n+i].err = err
	}
	return replies, lane, attempts, err
}

// sink has a conn parse replies where they are wanted.
type sink []Reply

// Slot implements wire.Sink.
func (s sink) Slot(i int) *resp.Value { return &s[i].v }

// send chooses the conn, and repeats where that is safe. With an error it returns the replies that had come.
func (p *Pipeline) send(ctx context.Context) (replies []Reply, lane Lane, attempts int, err error) {
	if p.conn != nil {
		replies, err = p.conn.pipeline(ctx, p, callTimeout(ctx, p.conn.cfg))
		return replies, p.conn.lane(), 1, err
	}
	c := p.client
	if lane = LaneShared; p.own || len(p.ends) > sharedPipeline || c.cfg.LaneThreshold > 0 && len(p.buf) >= c.cfg.LaneThreshold {
		if lane = LaneExclusive; c.exclusive == nil && !p.own {
			lane = LaneShared
		}
	}
	timeout := callTimeout(ctx, &c.cfg)
	start := time.Now()
	var before error // what ended the attempt before
	for attempts = 1; ; attempts++ {
		replies, err = p.attempt(ctx, lane, less(timeout, time.Since(start)))
		if err == nil {
			c.succeeded()
			return replies, lane, attempts, nil
		}
		if _, again := c.again(ctx, p.retry(), attempts, err); !again {
			if _, ok := errors.AsType[*pool.AcquireError](err); ok {
				err = afterRetry(err, before)
			}
			return replies, lane, attempts, err
		}
		before = err
	}
}

// retry is a command that stands for the whole pipeline when it fails.
func (p *Pipeline) retry() *command.Info {
	if p.safe {
		return p.infos[0]
	}
	return nil
}

func (p *Pipeline) attempt(ctx context.Context, lane Lane, timeout time.Duration) ([]Reply, error) {
	c := p.client
	if lane == LaneShared {
		start := time.Now()
		conn, err := c.shared.get(ctx, timeout)
		if err != nil {
			return nil, c.explainAcquire(lane, err)
		}
		return p.trip(ctx, conn, less(timeout, time.Since(start)), false)
	}
	pl, err := c.lanePool(lane)
	if err != nil {
		return nil, err
	}
	lease, waited, err := c.acquire(ctx, pl, timeout)
	if err != nil {
		return nil, c.explainAcquire(lane, err)
	}
	conn := &Conn{wc: lease.Value(), cfg: &c.cfg, client: c}
	defer conn.end(lease)
	return conn.pipeline(ctx, p, less(timeout, waited))
}

// trip sends the pipeline on a conn: in windows when nobody else uses it, else in one piece. With an error it returns the
// replies that had come.
func (p *Pipeline) trip(ctx context.Context, conn *wire.Conn, timeout time.Duration, own bool) ([]Reply, error) {
	k := wire.NewCall()
	replies := make(sink, len(p.ends))
	k.Into(replies)
	if own {
		k.Pipeline(p.buf, p.ends)
	} else {
		k.Raw(p.buf, len(p.ends))
	}
	err := conn.RoundTrip(ctx, k, timeout, 0)
	if err == nil {
		k.Free()
		return replies, nil
	}
	if failed, ok := errors.AsType[*wire.ConnError](err); ok {
		return replies[:failed.Got], err
	}
	return nil, err // its replies are swallowed in order, into where they would have gone
}

func (p *Pipeline) wrap(lane Lane, attempts int, err error) error {
	if p.conn != nil {
		return p.conn.wrap("pipeline", err)
	}
	return p.client.wrap("pipeline", lane, attempts, err)
}
