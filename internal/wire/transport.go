package wire

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"time"
)

// A transport is a socket whose writes need not block.
type transport interface {
	// Read reads what there is, blocking until the read deadline.
	Read(b []byte) (int, error)
	// tryWrite writes what can be written without blocking, and returns the rest when the peer does not read fast enough.
	// Only the flusher calls it, and not again before the rest is written.
	tryWrite(b []byte) (rest []byte, err error)
	// writeRest blocks until the rest is written or the socket is closed.
	writeRest(rest []byte) error
	// peek reports, without blocking and without taking anything, whether the peer has closed (an error) or bytes wait.
	peek() (waiting bool, err error)
	// release lets go of buffers. Nobody reads or writes meanwhile.
	release()
	SetReadDeadline(t time.Time) error
	Close() error
}

// newTransport finds the best way for the kind of socket.
func newTransport(nc net.Conn) transport {
	if t, ok := nc.(*tlsConn); ok {
		return t
	}
	return newSocket(nc)
}

func newSocket(nc net.Conn) transport {
	if t := newRawTransport(nc); t != nil {
		return t
	}
	if _, ok := nc.(interface{ ConnectionState() tls.ConnectionState }); ok {
		return &blockingTransport{plainTransport{nc}}
	}
	return &plainTransport{nc}
}

// plainTransport is any net.Conn: what cannot be written within a moment is left for Write. A net.Conn says exactly how much
// it wrote before its deadline.
type plainTransport struct{ net.Conn }

// writeMoment is long enough for a system call and short beside any deadline.
const writeMoment = time.Millisecond

func (t *plainTransport) tryWrite(b []byte) ([]byte, error) {
	if err := t.SetWriteDeadline(time.Now().Add(writeMoment)); err != nil {
		return nil, err
	}
	n, err := t.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return b[n:], err
}

func (t *plainTransport) writeRest(rest []byte) error {
	if err := t.SetWriteDeadline(time.Time{}); err != nil {
		return err
	}
	_, err := t.Write(rest)
	return err
}

// peek cannot look without taking: it says that bytes may wait, and the conn reads for a moment.
func (t *plainTransport) peek() (bool, error) { return true, nil }

func (t *plainTransport) release() {}

// blockingTransport is a conn that a write deadline would ruin, such as TLS made by Config.Dialer: all its writes are made by
// the transient flusher.
type blockingTransport struct{ plainTransport }

func (t *blockingTransport) tryWrite(b []byte) ([]byte, error) { return b, nil }

func (t *blockingTransport) writeRest(rest []byte) error {
	_, err := t.Write(rest)
	return err
}
