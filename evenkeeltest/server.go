package evenkeeltest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
)

var (
	errServerClosed = errors.New("evenkeeltest: the server has been closed")
	errNotRunning   = errors.New("evenkeeltest: the server is not running")
)

// Server is a private real server. Its methods may be called concurrently.
type Server struct {
	set       settings
	version   string
	at        layout
	authority *Authority
	replicas  []*Server
	unhook    func() bool // ends the watch over Launch's context

	// ctl holds the control conn, or nil for none yet: who takes it owns it.
	ctl chan *control

	mu     sync.Mutex
	proc   *process
	closed bool

	closeOnce sync.Once
	closeErr  error
}

// Addr returns host and port of the plain listener.
func (s *Server) Addr() string { return loopback(s.at.port) }

// Port returns the plain listener's port.
func (s *Server) Port() int { return s.at.port }

// TLSAddr returns host and port of the TLS listener, "" without [WithTLS].
func (s *Server) TLSAddr() string {
	if s.at.tlsPort == 0 {
		return ""
	}
	return loopback(s.at.tlsPort)
}

// Socket returns the path of the unix socket, "" without [WithUnixSocket].
func (s *Server) Socket() string { return s.at.socket }

// URL returns a redis:// URL of the plain listener, with the default user's
// password if there is one.
func (s *Server) URL() string { return s.url("redis", s.Addr()) }

// TLSURL returns a rediss:// URL of the TLS listener, "" without [WithTLS].
func (s *Server) TLSURL() string {
	if s.at.tlsPort == 0 {
		return ""
	}
	return s.url("rediss", s.TLSAddr())
}

func (s *Server) url(scheme, addr string) string {
	u := url.URL{Scheme: scheme, Host: addr, Path: "/0"}
	if p := s.set.defaultPassword(); p != "" {
		u.User = url.UserPassword("", p)
	}
	return u.String()
}

// TLSConfig returns a new client configuration that trusts the server and has a
// client certificate, nil without [WithTLS].
func (s *Server) TLSConfig() *tls.Config {
	if s.authority == nil {
		return nil
	}
	return s.authority.ClientConfig()
}

// CAFile returns the path of the authority's certificate in PEM form, for programs
// that want a file; it is there until Close. "" without [WithTLS].
func (s *Server) CAFile() string { return s.tlsFile(certPath(s.at.dir, "ca")) }

// ClientCertFile returns the path of the client certificate; see CAFile.
func (s *Server) ClientCertFile() string { return s.tlsFile(certPath(s.at.dir, "client")) }

// ClientKeyFile returns the path of the client certificate's key; see CAFile.
func (s *Server) ClientKeyFile() string { return s.tlsFile(keyPath(s.at.dir, "client")) }

func (s *Server) tlsFile(path string) string {
	if s.authority == nil {
		return ""
	}
	return path
}

// Password returns the default user's password, "" for none.
func (s *Server) Password() string { return s.set.defaultPassword() }

// Version returns the server program's version, such as "7.0.15".
func (s *Server) Version() string { return s.version }

// Binary returns the path of the server program.
func (s *Server) Binary() string { return s.set.binary }

// Replicas returns the replicas of [WithReplicas]. They are closed with s.
func (s *Server) Replicas() []*Server { return slices.Clone(s.replicas) }

// PID returns the process id, 0 when the server is not running.
func (s *Server) PID() int {
	if p, err := s.process(); err == nil {
		return p.pid
	}
	return 0
}

// Stop stops the process with SIGSTOP, and returns once it stands still: conns stay
// open and connects succeed until the backlog is full, but nothing is answered. It
// is errors.ErrUnsupported where there are no such signals.
func (s *Server) Stop() error {
	p, err := s.process()
	if err != nil {
		return err
	}
	return stopProcess(p)
}

// Cont undoes Stop.
func (s *Server) Cont() error {
	p, err := s.process()
	if err != nil {
		return err
	}
	return contProcess(p)
}

// Kill kills the process, as kill -9 does, and waits for its end. Its port stays
// reserved for [Server.Restart], as far as that is possible. A server that is not
// running is left so.
func (s *Server) Kill() error {
	p, err := s.process()
	if errors.Is(err, errNotRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	p.kill()
	return nil
}

// Restart kills the server if it runs, and starts it again, empty, on the same
// ports. It returns when the server answers. Restarts must not run concurrently.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Kill(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errors.New("the server was not ready in time"))
	defer cancel()
	return s.start(ctx)
}

// Info returns the fields of INFO with the given section, "" for the default ones,
// asked over the control conn. It fails when the context ends first, as it will
// with a server that is stopped.
func (s *Server) Info(ctx context.Context, section string) (map[string]string, error) {
	args := []string{"INFO"}
	if section != "" {
		args = append(args, section)
	}
	v, err := s.Do(ctx, args...)
	if err != nil {
		return nil, err
	}
	text, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("evenkeeltest: INFO answered a %T", v)
	}
	return parseInfo(text), nil
}

// InfoInt returns one integer field of INFO.
func (s *Server) InfoInt(ctx context.Context, section, field string) (int64, error) {
	info, err := s.Info(ctx, section)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(info[field], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("evenkeeltest: INFO field %s: %w", field, err)
	}
	return n, nil
}

// Do runs one command as the default user over the control conn, which is opened
// beforehand, so that a limit of conns does not keep it out. The reply is a string,
// int64, float64, bool, nil, or a []any of these (maps as key, value, key, value);
// an error reply is a [ServerError]. Calls take turns.
func (s *Server) Do(ctx context.Context, args ...string) (any, error) {
	var c *control
	select {
	case c = <-s.ctl:
	case <-ctx.Done():
		return nil, ctxError(ctx, ctx.Err())
	}
	if c != nil && !c.alive() {
		_ = c.conn.Close()
		c = nil
	}
	if c == nil {
		var err error
		if _, err = s.process(); err == nil {
			c, err = dialControl(ctx, s.Addr(), s.set.defaultPassword())
		}
		if err != nil {
			s.ctl <- nil
			return nil, err
		}
	}
	v, err := c.do(ctx, args...)
	if err != nil && !isServerError(err) {
		_ = c.conn.Close()
		c = nil
	}
	s.ctl <- c
	return v, err
}

func isServerError(err error) bool {
	_, ok := errors.AsType[ServerError](err)
	return ok
}

// Close kills the server and its replicas and removes their files. Further calls
// return what the first one did.
func (s *Server) Close() error {
	if s.unhook != nil {
		s.unhook()
	}
	return s.close()
}

func (s *Server) close() error {
	s.closeOnce.Do(func() {
		var errs []error
		for _, r := range s.replicas {
			errs = append(errs, r.Close())
		}
		s.mu.Lock()
		s.closed = true
		p := s.proc
		s.mu.Unlock()
		if p != nil {
			p.kill() // also ends a call that waits on the control conn
		}
		s.swapControl(nil)
		errs = append(errs, os.RemoveAll(s.at.dir))
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}

// process returns the running process.
func (s *Server) process() (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errServerClosed
	case s.proc == nil || !s.proc.running():
		return nil, errNotRunning
	}
	return s.proc, nil
}

// adopt makes p the server's process, unless the server has been closed.
func (s *Server) adopt(p *process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.proc = p
	return true
}

// swapControl puts another control conn in the place of the old one.
func (s *Server) swapControl(c *control) {
	old := <-s.ctl
	if old != nil {
		_ = old.conn.Close()
	}
	s.ctl <- c
}

func (s *Server) configPath() string { return filepath.Join(s.at.dir, "server.conf") }
func (s *Server) logPath() string    { return filepath.Join(s.at.dir, "server.log") }
