package wire

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// cancelGrace is how long a reader blocks before it asks its context to interrupt it. Registering costs three allocations,
// and nearly every reply comes sooner; a bare cancel (not a deadline) may therefore be noticed this much later, once.
const cancelGrace = int64(5 * time.Millisecond)

// wait is the follower's side: another caller reads.
//
// To wait for a context as well costs a channel that the context must make, and a select, for every call; and nearly every
// reply comes at once. So a caller whose deadline is not near only waits for its signal at first. When the reply takes longer
// the watch nudges it, and from then on it minds its context.
func (c *Conn) wait(ctx context.Context, k *Call, nudges bool) error {
	if nudges {
		<-k.ch
		if !k.state.CompareAndSwap(nudged, pending) {
			return c.signalled(ctx, k)
		}
	}
	gone := ctx.Done()
	if gone == nil {
		<-k.ch
		return c.signalled(ctx, k)
	}
	select {
	case <-k.ch:
		return c.signalled(ctx, k)
	case <-gone:
	}
	pumped := k.pump != nil
	if k.leave() {
		if pumped {
			c.askToLook()
		}
		return &LeftError{Cause: ctx.Err(), Sent: true}
	}
	<-k.ch // its reply, or the reader role, is on the way already
	if k.state.Load() == leading {
		c.mu.Lock()
		return c.leaveLocked(ctx, k)
	}
	return k.finish()
}

// signalled is what a follower does with a signal: it takes its reply, or the reader role.
func (c *Conn) signalled(ctx context.Context, k *Call) error {
	if k.state.Load() == leading {
		k.state.Store(pending)
		return c.read(ctx, k)
	}
	return k.finish()
}

// finish is the caller's last look at a delivered call.
func (k *Call) finish() error {
	if err := k.err; err != nil {
		k.Free()
		return err
	}
	return nil
}

// read is the reader's side: it holds the role until its own replies have come or it leaves.
func (c *Conn) read(ctx context.Context, k *Call) error {
	r := reader{ctx: ctx}
	if dl, ok := ctx.Deadline(); ok {
		r.cancelable, r.deadline = true, max(1, int64(dl.Sub(c.born)))
	} else {
		r.cancelable = ctx.Done() != nil // asked last: a context makes its channel when it is first asked for
	}
	defer r.release()
	for {
		c.mu.Lock()
		if c.err != nil {
			c.mu.Unlock()
			return c.failAll(k)
		}
		now := c.now()
		if r.grace == 0 {
			r.grace = now + cancelGrace
		}
		if c.look {
			c.overdueLocked(k, now)
			if k.state.Load() == done { // its own time was up
				c.passLocked()
				return k.finish()
			}
		}
		c.setReadByLocked(&r, now)
		if r.watched && ctx.Err() != nil || r.deadline > 0 && now >= r.deadline {
			return c.leaveLocked(ctx, k)
		}
		c.roomLocked()
		if k.pump != nil {
			if w := c.pumpLocked(k); w != nil {
				tenure := c.tenure
				c.mu.Unlock()
				c.flush(k, w, tenure)
				c.mu.Lock()
			}
		}
		buf := c.readBufferLocked()
		c.mu.Unlock()

		n, err := c.tr.Read(buf)
		if n > 0 {
			if k.pump != nil {
				k.pump.read += int64(n)
			}
			mine, perr := c.parse(buf[:n], k)
			if perr != nil {
				c.mu.Lock()
				c.failLocked(perr)
				return c.failAll(k)
			}
			if mine {
				c.growReadBuffer(n)
				c.mu.Lock()
				c.passLocked()
				return k.finish()
			}
			c.growReadBuffer(n)
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			// Somebody's interrupt or nobody's: look again.
		default:
			c.mu.Lock()
			c.failLocked(readError(err))
			return c.failAll(k)
		}
		if r.cancelable && !r.watched && c.now() >= r.grace {
			r.watch(c) // after this long it is worth it, whether bytes for others keep coming or none
		}
	}
}

// A reader is what one tenure of the reader role needs to know of its caller.
type reader struct {
	ctx        context.Context //nolint:containedctx // lives on the stack of one read
	cancelable bool
	watched    bool
	deadline   int64 // of ctx; 0: none
	grace      int64 // from then on it is worth watching for a cancel
	stop       func() bool
}

// watch has the reader interrupted when its context ends.
func (r *reader) watch(c *Conn) {
	r.watched = true
	r.stop = context.AfterFunc(r.ctx, func() {
		c.mu.Lock()
		c.interruptLocked()
		c.mu.Unlock()
	})
}

func (r *reader) release() {
	if r.stop != nil {
		r.stop()
	}
}

// setReadByLocked makes sure that the next read returns in time for the reader. A read deadline that is earlier than need be
// is left alone, as long as it lies ahead: that costs one look more and saves a call to the poller for every reply.
func (c *Conn) setReadByLocked(r *reader, now int64) {
	want := r.deadline
	if r.cancelable && !r.watched {
		want = firstOf(want, r.grace)
	}
	switch {
	case c.readBy != 0 && c.readBy <= now:
	case c.readBy == want, want == 0:
		return
	case c.readBy != 0 && c.readBy < want:
		return
	}
	c.readBy = want
	if want == 0 {
		_ = c.tr.SetReadDeadline(time.Time{}) // fails only on a closed socket, as the read then will
		return
	}
	_ = c.tr.SetReadDeadline(c.born.Add(time.Duration(want)))
}

// longAgo is a read deadline that interrupts a read at once.
var longAgo = time.Unix(1, 0)

// interruptLocked makes the reader, if there is one, look again.
func (c *Conn) interruptLocked() {
	c.readBy = -1 // past, even at the very birth of the conn
	_ = c.tr.SetReadDeadline(longAgo)
}

// askToLook has the reader look at the order at once, or whoever takes the role next.
func (c *Conn) askToLook() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look = true
	if c.reading {
		c.interruptLocked()
	}
}

// leaveLocked is the reader's way out before its reply: a tombstone stays and the role passes on. It unlocks.
func (c *Conn) leaveLocked(ctx context.Context, k *Call) error {
	err := ctx.Err()
	if err == nil {
		err = context.DeadlineExceeded // the poller's clock was ahead of the context's timer
	}
	k.state.Store(abandoned)
	if k.pump != nil {
		c.overdueLocked(nil, c.now()) // gives up what has not been sent
	}
	c.passLocked()
	return &LeftError{Cause: err, Sent: true}
}

// spliceLocked takes the calls that were appended since into the reader's own list.
func (c *Conn) spliceLocked() {
	if c.first == nil {
		return
	}
	if c.head == nil {
		c.head = c.first
	} else {
		c.tail.next = c.first
	}
	c.tail, c.first, c.last = c.last, nil, nil
}

// passLocked gives the reader role to the oldest caller who waits, to a drainer when only tombstones are owed, or to nobody
// when nothing is. The holder calls it; it unlocks.
func (c *Conn) passLocked() {
	c.spliceLocked()
	if c.err != nil {
		c.mu.Unlock()
		_ = c.failAll(nil)
		return
	}
	c.roomLocked()
	switch next, signal := c.successorLocked(); {
	case next != nil:
		c.mu.Unlock()
		if signal {
			next.signal()
		}
	case c.head == nil, c.flusher != nil && c.flusher.state.Load() == pending:
		// Nothing owed, or only the flusher waits: it looks for itself when it has written.
		c.reading = false
		if c.look && c.head == nil { // the watch went off just before: nothing is overdue, but buffers are to be let go of
			c.look = false
			now := c.now()
			c.armLocked(now+int64(idleLook), now)
		}
		fns := c.drainedLocked()
		c.mu.Unlock()
		for _, f := range fns {
			f(nil)
		}
	default:
		c.mu.Unlock()
		go c.drain()
	}
}

// successorLocked makes the oldest waiting caller the next reader, nil when there is none, and reports whether it must be
// signalled. Never the flusher.
func (c *Conn) successorLocked() (next *Call, signal bool) {
	for k := c.head; k != nil; k = k.next {
		if k == c.flusher {
			continue
		}
		if ok, signal := k.settle(leading); ok {
			return k, signal
		}
		c.absorbLocked(k)
	}
	return nil, false
}

// absorbLocked merges the tombstones that follow one into it. A server that is silent leaves thousands of them, and each caller
// that leaves as the reader has to find the next one behind them.
func (c *Conn) absorbLocked(k *Call) {
	if !k.plainTombstone() {
		return
	}
	for n := k.next; n != nil && n != c.flusher && n.got == 0 && n.stall == k.stall && n.plainTombstone(); n = k.next {
		k.want += n.want
		k.size += n.size
		k.end, k.next = n.end, n.next
		if c.tail == n {
			c.tail = k
		}
		n.Free()
	}
}

// drain reads while only tombstones are owed: the transient drainer. It ends when a caller comes or nothing is owed.
func (c *Conn) drain() {
	for {
		c.mu.Lock()
		c.spliceLocked()
		if c.err != nil {
			c.mu.Unlock()
			_ = c.failAll(nil)
			return
		}
		if c.look {
			c.overdueLocked(nil, c.now())
		}
		c.roomLocked()
		if next, signal := c.successorLocked(); next != nil {
			c.mu.Unlock()
			if signal {
				next.signal()
			}
			return
		}
		if c.head == nil {
			c.reading = false
			if !c.flushing {
				c.releaseBuffersLocked()
			}
			fns := c.drainedLocked()
			c.mu.Unlock()
			for _, f := range fns {
				f(nil)
			}
			return
		}
		c.setReadByLocked(&reader{}, c.now())
		buf := c.readBufferLocked()
		c.mu.Unlock()
		n, err := c.tr.Read(buf)
		if n > 0 {
			if _, perr := c.parse(buf[:n], nil); perr != nil {
				err = perr
			}
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			c.mu.Lock()
			c.failLocked(readError(err))
		}
	}
}

// parse hands the replies in b to their callers, oldest first, and signals them once all of b has been parsed. It reports
// whether me has got its last reply. The holder of the reader role calls it, without the lock.
func (c *Conn) parse(b []byte, me *Call) (mine bool, err error) {
	var wake, wakeTail *Call
	replies := int32(0)
	for len(b) > 0 {
		k := c.head
		if k == nil {
			c.mu.Lock()
			c.spliceLocked()
			c.mu.Unlock()
			k = c.head
		}
		v := &c.trash
		if k != nil && k.state.Load() != abandoned {
			v = k.slot()
		}
		if !c.parser.Pending() {
			c.pushing = b[0] == '>'
			c.stray = k == nil && b[0] != '>' && b[0] != '|'
			// A tombstone's reply is dropped unparsed; what may be a push is not, for it is no reply.
			c.skip = k != nil && v == &c.trash && k.onLost == nil && b[0] != '>' && b[0] != '|'
		}
		var (
			n    int
			ok   bool
			perr error
		)
		if c.skip {
			n, ok, perr = c.parser.SkipNext(b)
			v = &c.trash
		} else {
			n, ok, perr = c.parser.Next(b, v)
		}
		if perr != nil {
			err = perr
			break
		}
		b = b[n:]
		if !ok {
			c.partly += int64(n)
			break
		}
		c.partly, c.seen = 0, 0
		if v.Kind == resp.KindPush {
			if c.opts.OnPush != nil {
				c.opts.OnPush(c, *v)
			}
			*v = resp.Value{}
			continue
		}
		if k == nil || c.stray { // a call that has come meanwhile is not what it answers
			err = unsolicited(v)
			break
		}
		replies++
		if v == &c.trash {
			c.lost(k, v)
			k.got++
			if k.got < k.want {
				continue
			}
		} else if !k.accept() {
			continue
		}
		if c.head = k.next; c.head == nil {
			c.tail = nil
		}
		k.next = nil
		if k == me {
			mine = true
			continue
		}
		switch ok, signal := k.settle(done); {
		case signal:
			if wake == nil {
				wake = k
			} else {
				wakeTail.next = k
			}
			wakeTail = k
		case ok: // it has a signal coming
		default: // a tombstone, or one that became so while its reply was parsed
			if v != &c.trash {
				c.lost(k, v)
			}
			k.Free()
		}
	}
	if replies > 0 {
		c.owed.Add(-replies)
		if c.state.Load() == stalled {
			c.recovered()
		}
	}
	if wake != nil && !c.woken.Load() {
		c.woken.Store(true) // the first of them to come is not alone, though nothing may be owed then
	}
	for wake != nil {
		k := wake
		wake, k.next = k.next, nil
		k.signal()
	}
	return mine, err
}

// lost tells who wanted to know that a reply came for a caller that had left.
func (c *Conn) lost(k *Call, v *resp.Value) {
	if k.onLost != nil {
		k.onLost(*v)
	}
	*v = resp.Value{}
}
