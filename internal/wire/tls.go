package wire

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// tlsConn is TLS whose writes need not block: records go into a buffer, and the buffer to the socket. A TLS conn cannot be
// written to with a deadline, for a record cut short ruins it; a buffer of ciphertext can be cut anywhere.
type tlsConn struct {
	*tls.Conn
	records *recordConn
	socket  transport
}

// recordConn is the socket as crypto/tls sees it: after the handshake, writes only append.
type recordConn struct {
	net.Conn
	mu      sync.Mutex
	buffers bool // after the handshake
	out     []byte
	sending []byte // what the flusher is writing; out is its other half
}

func (r *recordConn) Write(b []byte) (int, error) {
	r.mu.Lock()
	if r.buffers {
		r.out = append(r.out, b...)
		r.mu.Unlock()
		return len(b), nil
	}
	r.mu.Unlock()
	return r.Conn.Write(b)
}

// take takes the records to send. Only the flusher calls it.
func (r *recordConn) take() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sending, r.out = r.out, r.sending[:0]
	if cap(r.out) > maxKeptIdle {
		r.out = nil
	}
	return r.sending
}

// handshakeTLS is the TLS phase of a dial. The deadline of ctx bounds it.
func handshakeTLS(ctx context.Context, nc net.Conn, cfg *tls.Config) (*tlsConn, error) {
	records := &recordConn{Conn: nc}
	tc := tls.Client(records, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	records.mu.Lock()
	records.buffers = true
	records.mu.Unlock()
	socket := newSocket(nc)
	if reader, ok := socket.(net.Conn); ok {
		records.Conn = reader
	}
	return &tlsConn{Conn: tc, records: records, socket: socket}, nil
}

// Write is for the RESP handshake: it blocks, under the socket's write deadline.
func (t *tlsConn) Write(b []byte) (int, error) {
	if _, err := t.Conn.Write(b); err != nil {
		return 0, err
	}
	if _, err := t.records.Conn.Write(t.records.take()); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (t *tlsConn) tryWrite(b []byte) ([]byte, error) {
	if _, err := t.Conn.Write(b); err != nil {
		return nil, err
	}
	return t.socket.tryWrite(t.records.take())
}

func (t *tlsConn) writeRest(rest []byte) error { return t.socket.writeRest(rest) }

// release keeps what is yet to be sent: reading may have appended an alert or a key update.
func (t *tlsConn) release() {
	t.records.mu.Lock()
	defer t.records.mu.Unlock()
	t.records.sending = nil
	if len(t.records.out) == 0 {
		t.records.out = nil
	}
}

func (t *tlsConn) peek() (bool, error) { return t.socket.peek() }

// Close closes the socket at once: a close_notify would have to be written, and could block.
func (t *tlsConn) Close() error { return t.records.Conn.Close() }
