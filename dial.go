package evenkeel

import (
	"context"
	"net"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/wire"
)

// wireConfig is what a conn needs of a Config.
func wireConfig(cfg *Config) *wire.Config {
	return &wire.Config{
		Network: cfg.Network, Addr: cfg.Addr,
		Username: cfg.Username, Password: cfg.Password, Credentials: cfg.Credentials,
		DB: cfg.DB, ClientName: cfg.ClientName, Protocol: cfg.Protocol, LibName: libName, LibVersion: Version,
		TLS: cfg.TLS, Dialer: cfg.Dialer,
		// A dead peer of an idle conn is found within 15 + 3×5 s; one that owes a reply, by the stall watch.
		KeepAlive:   net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
		UserTimeout: cfg.UserTimeout,
		Sequential:  cfg.HandshakeSequential,
		Conn:        wire.Options{StallTimeout: cfg.StallTimeout, ProbeAfter: cfg.ValidateAfter},
	}
}

// Dial opens one conn outside any client, pool or governor: for tools and measurements. ctx and DialTimeout bound it. The conn
// is the caller's to Close.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.DialTimeout)
	defer cancel()
	w := wireConfig(&cfg)
	w.Conn.OnStall = func(conn *wire.Conn) { // nobody else watches over it
		if conn.Stalled() {
			conn.Close(wire.ErrStalled)
		}
	}
	wc, err := wire.Dial(ctx, w)
	if err != nil {
		return nil, &Error{Op: "dial", Endpoint: cfg.Addr, Attempts: 1, Err: err}
	}
	return &Conn{wc: wc, cfg: &cfg}, nil
}
