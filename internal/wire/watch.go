package wire

import (
	"time"
)

// idleLook is how often the watch looks at a conn on which nothing has a time limit, to let go of its buffers.
const idleLook = 2 * time.Second

// onWatch runs when the oldest time limit may have passed. The timer is set when the first call is appended and re-set from
// here, so a busy conn pays for it once per limit, not once per call; it is not set while nothing is owed.
func (c *Conn) onWatch() {
	c.mu.Lock()
	switch {
	case c.err != nil:
		c.mu.Unlock()
	case c.owed.Load() == 0:
		c.watching = false
		if !c.reading && !c.flushing {
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
		c.spliceLocked()
		c.overdueLocked(c.now())
		c.passLocked()
	}
}

// overdueLocked ends the calls whose own deadline has passed and marks the conn when its oldest reply is overdue; then it
// sets the watch for the next limit. The holder of the reader role calls it.
func (c *Conn) overdueLocked(now int64) {
	c.look = false
	c.spliceLocked()
	var prev *Call
	next := int64(0)
	for k := c.head; k != nil; prev, k = k, k.next {
		if k.deadline == 0 || k.state.Load() != pending {
			continue
		}
		if k.deadline > now {
			next = firstOf(next, k.deadline)
			continue
		}
		k = c.buryLocked(prev, k)
	}
	if c.head != nil && c.head.due > 0 && c.state.Load() == healthy {
		if c.head.due > now {
			next = firstOf(next, c.head.due)
		} else {
			c.stallLocked()
		}
	}
	if c.err != nil {
		return
	}
	if next == 0 {
		next = now + int64(idleLook)
	}
	c.watching = true
	c.watch.Reset(time.Duration(next - now))
}

// buryLocked ends a call whose deadline has passed: a tombstone takes its place in the order. It returns what stands there.
func (c *Conn) buryLocked(prev, k *Call) *Call {
	t := NewCall()
	t.state.Store(abandoned)
	if k.pump != nil {
		c.cutLocked(k)
	}
	t.want, t.got, t.at, t.due, t.end, t.onLost = k.want, k.got, k.at, k.due, k.end, k.onLost
	next := k.next
	k.err = &LeftError{Cause: ErrTimeout, Sent: true}
	if !k.deliver() { // it left by itself at this very moment, and is a tombstone now
		t.Free()
		k.err = nil
		return k
	}
	t.next = next
	if prev == nil {
		c.head = t
	} else {
		prev.next = t
	}
	if c.tail == k {
		c.tail = t
	}
	// The reader's own call is not waiting for a signal: it looks at its state.
	if k.reads {
		return t
	}
	k.signal()
	return t
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
