package evenkeeltest

import (
	"crypto/tls"
	"net"
)

// Direction names one direction of a conn, or both.
type Direction uint8

// The directions: from the client to the server, and back.
const (
	ToServer Direction = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// The two directions as indices.
const (
	serverward = iota
	clientward
	directions
)

func (d Direction) each(f func(i int)) {
	if d&ToServer != 0 {
		f(serverward)
	}
	if d&ToClient != 0 {
		f(clientward)
	}
}

// resetConn closes a conn so that the peer gets an RST, where the conn can do that.
func resetConn(c net.Conn) {
	raw := c
	if t, ok := c.(*tls.Conn); ok {
		raw = t.NetConn()
	}
	if l, ok := raw.(interface{ SetLinger(sec int) error }); ok {
		_ = l.SetLinger(0)
	}
	_ = raw.Close()
}

// closeWrite sends a FIN and leaves the other direction, or closes the conn when it
// cannot be half closed.
func closeWrite(c net.Conn) {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite()
		return
	}
	_ = c.Close()
}
