package simnet

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// errEOF is io.EOF, named so that stream.go reads as its other outcomes do.
var errEOF = io.EOF

// Conn is one end of a [Link]. Its methods may be called concurrently, as those
// of a TCP conn may.
type Conn struct {
	link          *Link
	in, out       *stream
	local, remote Addr

	// Guarded by the link's lock.
	readDeadline, writeDeadline time.Time
	closed                      bool
	readShut, writeShut         bool
	writing                     bool // one Write at a time: large ones must not interleave
	abortive                    bool // Close sends an RST
	accepted                    bool // the server program has got it
}

var _ net.Conn = (*Conn)(nil)

// Link returns the link that c is an end of, to set faults on.
func (c *Conn) Link() *Link { return c.link }

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// Read reads what has arrived, and waits for at least one byte. It returns io.EOF
// after the peer's FIN, ECONNRESET after an RST (what came before it first),
// os.ErrDeadlineExceeded at the deadline, even when bytes are there, and
// net.ErrClosed after Close.
func (c *Conn) Read(p []byte) (int, error) { return c.read(p, true) }

// TryRead is Read without waiting: where Read would wait it returns a timeout. It
// ignores the deadline.
func (c *Conn) TryRead(p []byte) (int, error) { return c.read(p, false) }

func (c *Conn) read(p []byte, mayWait bool) (int, error) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	for {
		now := time.Now()
		switch {
		case c.closed:
			return 0, c.fail("read", net.ErrClosed)
		case mayWait && passed(c.readDeadline, now):
			return 0, c.fail("read", errTimeout)
		case len(p) == 0:
			return 0, nil
		case c.readShut:
			return 0, io.EOF
		}
		n, again, err := c.in.take(p, now)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, io.EOF):
			return 0, io.EOF
		case !errors.Is(err, errWouldBlock):
			return 0, c.fail("read", err)
		case !mayWait:
			return 0, c.fail("read", errTimeout)
		}
		c.in.waitReadable(earlier(c.readDeadline, again))
	}
}

// Write writes p, and waits while the buffer is full. The count is exact also
// when it fails. With a deadline that is already past it writes nothing, as TCP
// does in Go, unless [Options.WritePastDeadline] is set.
//
// Writing to an end that has been closed succeeds once, and fails with EPIPE from
// then on; after an RST it fails with ECONNRESET.
func (c *Conn) Write(p []byte) (int, error) { return c.write(p, true) }

// TryWrite writes what fits at once. When that is not all of p it returns the
// count and a timeout. It ignores the deadline.
func (c *Conn) TryWrite(p []byte) (int, error) { return c.write(p, false) }

func (c *Conn) write(p []byte, mayWait bool) (int, error) {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	mine, done := false, 0
	defer func() {
		if mine {
			c.writing = false
			c.out.writable.Broadcast()
		}
	}()
	for {
		now := time.Now()
		late := mayWait && passed(c.writeDeadline, now)
		reset, resetAt := c.in.resetSeen(now)
		switch {
		case c.closed:
			return done, c.fail("write", net.ErrClosed)
		case late && !l.net.opts.WritePastDeadline:
			return done, c.fail("write", errTimeout)
		case c.writeShut:
			return done, c.fail("write", errPipe)
		case reset:
			return done, c.fail("write", errResetW)
		case c.out.broken != nil:
			return done, c.fail("write", c.out.broken)
		}
		if mine || !c.writing {
			mine, c.writing = true, true
			n, cut := c.out.put(p[done:], now)
			done += n
			if cut {
				l.cutLocked(c.out.cut, now)
			}
			if done == len(p) {
				return done, nil
			}
		}
		if late || !mayWait {
			return done, c.fail("write", errTimeout)
		}
		c.out.waitWritable(earlier(c.writeDeadline, resetAt))
	}
}

// Close closes the conn. The peer reads what was written, then io.EOF; when bytes
// from the peer had not been read, or after SetLinger(0), it gets an RST instead.
// A second Close returns net.ErrClosed.
func (c *Conn) Close() error {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	now := time.Now()
	c.closed = true
	if c.abortive || (c.in.buffered() > 0 && !c.readShut) {
		if c.abortive {
			c.out.discard()
		}
		c.out.abort(now)
	} else {
		c.out.finish(now)
	}
	c.in.readerGone = true
	c.in.discard()
	c.in.wakeAll()
	c.out.wakeAll()
	c.in.stopReading()
	c.out.stopWriting()
	l.closedLocked(c, now)
	return nil
}

// CloseWrite sends a FIN; reading goes on. Later writes fail with EPIPE.
func (c *Conn) CloseWrite() error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	c.writeShut = true
	c.out.finish(time.Now())
	c.out.writable.Broadcast()
	return nil
}

// CloseRead makes reads return io.EOF; what the peer sends is thrown away.
func (c *Conn) CloseRead() error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	c.readShut, c.in.readerShut = true, true
	c.in.discard()
	c.in.wakeAll()
	return nil
}

// SetLinger with 0 makes Close send an RST and throw away what the peer has not
// read, as on a TCP conn; any other value restores the default.
func (c *Conn) SetLinger(sec int) error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed {
		return c.fail("set", net.ErrClosed)
	}
	c.abortive = sec == 0
	return nil
}

// SetDeadline sets both deadlines; see SetReadDeadline.
func (c *Conn) SetDeadline(t time.Time) error { return c.setDeadline(t, true, true) }

// SetReadDeadline makes reads fail from t on, those already waiting included.
// Zero means never.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(t, true, false) }

// SetWriteDeadline is SetReadDeadline for writes.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(t, false, true) }

func (c *Conn) setDeadline(t time.Time, read, write bool) error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed {
		return c.fail("set", net.ErrClosed)
	}
	if read {
		c.readDeadline = t
		c.in.readable.Broadcast()
	}
	if write {
		c.writeDeadline = t
		c.out.writable.Broadcast()
	}
	return nil
}

func (c *Conn) fail(op string, err error) error {
	return opError(op, c.local, c.remote, err)
}

func passed(deadline, now time.Time) bool {
	return !deadline.IsZero() && !now.Before(deadline)
}

// IsReset tells whether err is what a conn reports after an RST.
func IsReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
