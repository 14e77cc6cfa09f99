package wire

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// ErrTimeout is the cause when a call's own time limit (Config.CommandTimeout) has passed, as opposed to its context's.
var ErrTimeout = errors.New("command timeout")

// ErrClosed is the cause when the conn was closed by its owner.
var ErrClosed = errors.New("conn closed")

// ErrStalled is the cause when the conn was given up because its oldest reply was overdue.
var ErrStalled = errors.New("conn stalled: its oldest reply is overdue")

// A LeftError says that the caller left before its reply: its context ended or its time limit passed. The conn lives on and
// swallows the reply.
type LeftError struct {
	Cause error // context.DeadlineExceeded, context.Canceled or ErrTimeout
	Sent  bool  // the command was on its way, and may run
	Full  bool  // it was waiting for room in the conn's queue
}

func (e *LeftError) Error() string {
	switch {
	case e.Full:
		return "waiting for room in the conn's queue: " + e.Cause.Error()
	case e.Sent:
		return "waiting for the reply: " + e.Cause.Error()
	default:
		return e.Cause.Error()
	}
}

func (e *LeftError) Unwrap() error { return e.Cause }

// A ConnError says that the conn failed under the call.
type ConnError struct {
	Cause      error
	MayHaveRun bool          // at least one command of the call may have reached the server whole
	Elapsed    time.Duration // since the call was made
	Got        int           // replies that had come, of a call of several commands; they are in its sink
}

func (e *ConnError) Error() string { return "conn failed: " + e.Cause.Error() }
func (e *ConnError) Unwrap() error { return e.Cause }

// A ServerError is an error line that the server sent of itself, outside any reply, before it closed the conn.
type ServerError struct{ Line string }

func (e *ServerError) Error() string { return "server said: " + e.Line }

func unsolicited(v *resp.Value) error {
	if v.Kind == resp.KindError {
		return &ServerError{Line: v.Str}
	}
	return fmt.Errorf("protocol error: a reply (%s) came that nobody had asked for", v.Kind)
}

func readError(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("server closed the conn (EOF)")
	case errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("server reset the conn: %w", syscall.ECONNRESET)
	default:
		return fmt.Errorf("read: %w", err)
	}
}

func writeError(err error) error { return fmt.Errorf("write: %w", err) }

// Close closes the conn for the given reason, nil meaning ErrClosed. Calls under way fail with it. Idempotent: the first
// reason stands. It does not block.
func (c *Conn) Close(reason error) {
	if reason == nil {
		reason = ErrClosed
	}
	c.mu.Lock()
	c.failLocked(reason)
}

// failLocked takes the conn out of service for the first reason given, closes the socket and unlocks. The calls owed are ended
// by the reader, who is interrupted, or here when there is none.
func (c *Conn) failLocked(err error) {
	if c.err != nil {
		if !c.reading && !c.flushing {
			c.releaseBuffersLocked()
		}
		c.mu.Unlock()
		return
	}
	c.err = err
	c.state.Store(broken)
	c.watch.Stop()
	if c.room != nil {
		close(c.room)
		c.room = nil
	}
	idle := !c.reading && !c.flushing
	orphans := !c.reading && c.owed.Load() > 0
	c.reading = c.reading || orphans
	if idle {
		c.releaseBuffersLocked()
	}
	fns := c.drained
	if c.owed.Load() == 0 {
		c.drained = nil
	} else {
		fns = nil
	}
	c.interruptLocked()
	c.mu.Unlock()

	_ = c.tr.Close() // nothing can be done about it
	close(c.closed)
	if c.opts.OnClose != nil {
		go c.opts.OnClose(c, err)
	}
	for _, f := range fns {
		f(err)
	}
	if orphans {
		_ = c.failAll(nil)
	}
}

// failAll ends every call that is owed a reply, with an error that says whether it may have run, and gives the reader role
// up. The holder of the role calls it; me is its own call, whose error is returned.
func (c *Conn) failAll(me *Call) error {
	c.mu.Lock()
	c.spliceLocked()
	cause, handed, list, now := c.err, c.handed, c.head, c.now()
	c.head, c.tail = nil, nil
	c.owed.Store(0)
	c.reading = false
	fns := c.drained
	c.drained = nil
	if !c.flushing {
		c.releaseBuffersLocked()
	}
	c.mu.Unlock()
	var mine error
	for k := list; k != nil; {
		next := k.next
		k.next = nil
		// A command that was only partly handed over cannot run; of several, the first ones can.
		ran := k.end <= handed || k.want > 1 && k.end-k.size < handed
		err := &ConnError{Cause: cause, MayHaveRun: ran, Elapsed: time.Duration(now - k.at), Got: k.got}
		switch {
		case k == me:
			if mine = err; k.state.Load() == done { // overdue at the same moment
				mine = k.err
			}
			k.Free()
		case k.state.Load() == abandoned:
			k.Free()
		default:
			k.err = err
			switch ok, signal := k.settle(done); {
			case signal:
				k.signal()
			case !ok: // it left at this very moment
				k.Free()
			}
		}
		k = next
	}
	for _, f := range fns {
		f(cause)
	}
	return mine
}

// AfterDrain calls f once no reply is owed: with nil, or with the conn's error if it fails first. f may be called before
// AfterDrain returns, and must not block.
func (c *Conn) AfterDrain(f func(error)) {
	c.mu.Lock()
	if err := c.err; err != nil || c.owed.Load() == 0 {
		c.mu.Unlock()
		f(err)
		return
	}
	c.drained = append(c.drained, f)
	c.mu.Unlock()
}

// drainedLocked takes the functions to call when nothing is owed.
func (c *Conn) drainedLocked() []func(error) {
	if c.drained == nil || c.owed.Load() > 0 {
		return nil
	}
	fns := c.drained
	c.drained = nil
	return fns
}

// roomLocked lets those in who wait for room in the queue.
func (c *Conn) roomLocked() {
	if c.room != nil && int(c.owed.Load()) <= c.opts.MaxQueue/2 &&
		(c.wbuf == nil || len(*c.wbuf) <= c.opts.MaxQueueSize/2) {
		close(c.room)
		c.room = nil
	}
}
