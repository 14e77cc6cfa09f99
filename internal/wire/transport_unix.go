//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package wire

import (
	"errors"
	"io"
	"net"
	"runtime"
	"syscall"
)

const (
	// looks is how often a reader looks for bytes, letting others run in between, before it sleeps until they come. To sleep and
	// to be woken costs a process that has nothing else to do several switches of threads, and a server on the same machine or
	// nearby answers sooner than that. Measured over loopback, in pairs: with 8 callers a fourth to a third more throughput, for
	// less CPU; with many callers no difference. More looks help a lone caller further, but cost the p99 of others: while
	// somebody looks, the scheduler sees no reason to ask the poller for the readers that sleep.
	looks = 8
	// Eight looks cost about 6 µs, and are in vain where the server is further away: each hit buys patience for so many
	// sleeps, up to a limit, and a reader whose patience is at an end tries again now and then.
	patiencePerHit = 4
	maxPatience    = 16
	patienceAgain  = 2  // what it tries again with
	lookAgain      = 64 // reads until it does
)

// rawTransport writes to a TCP or unix socket without waiting for it to become writable, and looks a few times before it waits
// for something to read.
type rawTransport struct {
	net.Conn
	rc syscall.RawConn

	// Owned by whoever reads.
	in       []byte
	inN      int
	readFn   func(fd uintptr) bool
	patience int // how many sleeps in a row are left until looking is given up
	asleep   int // reads since then

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
	t := &rawTransport{Conn: nc, rc: rc, patience: maxPatience}
	t.readFn, t.writeFn, t.peekFn = t.read, t.write, t.peekOnce
	return t
}

// Read blocks until the read deadline, like that of any net.Conn.
func (t *rawTransport) Read(b []byte) (int, error) {
	if t.patience == 0 {
		if t.asleep++; t.asleep < lookAgain {
			return t.Conn.Read(b)
		}
		t.asleep, t.patience = 0, patienceAgain
	}
	for i := range looks {
		t.in, t.inN = b, 0
		err := t.rc.Read(t.readFn)
		t.in = nil
		if err != nil {
			return t.Conn.Read(b) // says the same in the usual words
		}
		if t.inN > 0 {
			if i > 0 {
				t.patience = min(t.patience+patiencePerHit, maxPatience)
			}
			return t.inN, nil
		}
		runtime.Gosched()
	}
	t.patience--
	return t.Conn.Read(b)
}

// read always reports true: it never wants to be called again when there is something to read. Whatever ends the conn is left
// for the Read that follows.
func (t *rawTransport) read(fd uintptr) bool {
	n, err := syscall.Read(int(fd), t.in)
	if err == nil {
		t.inN = n
	}
	return true
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

func (t *rawTransport) peekOnce(fd uintptr) {
	for {
		t.peekN, _, t.peekErr = syscall.Recvfrom(int(fd), t.peekByte[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if !errors.Is(t.peekErr, syscall.EINTR) {
			return
		}
	}
}
