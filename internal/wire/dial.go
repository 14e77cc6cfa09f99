package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// The phases of a dial.
const (
	PhaseResolve   = "resolve"
	PhaseConnect   = "connect"
	PhaseTLS       = "tls"
	PhaseHandshake = "handshake"
)

// A DialError says in which phase a dial failed, and what to do about it where that can be told.
type DialError struct {
	Phase string // one of the Phase constants
	Addr  string
	Cause error
	Hint  string // what it probably means; may be empty
}

func (e *DialError) Error() string {
	s := e.Phase + " " + e.Addr + ": " + e.Cause.Error()
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *DialError) Unwrap() error { return e.Cause }

// Dial opens a conn: it resolves and connects, does the TLS handshake, then greets, authenticates and selects in one round
// trip. ctx bounds all of it and should have a deadline. The error is a *DialError.
func Dial(ctx context.Context, cfg *Config) (*Conn, error) {
	var t Timings
	cfg.phase(PhaseConnect) // resolving is part of it for who waits
	nc, err := connect(ctx, cfg, &t)
	if err != nil {
		return nil, err
	}
	ok := false
	defer func() {
		if !ok {
			_ = nc.Close()
		}
	}()
	if cfg.TLS != nil {
		cfg.phase(PhaseTLS)
		start := time.Now()
		tc, err := handshakeTLS(ctx, nc, tlsConfig(cfg))
		t.TLS = time.Since(start)
		if err != nil {
			return nil, tlsError(cfg, err)
		}
		t.Resumed = tc.ConnectionState().DidResume
		nc = tc
	}
	cfg.phase(PhaseHandshake)
	start := time.Now()
	info, rest, err := greet(ctx, nc, cfg)
	if err != nil {
		return nil, greetError(cfg, err)
	}
	t.Handshake = time.Since(start)
	info.Timings = t
	if err := nc.SetDeadline(time.Time{}); err != nil {
		return nil, &DialError{Phase: PhaseHandshake, Addr: cfg.Addr, Cause: err}
	}
	c := newConn(nc, cfg.Conn)
	c.info = info
	if len(rest) > 0 { // a push may follow the last reply closely
		if _, err := c.parse(rest, nil); err != nil {
			return nil, greetError(cfg, err)
		}
	}
	ok = true
	return c, nil
}

func tlsConfig(cfg *Config) *tls.Config {
	if cfg.TLS.ServerName != "" {
		return cfg.TLS
	}
	c := cfg.TLS.Clone()
	c.ServerName = cfg.Addr
	if host, _, err := net.SplitHostPort(cfg.Addr); err == nil {
		c.ServerName = host
	}
	return c
}

func connect(ctx context.Context, cfg *Config, t *Timings) (net.Conn, error) {
	if cfg.Dialer != nil {
		start := time.Now()
		nc, err := cfg.Dialer(ctx, cfg.Network, cfg.Addr)
		t.Connect = time.Since(start)
		if err != nil {
			return nil, connectError(cfg.Addr, err)
		}
		return nc, nil
	}
	d := &net.Dialer{KeepAliveConfig: cfg.KeepAlive, ControlContext: control(cfg.UserTimeout)}
	start := time.Now()
	if cfg.Network == "unix" {
		nc, err := d.DialContext(ctx, "unix", cfg.Addr)
		t.Connect = time.Since(start)
		if err != nil {
			return nil, connectError(cfg.Addr, err)
		}
		return nc, nil
	}
	addrs, err := resolve(ctx, cfg.Addr)
	t.Resolve = time.Since(start)
	if err != nil {
		return nil, &DialError{Phase: PhaseResolve, Addr: cfg.Addr, Cause: err}
	}
	start = time.Now()
	nc, err := dialFirst(ctx, d, addrs)
	t.Connect = time.Since(start)
	if err != nil {
		return nil, connectError(cfg.Addr, err)
	}
	return nc, nil
}

// resolve looks the host up, on every dial: an endpoint that moves is followed.
func resolve(ctx context.Context, addr string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "localhost"
	}
	if net.ParseIP(host) != nil {
		return []string{net.JoinHostPort(host, port)}, nil
	}
	ips, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil, err
	}
	for i, ip := range ips {
		ips[i] = net.JoinHostPort(ip, port)
	}
	return ips, nil
}

// attemptStagger is how long an address has before the next one is tried beside it (RFC 8305, section 8). The standard
// library gives each address at least two seconds instead, which is a whole DialTimeout.
const attemptStagger = 250 * time.Millisecond

// dialFirst connects to whichever address answers first, in order.
func dialFirst(ctx context.Context, d *net.Dialer, addrs []string) (net.Conn, error) {
	if len(addrs) == 1 {
		return d.DialContext(ctx, "tcp", addrs[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		nc  net.Conn
		err error
	}
	results := make(chan result, len(addrs))
	next := time.NewTimer(0)
	defer next.Stop()
	var errs []error
	started, ended := 0, 0
	for {
		select {
		case <-next.C:
			if started == len(addrs) {
				continue
			}
			addr := addrs[started]
			started++
			go func() {
				nc, err := d.DialContext(ctx, "tcp", addr)
				results <- result{nc, err}
			}()
			next.Reset(attemptStagger)
		case r := <-results:
			ended++
			if r.err == nil {
				cancel()
				go func() { // close those that connect all the same
					for ; ended < started; ended++ {
						if late := <-results; late.err == nil {
							_ = late.nc.Close()
						}
					}
				}()
				return r.nc, nil
			}
			errs = append(errs, r.err)
			if ended == len(addrs) {
				return nil, errors.Join(errs...)
			}
			next.Reset(0)
		}
	}
}

func connectError(addr string, err error) error {
	e := &DialError{Phase: PhaseConnect, Addr: addr, Cause: err}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Hint = "nothing listens there: is the server running, and is this its port?"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		e.Hint = "no answer from the host: wrong address, a firewall, or a full accept queue"
	case closedByPeer(err):
		e.Hint = "the server closed during set-up"
	}
	return e
}

func tlsError(cfg *Config, err error) error {
	e := &DialError{Phase: PhaseTLS, Addr: cfg.Addr, Cause: err}
	var header tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &header):
		e.Hint = "the server does not speak TLS on this port: use a redis:// URL, or its TLS port"
	case errors.As(err, &cert):
		e.Hint = "give the server's CA in Config.TLS.RootCAs, and its name in Config.TLS.ServerName if it differs from the host"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		e.Hint = "no answer to the TLS hello: is this a plain port, or is the server frozen?"
	case closedByPeer(err):
		e.Hint = "the server closed during set-up: maxclients reached, a plain port, or a certificate that it refuses"
	}
	return e
}

func greetError(cfg *Config, err error) error {
	if e, ok := errors.AsType[*DialError](err); ok {
		return e
	}
	e := &DialError{Phase: PhaseHandshake, Addr: cfg.Addr, Cause: err}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		e.Cause = fmt.Errorf("no answer: %w", context.DeadlineExceeded)
		if e.Hint = "connected, but the server says nothing: frozen, or not a Redis server"; cfg.TLS == nil {
			e.Hint += ", or a TLS port (use a rediss:// URL)"
		}
	case closedByPeer(err):
		e.Hint = "the server closed during set-up: maxclients reached, protected mode"
		if cfg.TLS == nil {
			e.Hint += ", or a TLS port (use a rediss:// URL)"
		}
	}
	return e
}

func closedByPeer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || strings.Contains(err.Error(), "forcibly closed")
}
