package evenkeel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/command"
	"github.com/evenkeel-go/evenkeel/internal/governor"
	"github.com/evenkeel-go/evenkeel/internal/resp"
	"github.com/evenkeel-go/evenkeel/internal/wire"
	"github.com/evenkeel-go/evenkeel/pool"
)

// Do runs one command: Do(ctx, "SET", key, value). Arguments are strings, byte slices, integers, floats and booleans (1 or 0),
// and types based on these; anything else is an error that names it. They are not kept.
//
// It travels with those of other callers on a shared conn; a large one goes on an exclusive conn, and one that waits on the
// server (BLPOP, XREAD BLOCK, WAIT …) on a conn of the blocking lane. Commands that change their conn (MULTI, WATCH, SELECT …)
// are refused: see WithConn.
//
// It returns by ctx's deadline, or CommandTimeout when ctx has none. A command that waits on the server has its own timeout
// and a second more instead; one that waits for ever has only ctx. When ctx ends while it waits, the server is told to
// unblock it; should an element come all the same, Hooks.OnConn and the log say so.
//
// A command that provably did not run, or that only reads, is repeated up to MaxRetries times; see MayHaveRun for the rest.
func (c *Client) Do(ctx context.Context, args ...any) (r Reply) {
	info := lookup(args)
	start := c.cfg.Hooks.start()
	lane, attempts, err := c.route(ctx, info, args, &r.v)
	r.err = err
	if !start.IsZero() {
		c.cfg.Hooks.ended(CommandEvent{Name: opName(info, args), Lane: lane, Commands: 1, Start: start, Attempts: attempts, Err: r.Err()})
	}
	return r
}

// DoExclusive runs one command on a conn of the exclusive lane: lease, round trip, return, as a classic pool does.
func (c *Client) DoExclusive(ctx context.Context, args ...any) (r Reply) {
	info := lookup(args)
	start := c.cfg.Hooks.start()
	attempts := 0
	if err := refuse(info, args, false); err != nil {
		r.err = c.wrap(opName(info, args), LaneExclusive, 0, err)
	} else {
		attempts, r.err = c.onLease(ctx, LaneExclusive, info, args, &r.v, nil)
	}
	if !start.IsZero() {
		c.cfg.Hooks.ended(CommandEvent{Name: opName(info, args), Lane: LaneExclusive, Commands: 1, Start: start, Attempts: attempts, Err: r.Err()})
	}
	return r
}

// route chooses the lane. The reply goes into v, which is large enough for its copies to count.
func (c *Client) route(ctx context.Context, info *command.Info, args []any, v *resp.Value) (lane Lane, attempts int, err error) {
	if info == nil || info.Class != command.ClassMux {
		if err := refuse(info, args, false); err != nil {
			return 0, 0, c.wrap(opName(info, args), 0, 0, err)
		}
		if info.MayBlock() {
			if t := timeoutOf(info, args); t.waits {
				attempts, err = c.onLease(ctx, LaneBlocking, info, args, v, nil)
				return LaneBlocking, attempts, err
			}
		}
		if info != nil && info.Class == command.ClassControl {
			attempts, err = c.onLease(ctx, LaneExclusive, info, args, v, nil)
			return LaneExclusive, attempts, err
		}
	}
	return c.onShared(ctx, info, args, v)
}

// onShared runs a command on the shared lane, or on the exclusive one when it is large.
func (c *Client) onShared(ctx context.Context, info *command.Info, args []any, v *resp.Value) (lane Lane, attempts int, err error) {
	timeout := callTimeout(ctx, &c.cfg)
	var before error // what ended the attempt before
	for attempts = 1; ; attempts++ {
		if err := ctx.Err(); err != nil { // before the work of encoding
			return LaneShared, attempts, c.wrap(opName(info, args), LaneShared, attempts, &wire.LeftError{Cause: err})
		}
		k := wire.NewCall()
		if err = k.Command(args); err != nil {
			k.Free()
			return LaneShared, 0, c.wrap(opName(info, args), LaneShared, 0, usage("%v", err))
		}
		if c.cfg.LaneThreshold > 0 && k.Bytes() >= c.cfg.LaneThreshold && c.exclusive != nil {
			attempts, err = c.onLease(ctx, LaneExclusive, info, args, v, k)
			return LaneExclusive, attempts, err
		}
		conn := c.shared.pick()
		if conn == nil {
			start := time.Now()
			if conn, err = c.shared.get(ctx, timeout); err != nil {
				k.Free()
				return LaneShared, attempts, c.wrap(opName(info, args), LaneShared, attempts, afterRetry(c.explainAcquire(LaneShared, err), before))
			}
			timeout = less(timeout, time.Since(start))
		}
		if err = conn.RoundTrip(ctx, k, timeout, 0); err == nil {
			*v = *k.Reply()
			k.Free()
			c.succeeded()
			c.shared.replied(conn)
			return LaneShared, attempts, nil
		}
		spent, again := c.again(ctx, info, attempts, err)
		if !again {
			return LaneShared, attempts, c.wrap(opName(info, args), LaneShared, attempts, err)
		}
		timeout, before = less(timeout, spent), err
	}
}

// afterRetry adds to the error of an attempt that got no conn what ended the one before, which is the cause of both.
func afterRetry(err, before error) error {
	if before == nil {
		return err
	}
	return fmt.Errorf("%w; the attempt before it: %w", err, before)
}

// onLease runs a command on a conn of its own. k is the command if it has been encoded already, else nil.
func (c *Client) onLease(ctx context.Context, lane Lane, info *command.Info, args []any, v *resp.Value, k *wire.Call) (attempts int, err error) {
	p, err := c.lanePool(lane)
	if err != nil {
		if k != nil {
			k.Free()
		}
		return 0, c.wrap(opName(info, args), lane, 0, err)
	}
	t := timeoutOf(info, args)
	timeout, stall := limits(ctx, &c.cfg, t)
	acquireTimeout := callTimeout(ctx, &c.cfg)
	var before error // what ended the attempt before
	for attempts = 1; ; attempts++ {
		if k == nil {
			k = wire.NewCall()
			if err = k.Command(args); err != nil {
				k.Free()
				return 0, c.wrap(opName(info, args), lane, 0, usage("%v", err))
			}
		}
		lease, waited, err := c.acquire(ctx, p, acquireTimeout)
		if err != nil {
			k.Free()
			return attempts, c.wrap(opName(info, args), lane, attempts, afterRetry(c.explainAcquire(lane, err), before))
		}
		acquireTimeout = less(acquireTimeout, waited)
		if t.waits { // its time counts from when it has a conn
			k.OnLost(c.lostReply(info))
		} else {
			timeout = acquireTimeout
		}
		conn := lease.Value()
		err = conn.RoundTrip(ctx, k, timeout, stall)
		if err == nil {
			*v = *k.Reply()
			k.Free()
			giveBack(lease)
			c.succeeded()
			return attempts, nil
		}
		if left, ok := errors.AsType[*wire.LeftError](err); ok && left.Sent && t.waits {
			c.unblock(conn)
		}
		giveBack(lease)
		spent, again := c.again(ctx, info, attempts, err)
		if !again {
			return attempts, c.wrap(opName(info, args), lane, attempts, err)
		}
		acquireTimeout, before, k = less(acquireTimeout, spent), err, nil
	}
}

func (c *Client) lanePool(lane Lane) (*pool.Pool[*wire.Conn], error) {
	switch {
	case c.isClosed():
		return nil, ErrClosed
	case lane == LaneBlocking && c.blocking == nil:
		return nil, usage("commands that wait on the server need Config.MaxBlocking, which is 0")
	case lane == LaneBlocking:
		return c.blocking, nil
	case c.exclusive == nil:
		return nil, usage("this needs a conn of its own, and Config.Size and Overflow are both 0")
	default:
		return c.exclusive, nil
	}
}

// explainAcquire names the setting that limits a lane when the lane was full, or what the dial waits for that would have
// filled it.
func (c *Client) explainAcquire(lane Lane, err error) error {
	e, ok := errors.AsType[*pool.AcquireError](err)
	if !ok || !errors.Is(err, ErrAcquireTimeout) {
		return err
	}
	dial := ""
	if e.Cause == nil && e.Stat.Dialing > 0 {
		dial = c.dialWaits()
	}
	switch {
	case lane == LaneShared && e.Stat.InUse > 0:
		return &advisedError{"the shared conns have stalled: the server owes replies", err}
	case dial != "":
		return &advisedError{dial, err}
	case e.Stat.InUse < e.Stat.Max:
		return err
	case lane == LaneBlocking:
		return &advisedError{"every conn of the blocking lane is waiting on the server: each worker needs one, so raise Config.MaxBlocking", err}
	default:
		return &advisedError{"every exclusive conn is in use: raise Config.Size or Overflow, or hold conns for a shorter time", err}
	}
}

// advisedError is an acquire error with what it probably means, or what to do.
type advisedError struct {
	advice string
	err    error
}

func (e *advisedError) Error() string { return e.err.Error() + "; " + e.advice }
func (e *advisedError) Unwrap() error { return e.err }

// succeeded tells the governor and the retry budget that the server answers.
func (c *Client) succeeded() {
	c.endpoint.Succeeded()
	c.retryBudget.Success()
}

// callTimeout is CommandTimeout when the context has no deadline of its own, else 0.
func callTimeout(ctx context.Context, cfg *Config) time.Duration {
	if _, ok := ctx.Deadline(); ok {
		return 0
	}
	return cfg.CommandTimeout
}

// blockingGrace is how much longer than its own timeout a command that waits on the server may take.
const blockingGrace = time.Second

// limits are the time limit of a call, 0 when only its context has one, and the age at which its reply means a stall, in the
// terms of [wire.Conn.RoundTrip].
func limits(ctx context.Context, cfg *Config, t blockTimeout) (timeout, stall time.Duration) {
	switch {
	case t.forever:
		return 0, -1
	case !t.waits:
		return callTimeout(ctx, cfg), 0
	}
	if _, ok := ctx.Deadline(); !ok {
		timeout = t.d + blockingGrace
	}
	if stall = -1; cfg.StallTimeout > 0 {
		stall = t.d + cfg.StallTimeout
	}
	return timeout, stall
}

// less is what is left of a time limit, of which 0 means none.
func less(limit, spent time.Duration) time.Duration {
	if limit == 0 {
		return 0
	}
	return max(limit-spent, 1)
}

// again decides whether a failed call is repeated, and waits before it is. spent is the time since the attempt began.
func (c *Client) again(ctx context.Context, info *command.Info, attempts int, err error) (spent time.Duration, again bool) {
	failed, ok := errors.AsType[*wire.ConnError](err)
	if !ok || attempts > c.cfg.MaxRetries || c.isClosed() {
		return 0, false
	}
	start := time.Now()
	spent = failed.Elapsed
	if failed.MayHaveRun {
		if info == nil || info.Retry != command.RetrySafe || !c.retryBudget.Allow() ||
			!sleep(ctx, governor.CommandBackoff(attempts-1, rand.Float64)) {
			return spent, false
		}
	}
	c.retries.Add(1)
	return spent + time.Since(start), true
}

// sleep waits and reports whether the context lasted.
func sleep(ctx context.Context, d time.Duration) bool {
	if dl, ok := ctx.Deadline(); ok && time.Until(dl) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// blockTimeout is how long the server may wait before it answers.
type blockTimeout struct {
	waits, forever bool
	d              time.Duration
}

func timeoutOf(info *command.Info, args []any) blockTimeout {
	if !info.MayBlock() {
		return blockTimeout{}
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = word(arg)
	}
	var t blockTimeout
	t.d, t.forever, t.waits = info.BlockTimeout(words)
	return t
}

// word is an argument as the server sees it. A copy: the arguments must not escape.
func word(arg any) string {
	switch a := arg.(type) {
	case string:
		return strings.Clone(a)
	case []byte:
		return string(a)
	}
	one := [1]any{arg}
	b, err := resp.AppendCommand(nil, one[:])
	if err != nil {
		return "" // sending it will say what is wrong
	}
	return strings.SplitN(string(b), "\r\n", 4)[2] // *1, $length, the word
}

// lookup looks the command up; nil when it is not in the table.
func lookup(args []any) *command.Info {
	switch len(args) {
	case 0:
		return nil
	case 1:
		return command.Lookup(nameOf(args[0]), "")
	default:
		return command.Lookup(nameOf(args[0]), nameOf(args[1]))
	}
}

// nameOf is an argument that may be a command's name.
func nameOf(arg any) string {
	name, _ := resp.Text(arg)
	return name
}

// opName is the command's name for people.
func opName(info *command.Info, args []any) string {
	switch {
	case info != nil:
		return info.Name
	case len(args) == 0 || nameOf(args[0]) == "":
		return "command"
	default:
		name := nameOf(args[0])
		return strings.ToUpper(strings.Clone(name[:min(len(name), 32)]))
	}
}

// refuse says why a command cannot run on a conn that others use, or at all; own is true on a conn of its own.
func refuse(info *command.Info, args []any, own bool) error {
	if len(args) == 0 {
		return usage("no command: call Do(ctx, \"GET\", key)")
	}
	if info == nil {
		if nameOf(args[0]) == "" {
			return usage("the first argument must be the command's name, a string")
		}
		return nil
	}
	if info.Name == "MONITOR" {
		return usage("MONITOR turns the conn into a feed of all commands, and is refused: use redis-cli, and not for long")
	}
	switch info.Class {
	case command.ClassDeny:
		return usage("%s turns the conn into something else than a client's, and is refused", info.Name)
	case command.ClassSub:
		return usage("%s needs a subscriber, which this client does not have yet", info.Name)
	case command.ClassTx, command.ClassPin, command.ClassPoolKey, command.ClassLocal:
		if !own && !stateless(info.Name) {
			return usage("%s concerns one conn, and this call shares its conn with others: use WithConn (or Config, for AUTH, SELECT, HELLO and CLIENT SETNAME)", info.Name)
		}
	default:
	}
	return nil
}

// stateless are commands of the session classes that only ask, or only answer.
func stateless(name string) bool {
	switch name {
	case "CLIENT ID", "CLIENT INFO", "CLIENT LIST", "CLIENT GETNAME", "CLIENT GETREDIR", "CLIENT TRACKINGINFO":
		return true
	default:
		return false
	}
}
