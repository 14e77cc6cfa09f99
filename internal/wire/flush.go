package wire

import (
	"runtime"
)

// flush writes what callers have appended until nothing is left, as the flusher. k is the flusher's own call, nil when nobody
// waits for it; w is what to write first, nil when others may want to append before. It reports whether the caller holds the
// reader role afterwards. tenure is the number of its own.
func (c *Conn) flush(k *Call, w *[]byte, tenure int64) bool {
	if w == nil {
		// Company: let those who are about to run append first. One write for several is worth far more than this switch.
		runtime.Gosched()
		c.woken.Store(false)
		c.mu.Lock()
		if c.tenure != tenure { // relieved: another has written what was there
			c.mu.Unlock()
			return false
		}
		if w = c.takeLocked(); w == nil {
			return c.flushedLocked(k)
		}
		c.mu.Unlock()
	}
	for round := 1; ; round++ {
		rest, err := c.tr.tryWrite(*w)
		c.mu.Lock()
		if err == nil && len(rest) > 0 {
			c.flusher = nil
			go c.flushRest(w, rest)
			return c.readNextLocked(k)
		}
		c.recycleLocked(w)
		if err != nil {
			c.failWriteLocked(err)
			return false
		}
		if round == maxRounds && c.wbuf != nil && c.err == nil {
			c.flusher = nil
			go c.flushRest(nil, nil)
			return c.readNextLocked(k)
		}
		if w = c.takeLocked(); w == nil {
			return c.flushedLocked(k)
		}
		c.mu.Unlock()
	}
}

// maxRounds is how often one caller writes what others append while it writes: it has a deadline too. After these a transient
// flusher goes on.
const maxRounds = 16

// takeLocked takes the buffer to write, nil when there is nothing or the conn has failed; appends go to the other one.
func (c *Conn) takeLocked() *[]byte {
	w := c.wbuf
	if c.err != nil || w == nil {
		return nil
	}
	c.wbuf, c.queued, c.yielding = nil, 0, false
	c.written, c.handed = c.handed, c.appended
	c.sent, c.sentSeen = 0, 0
	crowd := c.crowd.Load()
	c.crowd.Store(max(c.owed.Load(), crowd-(crowd+7)/8))
	c.roomLocked()
	return w
}

func (c *Conn) recycleLocked(w *[]byte) {
	if c.spare == nil && cap(*w) <= maxKeptBusy {
		*w = (*w)[:0]
		c.spare = w
		return
	}
	putWriteBuffer(w)
}

// flushedLocked ends the flusher's role and decides who reads. It unlocks.
func (c *Conn) flushedLocked(k *Call) bool {
	c.flushing, c.flusher, c.yielding = false, nil, false
	if c.err != nil && !c.reading {
		c.releaseBuffersLocked()
	}
	return c.readNextLocked(k)
}

// readNextLocked takes the reader role, if it is free and something is owed, for the caller or for whoever waits longest. It
// unlocks and reports whether the caller has it.
func (c *Conn) readNextLocked(k *Call) bool {
	if c.reading || c.owed.Load() == 0 {
		c.mu.Unlock()
		return false
	}
	c.reading = true
	if k != nil && k.state.Load() == pending && c.err == nil {
		c.mu.Unlock()
		return true
	}
	// Its own reply came while it was writing, or nobody waits for it: somebody else must read.
	c.passLocked()
	return false
}

// flushRest is the transient flusher: it blocks in the caller's stead when the kernel takes no more. rest is what remains of w;
// w is nil when there is nothing to begin with.
func (c *Conn) flushRest(w *[]byte, rest []byte) {
	for {
		err := c.writeRest(rest)
		c.mu.Lock()
		if w != nil {
			c.recycleLocked(w)
		}
		if err != nil {
			c.failWriteLocked(err)
			return
		}
		if w = c.takeLocked(); w == nil {
			c.flushedLocked(nil)
			return
		}
		c.mu.Unlock()
		if rest, err = c.tr.tryWrite(*w); err != nil {
			c.mu.Lock()
			c.recycleLocked(w)
			c.failWriteLocked(err)
			return
		}
	}
}

// restPiece is how much of what is left is written at a time, so that the watch can see that it goes on.
const restPiece = flows / 2

// writeRest writes what is left of a buffer, blocking.
func (c *Conn) writeRest(rest []byte) error {
	for len(rest) > 0 {
		piece := rest[:min(len(rest), restPiece)]
		if err := c.tr.writeRest(piece); err != nil {
			return err
		}
		rest = rest[len(piece):]
		c.mu.Lock()
		c.sent += int64(len(piece))
		c.mu.Unlock()
	}
	return nil
}

// failWriteLocked fails the conn after a write error and unlocks; callers learn of it from their Calls.
func (c *Conn) failWriteLocked(err error) {
	c.flushing, c.flusher = false, nil
	c.failLocked(writeError(err))
}
