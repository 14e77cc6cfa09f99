package bench

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// slowTick is how often a slow conn hands out what it may.
	slowTick = 50 * time.Millisecond
	// slowBuffer is the receive buffer of a slow conn: what the kernel takes off the
	// server beyond it is not seen in the server's memory.
	slowBuffer = 8 << 10
)

// slowConn is a conn that reads so many bytes a second, once it has been made slow.
type slowConn struct {
	net.Conn
	rate   int // bytes per second; 0: nothing is read
	slow   atomic.Bool
	close  sync.Once
	closed chan struct{}
}

func newSlowConn(conn net.Conn, rate int) *slowConn {
	if c, ok := conn.(interface{ SetReadBuffer(int) error }); ok {
		_ = c.SetReadBuffer(slowBuffer) // a larger one only hides more
	}
	return &slowConn{Conn: conn, rate: rate, closed: make(chan struct{})}
}

// Read implements net.Conn. A slow read waits first, however much is there.
func (c *slowConn) Read(p []byte) (int, error) {
	if !c.slow.Load() {
		return c.Conn.Read(p)
	}
	if c.rate == 0 {
		<-c.closed
		return 0, net.ErrClosed
	}
	timer := time.NewTimer(slowTick)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.closed:
		return 0, net.ErrClosed
	}
	share := max(int(float64(c.rate)*slowTick.Seconds()), 1)
	return c.Conn.Read(p[:min(len(p), share)])
}

// Close implements net.Conn, and ends a read that waits.
func (c *slowConn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
