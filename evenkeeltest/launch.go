package evenkeeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// startTimeout bounds one start of a server, replicas in step included.
	startTimeout = 20 * time.Second
	// portTries is how often a start is tried again on other ports.
	portTries = 8
)

// ErrNoServer says that no server program is to be had. The error that wraps it
// says what to install.
var ErrNoServer = errors.New("evenkeeltest: no redis-server and no valkey-server")

// FindServer returns the path of the server program that [Launch] takes by
// default, or an error that wraps [ErrNoServer].
func FindServer() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w on the PATH; install one: \"apt-get install redis-server\" (Debian, Ubuntu), "+
		"\"brew install redis\" (macOS), \"dnf install valkey\" (Fedora)", ErrNoServer)
}

// StartServer starts a private server for a test, which fails at once when that is
// not possible. The server is closed when the test ends, also by a panic, and when
// the test process gets SIGINT or SIGTERM; on Linux it dies with the process
// whatever happens.
func StartServer(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	// Not the test's own context: that ends before the clean-ups run, and these may
	// still want the server.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), startTimeout+5*time.Second)
	defer cancel()
	s, err := launch(ctx, opts)
	if err != nil {
		tb.Fatal(err)
	}
	unwatch := closeOnSignal(s)
	tb.Cleanup(func() {
		unwatch()
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// Launch starts a private server and waits until it answers, at most 20 s. It
// listens on loopback alone, keeps nothing on disk, and has DEBUG enabled for
// local use where the server has that switch. The caller must Close it; the end of
// the context, signals included when it is a signal.NotifyContext, does so too.
func Launch(ctx context.Context, opts ...Option) (*Server, error) {
	s, err := launch(ctx, opts)
	if err != nil {
		return nil, err
	}
	s.unhook = context.AfterFunc(ctx, func() { _ = s.close() })
	return s, nil
}

func launch(ctx context.Context, opts []Option) (*Server, error) {
	var set settings
	for _, o := range opts {
		o(&set)
	}
	if err := set.validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errors.New("the server was not ready in time"))
	defer cancel()
	if set.binary == "" {
		path, err := FindServer()
		if err != nil {
			return nil, err
		}
		set.binary = path
	}
	version, err := serverVersion(ctx, set.binary)
	if err != nil {
		return nil, err
	}
	s, err := launchOne(ctx, set, version)
	if err != nil {
		return nil, err
	}
	for range set.replicas {
		r := set
		r.replicas, r.primaryPort = 0, s.Port()
		replica, err := launchOne(ctx, r, version)
		if err == nil {
			s.replicas = append(s.replicas, replica)
			err = replica.awaitInStep(ctx)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// launchOne starts one server, on other ports when the first are taken.
func launchOne(ctx context.Context, set settings, version string) (*Server, error) {
	var last error
	for range portTries {
		s, err := prepare(set, version)
		if err != nil {
			return nil, err
		}
		if err = s.start(ctx); err == nil {
			return s, nil
		}
		_ = s.close()
		if last = err; !errors.Is(err, errPortTaken) {
			break
		}
	}
	return nil, last
}

// prepare lays out a server's directory.
func prepare(set settings, version string) (_ *Server, err error) {
	dir, err := os.MkdirTemp("", "evenkeel-server-")
	if err != nil {
		return nil, fmt.Errorf("evenkeeltest: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
			err = fmt.Errorf("evenkeeltest: %w", err)
		}
	}()
	s := &Server{set: set, version: version, ctl: make(chan *control, 1)}
	s.ctl <- nil
	s.at.dir = dir
	s.at.debugCommand = majorOf(version) >= 7
	if s.at.port, err = freePort(); err != nil {
		return nil, err
	}
	if set.cluster && majorOf(version) >= 7 {
		if s.at.busPort, err = freePort(); err != nil {
			return nil, err
		}
	}
	if set.unixSocket {
		s.at.socket = filepath.Join(dir, "s")
	}
	if set.tls {
		if s.at.tlsPort, err = freePort(); err != nil {
			return nil, err
		}
		if s.authority, err = NewAuthority(); err != nil {
			return nil, err
		}
		if err = s.authority.write(dir); err != nil {
			return nil, err
		}
	}
	if err = os.WriteFile(s.configPath(), set.configFile(s.at), 0o600); err != nil {
		return nil, err
	}
	return s, nil
}

var (
	errPortTaken = errors.New("the port is taken")
	errExited    = errors.New("the server ended")
)

// start runs the prepared server and waits until it answers.
func (s *Server) start(ctx context.Context) error {
	var offset int64 // where the log of this run begins
	if fi, err := os.Stat(s.logPath()); err == nil {
		offset = fi.Size()
	}
	p, err := startProcess(s.set.binary, s.configPath(), s.logPath())
	if err != nil {
		return fmt.Errorf("evenkeeltest: start %s: %w", s.set.binary, err)
	}
	if !s.adopt(p) {
		p.kill()
		return errServerClosed
	}
	c, err := s.awaitReady(ctx, p)
	if err == nil {
		s.swapControl(c)
		return nil
	}
	p.kill()
	log, _ := os.ReadFile(s.logPath()) // without it the error is just shorter
	log = log[min(int(offset), len(log)):]
	if bytes.Contains(log, []byte("ddress already in use")) {
		err = errPortTaken
	}
	return fmt.Errorf("evenkeeltest: start %s: %w\n%s", s.set.binary, err, tail(log, 20))
}

// awaitReady connects until the server has answered.
func (s *Server) awaitReady(ctx context.Context, p *process) (*control, error) {
	pause := 2 * time.Millisecond
	for {
		c, err := s.tryControl(ctx)
		if err == nil {
			return c, nil
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, 50*time.Millisecond)
		case <-p.done:
			return nil, errExited
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (last seen: %w)", context.Cause(ctx), err)
		}
	}
}

// tryControl signs in, and makes sure that it is this server that answers: the
// port may have been lost to another.
func (s *Server) tryControl(ctx context.Context) (*control, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c, err := dialControl(ctx, s.Addr(), s.set.defaultPassword())
	if err != nil {
		return nil, err
	}
	_, err = c.do(ctx, "PING")
	if err == nil {
		var info any
		if info, err = c.do(ctx, "INFO", "server"); err == nil {
			text, _ := info.(string)
			if got := parseInfo(text)["config_file"]; got != s.configPath() {
				err = errPortTaken
			}
		}
	}
	if err != nil {
		_ = c.conn.Close()
		return nil, err
	}
	return c, nil
}

// awaitInStep waits until a replica has its first copy.
func (s *Server) awaitInStep(ctx context.Context) error {
	for {
		info, err := s.Info(ctx, "replication")
		if err != nil {
			return err
		}
		if info["master_link_status"] == "up" {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("evenkeeltest: replica: %w", context.Cause(ctx))
		}
	}
}

var versionPattern = regexp.MustCompile(`v=(\d+\.\d+\.\d+)`)

// serverVersion asks the program itself, without starting a server.
func serverVersion(ctx context.Context, binary string) (string, error) {
	out, err := exec.CommandContext(ctx, binary, "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("evenkeeltest: %s --version: %w", binary, err)
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("evenkeeltest: %s --version says %q: no redis-server or valkey-server", binary, tail(out, 1))
	}
	return string(m[1]), nil
}

func majorOf(version string) int {
	major, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(major) // the pattern has made sure of digits
	return n
}

// tail returns the last lines of a text.
func tail(text []byte, lines int) []byte {
	all := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))
}

// closeOnSignal closes the server on SIGINT and SIGTERM and then passes the signal
// on, so that the process ends as it would have. The function it returns ends this.
func closeOnSignal(s interface{ Close() error }) (stop func()) {
	signals := make(chan os.Signal, 1)
	ended, quit := make(chan struct{}), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(ended)
		select {
		case sig := <-signals:
			_ = s.Close()
			signal.Stop(signals)
			if n, ok := sig.(syscall.Signal); ok {
				_ = raise(n)
			}
		case <-quit:
			signal.Stop(signals)
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
