package wire

import (
	"time"
)

// idleLook is how often the watch looks at a conn on which nothing has a time limit, to let go of its buffers.
const idleLook = 2 * time.Second

// lookApart is how long the watch leaves a conn alone between two looks, so that thousands of calls that are overdue one after
// the other cost thousands of looks at most once per this long.
const lookApart = 500 * time.Microsecond

// armLocked sets the watch for a moment, unless it is set for an earlier one. A busy conn pays for it once per limit, not once
// per call: later limits are found when the watch goes off.
func (c *Conn) armLocked(at, now int64) {
	if c.watchAt == 0 || at < c.watchAt {
		c.watchAt = at
		c.watch.Reset(time.Duration(at - now))
	}
}

// onWatch runs when the oldest time limit may have passed. It is not set again while nothing is owed.
func (c *Conn) onWatch() {
	c.mu.Lock()
	c.watchAt = 0
	switch {
	case c.err != nil:
		c.mu.Unlock()
	case c.owed.Load() == 0:
		if c.reading || c.flushing { // about to end
			now := c.now()
			c.armLocked(now+int64(idleLook), now)
		} else {
			c.releaseBuffersLocked()
		}
		c.mu.Unlock()
	case c.reading:
		// The order belongs to the reader: have it look.
		c.look = true
		c.interruptLocked()
		c.mu.Unlock()
	default:
		c.reading = true
		c.overdueLocked(nil, c.now())
		c.passLocked()
	}
}

// overdueLocked ends the calls whose own deadline has passed and marks the conn when its oldest reply is overdue; then it
// sets the watch for the next limit. The holder of the reader role calls it; me is its own call, nil when it has none.
func (c *Conn) overdueLocked(me *Call, now int64) {
	c.look = false
	c.spliceLocked()
	c.putOffLocked(now)
	var prev *Call
	next := int64(0)
	for k := c.head; k != nil; {
		after := k.next
		stays := c.judgeLocked(me, k, now)
		if stays != nil {
			if stays.deadline > now {
				next = firstOf(next, stays.deadline)
			}
			if stays.due > now {
				next = firstOf(next, stays.due)
			}
			if stays.nudge > 0 { // one that is past is still to come: its caller was busy flushing
				next = firstOf(next, max(stays.nudge, now+1))
			}
			stays.next = after
		}
		if stays != k {
			place := stays
			if place == nil {
				place = after
			}
			if prev == nil {
				c.head = place
			} else {
				prev.next = place
			}
			if c.tail == k {
				if c.tail = stays; stays == nil {
					c.tail = prev
				}
			}
		}
		if stays != nil {
			prev = stays
		}
		k = after
	}
	if c.head != nil && c.head.due > 0 && c.head.due <= now && c.state.Load() == healthy {
		c.stallLocked()
	}
	if c.err != nil {
		return
	}
	if next == 0 {
		next = now + int64(idleLook)
	}
	c.armLocked(max(next, now+int64(lookApart)), now)
}

// judgeLocked looks at one call in the order and returns what stands in its place then, nil when no more replies are owed
// to it.
func (c *Conn) judgeLocked(me, k *Call, now int64) *Call {
	switch k.state.Load() {
	case pending, nudged:
		switch {
		case k.deadline != 0 && k.deadline <= now:
			return c.buryLocked(me, k)
		case k == me:
			k.nudge = 0 // it minds its context
		case k.nudge != 0 && k.nudge <= now && k != c.flusher:
			k.nudge = 0 // once
			if k.state.CompareAndSwap(pending, nudged) {
				k.signal()
			}
		}
	case abandoned:
		k.nudge = 0
		if k.pump != nil { // it has left a long pipeline: what was not sent will not be
			k.want -= c.cutLocked(k)
			k.pump = nil
			if k.got == k.want {
				k.Free()
				return nil
			}
		}
	}
	return k
}

// buryLocked ends a call whose deadline has passed: a tombstone takes its place in the order, if more replies are owed.
func (c *Conn) buryLocked(me, k *Call) *Call {
	k.err = &LeftError{Cause: ErrTimeout, Sent: true}
	want, got := k.want, k.got
	t := NewCall()
	t.state.Store(abandoned)
	t.want, t.got, t.at, t.due, t.end, t.size, t.onLost = want, got, k.at, k.due, k.end, k.size, k.onLost
	t.stall, t.seen = k.stall, k.seen
	t.pump = k.pump
	ok, signal := k.settle(done)
	if !ok { // it left by itself at this very moment, and is a tombstone now
		t.Free()
		k.err = nil
		return c.judgeLocked(me, k, 0)
	}
	if signal && k != me { // the reader does not wait for a signal: it looks at its state
		k.signal()
	}
	return c.judgeLocked(me, t, 0)
}

// flows is how much of a request or of a reply has to go or to come within a stall timeout for the conn to count as alive: a large
// value on a slow network is no stall. One that drips is.
const flows = 64 << 10

// putOffLocked gives the oldest call more time when something has come of it since it was last looked at: some of several
// replies, for a long pipeline is no older than the oldest reply that it still waits for, or a good part of a large one; or when a
// good part of its request has gone.
func (c *Conn) putOffLocked(now int64) {
	k := c.head
	if k == nil || k.due == 0 || k.due > now {
		return
	}
	came, went := c.partly-c.seen, c.sent-c.sentSeen
	if k.got > k.seen || came >= flows && !c.pushing || went >= flows && k.end > c.written {
		k.seen = k.got
		k.due = now + k.stall
	}
	c.seen, c.sentSeen = c.partly, c.sent
}

// stallLocked marks the conn as stalled and tells its owner, once per stall.
func (c *Conn) stallLocked() {
	c.state.Store(stalled)
	if c.opts.OnStall != nil {
		go c.opts.OnStall(c)
	}
}

// recovered takes the mark away when replies have come after all. The holder of the reader role calls it.
func (c *Conn) recovered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spliceLocked()
	if c.head != nil && c.head.due > 0 && c.head.due <= c.now() {
		return
	}
	if c.state.CompareAndSwap(stalled, healthy) && c.opts.OnStall != nil {
		go c.opts.OnStall(c)
	}
}
