package wire

import (
	"errors"
	"os"
	"time"
)

// peekMoment is how long a conn that has been idle is read when bytes wait on it: TLS session tickets, an out-of-band push, or
// the server's last words.
const peekMoment = time.Millisecond

// peek looks, without waiting, whether the peer of a long-idle conn has closed it meanwhile. The caller holds the reader role
// and nothing is owed.
func (c *Conn) peek() error {
	waiting, err := c.tr.peek()
	if err != nil {
		return readError(err)
	}
	if !waiting {
		return nil
	}
	c.mu.Lock()
	c.readBy = c.now() + int64(peekMoment)
	_ = c.tr.SetReadDeadline(c.born.Add(time.Duration(c.readBy)))
	buf := c.readBufferLocked()
	c.mu.Unlock()
	n, err := c.tr.Read(buf)
	if n > 0 {
		if _, perr := c.parse(buf[:n], nil); perr != nil {
			return perr
		}
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return readError(err)
	}
	return nil
}

// peekLocked peeks under the reader role, fails the conn when the peer has gone, and hands the role on. It unlocks.
func (c *Conn) peekLocked() {
	c.reading = true
	c.mu.Unlock()
	err := c.peek()
	c.mu.Lock()
	c.lastUse = c.now()
	if err != nil {
		c.failLocked(err) // the role is ours still
		c.mu.Lock()
	}
	if c.owed.Load() == 0 && !c.flushing {
		c.releaseBuffersLocked() // maybe nobody comes
	}
	c.passLocked()
}

// Alive reports, without blocking for longer than a moment, whether an idle conn is still open on the other side. A conn in
// use is taken to be.
func (c *Conn) Alive() bool {
	c.mu.Lock()
	if c.err == nil && !c.reading && !c.flushing && c.owed.Load() == 0 {
		c.peekLocked()
		c.mu.Lock()
	}
	ok := c.err == nil
	c.mu.Unlock()
	return ok
}
