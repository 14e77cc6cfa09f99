package evenkeel

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/command"
	"github.com/evenkeel-go/evenkeel/internal/resp"
	"github.com/evenkeel-go/evenkeel/internal/wire"
	"github.com/evenkeel-go/evenkeel/pool"
)

// A Conn is one conn for one caller: inside WithConn, or from Dial. Commands that change their conn are allowed on it: WATCH,
// MULTI, SELECT, CLIENT TRACKING … It never reconnects: when it fails, what had been begun on it has failed as well. Its
// methods must not be called concurrently.
type Conn struct {
	wc     *wire.Conn
	cfg    *Config
	client *Client // nil for one from Dial

	session session // what it is in, as far as may be
	ended   atomic.Bool
}

// WithConn leases an exclusive conn, calls f with it, and takes it back: for transactions with WATCH, and for whatever must
// stay on one conn. Afterwards the conn is clean whatever f did, or is closed: an open transaction is discarded, watched keys
// are let go, and a conn on which SELECT, AUTH and the like were sent is not used again. A panic of f passes through after
// that. f must not keep the Conn.
//
// The error is f's own, or says why no conn could be had: within ctx, or CommandTimeout when ctx has no deadline.
func (c *Client) WithConn(ctx context.Context, f func(*Conn) error) error {
	if f == nil {
		return c.wrap("WithConn", LaneExclusive, 0, usage("the function is nil"))
	}
	p, err := c.lanePool(LaneExclusive)
	if err != nil {
		return c.wrap("WithConn", LaneExclusive, 0, err)
	}
	lease, _, err := c.acquire(ctx, p, callTimeout(ctx, &c.cfg))
	if err != nil {
		return c.wrap("WithConn", LaneExclusive, 1, c.explainAcquire(LaneExclusive, err))
	}
	conn := &Conn{wc: lease.Value(), cfg: &c.cfg, client: c}
	defer conn.end(lease)
	return f(conn)
}

// end leaves the conn clean for the next lease, or discards it.
func (c *Conn) end(lease pool.Lease[*wire.Conn]) {
	c.ended.Store(true)
	if c.session.changed {
		_ = lease.Discard(pool.ReasonState)
		return
	}
	// In order before whatever the next lease sends. Both where both may be needed: DISCARD lets go of watched keys too, but is
	// refused if MULTI never ran.
	if c.session.multi && !c.startClean("DISCARD") || c.session.watching && !c.startClean("UNWATCH") {
		_ = lease.Discard(pool.ReasonState)
		return
	}
	giveBack(lease)
}

// startClean sends a command that cleans the conn. It reports false when the conn is broken, or owes so much that its queue takes
// no more.
func (c *Conn) startClean(name string) bool {
	k := wire.NewCall()
	k.Words(name)
	return c.wc.Start(k)
}

// Do runs one command on this conn; see Client.Do for arguments and time limits. It is never repeated.
func (c *Conn) Do(ctx context.Context, args ...any) (r Reply) {
	info := lookup(args)
	start := c.cfg.Hooks.start()
	if err := c.roundTrip(ctx, info, args, &r.v); err != nil {
		r.err = c.wrap(opName(info, args), err)
	}
	if !start.IsZero() {
		c.cfg.Hooks.ended(CommandEvent{Name: opName(info, args), Lane: c.lane(), Commands: 1, Start: start, Attempts: 1, Err: r.Err()})
	}
	return r
}

func (c *Conn) roundTrip(ctx context.Context, info *command.Info, args []any, v *resp.Value) error {
	if err := c.admit(info, args); err != nil {
		return err
	}
	k := wire.NewCall()
	if err := k.Command(args); err != nil {
		k.Free()
		return usage("%v", err)
	}
	before := c.session
	worst, after := before.then(info)
	c.session = worst
	t := timeoutOf(info, args)
	timeout, stall := limits(ctx, c.cfg, t)
	if t.waits && c.client != nil {
		k.OnLost(c.client.lostReply(info))
	}
	if err := c.wc.RoundTrip(ctx, k, timeout, stall); err != nil {
		left, ok := errors.AsType[*wire.LeftError](err)
		switch {
		case ok && !left.Sent:
			c.session = before
		case ok && t.waits && c.client == nil:
			c.wc.Close(context.Canceled)
		case ok && t.waits:
			c.client.unblock(c.wc)
		}
		return err
	}
	*v = *k.Reply()
	if v.Kind != resp.KindError {
		c.session = after
	}
	k.Free()
	if c.client != nil {
		c.client.succeeded()
	}
	return nil
}

// admit refuses what cannot work here.
func (c *Conn) admit(info *command.Info, args []any) error {
	if err := c.held(); err != nil {
		return err
	}
	if err := refuse(info, args, true); err != nil {
		return err
	}
	if info != nil && info.Name == "CLIENT REPLY" {
		return usage("CLIENT REPLY would leave calls without replies, and is refused")
	}
	return nil
}

// held says whether the conn is still its holder's.
func (c *Conn) held() error {
	if c.ended.Load() {
		return usage("the Conn was kept beyond WithConn, and belongs to somebody else now")
	}
	return nil
}

// session is what commands have made of a conn.
type session struct {
	watching bool // WATCH without its EXEC, DISCARD or UNWATCH yet
	multi    bool // MULTI without its EXEC or DISCARD yet
	changed  bool // the conn is not what the handshake made it any more
}

// then says what the commands lead to: after is what they do when the server has accepted them all, worst what may be left
// when only some of them ran, or none. A conn counts as being in the worst until it is known better: an EXEC that was never
// sent, or refused, must not make a conn look clean on which MULTI has run.
func (s session) then(infos ...*command.Info) (worst, after session) {
	worst, after = s, s
	for _, info := range infos {
		after = after.with(info)
		worst.watching = worst.watching || after.watching
		worst.multi = worst.multi || after.multi
		worst.changed = worst.changed || after.changed
	}
	return worst, after
}

func (s session) with(info *command.Info) session {
	if info == nil {
		return s
	}
	switch info.Class {
	case command.ClassTx:
		switch info.Name {
		case "WATCH":
			s.watching = true
		case "UNWATCH":
			s.watching = s.multi && s.watching // queued, not run, inside MULTI
		case "MULTI":
			s.multi = true
		case "EXEC", "DISCARD":
			s.multi, s.watching = false, false
		}
	case command.ClassPin, command.ClassPoolKey, command.ClassLocal:
		s.changed = s.changed || !stateless(info.Name)
	default:
	}
	return s
}

// pipeline sends a pipeline on the conn, and keeps track of the session.
func (c *Conn) pipeline(ctx context.Context, p *Pipeline, timeout time.Duration) ([]Reply, error) {
	if err := c.held(); err != nil {
		return nil, err
	}
	before := c.session
	worst, after := before.then(p.infos...)
	c.session = worst
	replies, err := p.trip(ctx, c.wc, timeout, true)
	if err != nil {
		if left, ok := errors.AsType[*wire.LeftError](err); ok && !left.Sent {
			c.session = before
		}
		return replies, err
	}
	for i := range replies {
		if replies[i].v.Kind == resp.KindError && worst != after {
			return replies, nil // which of them was refused decides: the worst stands
		}
	}
	c.session = after
	return replies, nil
}

// Pipeline returns an empty pipeline on this conn.
func (c *Conn) Pipeline() *Pipeline { return &Pipeline{conn: c} }

// ConnInfo is what the dial and the handshake learned.
type ConnInfo struct {
	// ID is the server's number of the conn, as CLIENT ID has it; 0 when the server would not say.
	ID int64
	// Protocol is 2 or 3.
	Protocol int
	// Server is the software, such as "redis" or "valkey", and Version its version, as HELLO says them; empty with protocol 2.
	Server, Version string
	// Timings are how long the dial's phases took.
	Timings Timings
}

// Info is what the dial and the handshake learned: the server's id of the conn, protocol, version, and how long each phase took.
func (c *Conn) Info() ConnInfo {
	i := c.wc.Info()
	return ConnInfo{ID: i.ID, Protocol: i.Protocol, Server: i.Server, Version: i.Version, Timings: Timings(i.Timings)}
}

// Close closes a conn from Dial. Inside WithConn it makes the conn unusable: it is not given back.
func (c *Conn) Close() error {
	if err := c.held(); err != nil {
		return c.wrap("Close", err)
	}
	c.wc.Close(nil)
	<-c.wc.Done()
	return nil
}

// lane is where the conn comes from: none for one from Dial.
func (c *Conn) lane() Lane {
	if c.client == nil {
		return 0
	}
	return LaneExclusive
}

func (c *Conn) wrap(op string, err error) error {
	return wrapError(c.cfg.Addr, op, c.lane(), 1, err)
}
