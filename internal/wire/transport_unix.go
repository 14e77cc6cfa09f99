//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package wire

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// rawTransport writes to a TCP or unix socket without waiting for it to become writable.
type rawTransport struct {
	net.Conn
	rc syscall.RawConn

	// The arguments and results of the two functions below, which are made once so that a write allocates nothing.
	out      []byte
	n        int
	err      error
	writeFn  func(fd uintptr) bool
	peekFn   func(fd uintptr)
	peekN    int
	peekErr  error
	peekByte [1]byte
}

func newRawTransport(nc net.Conn) transport {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	t := &rawTransport{Conn: nc, rc: rc}
	t.writeFn, t.peekFn = t.write, t.look
	return t
}

func (t *rawTransport) tryWrite(b []byte) ([]byte, error) {
	t.out, t.n, t.err = b, 0, nil
	err := t.rc.Write(t.writeFn)
	t.out = nil
	if err == nil {
		err = t.err
	}
	return b[t.n:], err
}

func (t *rawTransport) writeRest(rest []byte) error {
	_, err := t.Write(rest)
	return err
}

// write always reports true: it never wants to be called again when the socket is writable.
func (t *rawTransport) write(fd uintptr) bool {
	for t.n < len(t.out) {
		n, err := syscall.Write(int(fd), t.out[t.n:])
		switch {
		case n > 0:
			t.n += n
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return true
		default:
			t.err = err
			return true
		}
	}
	return true
}

func (t *rawTransport) peek() (bool, error) {
	t.peekN, t.peekErr = 0, nil
	// Not rc.Read: a read deadline that has passed, as that of the last call may have, would fail it.
	if err := t.rc.Control(t.peekFn); err != nil {
		return false, err
	}
	switch {
	case errors.Is(t.peekErr, syscall.EAGAIN):
		return false, nil
	case t.peekErr != nil:
		return false, t.peekErr
	case t.peekN == 0:
		return false, io.EOF
	default:
		return true, nil
	}
}

func (t *rawTransport) release() {}

func (t *rawTransport) look(fd uintptr) {
	for {
		t.peekN, _, t.peekErr = syscall.Recvfrom(int(fd), t.peekByte[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if !errors.Is(t.peekErr, syscall.EINTR) {
			return
		}
	}
}
