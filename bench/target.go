package bench

import (
	"crypto/tls"
	"net"
	"strconv"

	"github.com/evenkeel-go/evenkeel"
)

// Target is the server to measure. The zero value asks for a private one: the
// experiment starts redis-server or valkey-server on a free loopback port, and
// stops it afterwards.
type Target struct {
	// Network is "tcp" or "unix".
	Network string
	// Address is host:port, or the path of a unix socket. Empty means a
	// private server.
	Address string
	// Username and Password log in; both empty means not to.
	Username, Password string
	// DB is the database to select, 0 to 2^31-1.
	DB int
	// TLS, if set, is used for every connection, and cloned for each.
	TLS *tls.Config
}

// Private reports whether the target is a private server.
func (t Target) Private() bool { return t.Address == "" }

// String names the target for people. It never holds the password.
func (t Target) String() string {
	if t.Private() {
		return "a private server"
	}
	scheme := "redis"
	switch {
	case t.Network == "unix":
		scheme = "unix"
	case t.TLS != nil:
		scheme = "rediss"
	}
	s := scheme + "://" + t.Address
	if t.DB != 0 {
		s += "/" + strconv.Itoa(t.DB)
	}
	return s
}

// GoString keeps the password out of %#v too.
func (t Target) GoString() string { return "bench.Target(" + t.String() + ")" }

func (c *check) target(t Target) {
	c.that(t.DB >= 0, "db", "database %d is negative; give 0 or more", t.DB)
	if t.Private() {
		c.that(t.Username == "" && t.Password == "" && t.TLS == nil, "url",
			"a password, user or TLS was given without a server; add --url or -h")
		return
	}
	switch t.Network {
	case "unix":
	case "tcp":
		_, port, err := net.SplitHostPort(t.Address)
		n, numErr := strconv.Atoi(port)
		c.that(err == nil && numErr == nil && n > 0 && n < 65536, "url", "%q is no host:port", t.Address)
	default:
		c.that(false, "url", "network %q is unknown; give tcp or unix", t.Network)
	}
}

// config is the Config of a client for the target: its endpoint, and defaults.
func (t Target) config() evenkeel.Config {
	cfg := evenkeel.DefaultConfig(t.Address)
	cfg.Network, cfg.Username, cfg.Password, cfg.DB = t.Network, t.Username, t.Password, t.DB
	if t.TLS != nil {
		setTLS(&cfg, t.TLS.Clone())
	}
	return cfg
}
