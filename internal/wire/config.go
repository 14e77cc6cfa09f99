package wire

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// Config says how to open a conn.
type Config struct {
	Network string // "tcp" or "unix"
	Addr    string // host:port, or the path of a socket

	Username string
	Password string
	// Credentials, when set, is asked on every dial instead of Username and Password.
	Credentials func(ctx context.Context) (username, password string, err error)

	DB         int
	ClientName string // CLIENT SETNAME; empty: none
	Protocol   int    // 2, 3, or 0 for 3 with a fall-back to 2
	LibName    string // CLIENT SETINFO; empty: none
	LibVersion string
	NoEvict    bool // CLIENT NO-EVICT on

	TLS *tls.Config // nil: plain; ServerName defaults to the host of Addr

	// Dialer, when set, replaces the resolving and connecting.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

	KeepAlive   net.KeepAliveConfig
	UserTimeout time.Duration // TCP_USER_TIMEOUT, Linux only; 0: the kernel's own

	// Sequential sends each command of the handshake in a round trip of its own, as many clients do. For measuring only.
	Sequential bool

	// OnPhase, when set, hears of each phase of a dial as it begins.
	OnPhase func(phase string)

	Conn Options
}

func (c *Config) phase(name string) {
	if c.OnPhase != nil {
		c.OnPhase(name)
	}
}
