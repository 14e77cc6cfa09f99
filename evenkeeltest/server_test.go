package evenkeeltest

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hardPassword has what a configuration file, a URL and a log might trip over.
const hardPassword = "p\"w'\\ #@:/\x01é"

func do(t testing.TB, s *Server, words ...string) any {
	t.Helper()
	v, err := s.Do(t.Context(), words...)
	if err != nil {
		t.Fatalf("%v: %v", words, err)
	}
	return v
}

// signIn sends AUTH with words that may have blanks.
func (w *wire) signIn(words ...string) {
	w.t.Helper()
	if _, err := w.nc.Write([]byte(command(append([]string{"AUTH"}, words...)...))); err != nil {
		w.t.Fatal(err)
	}
	w.expect("+OK\r\n")
}

func TestServerWithEverything(t *testing.T) {
	s := StartServer(t,
		WithPassword(hardPassword), WithACLUser("reader", "r w", "~pub:*", "+get"), WithACLUser("all", "a"),
		WithTLS(), WithUnixSocket(), WithMaxClients(8), WithConfig("maxmemory", "64mb"), WithConfig("appendonly", "no"))

	w := connect(t, s.Addr())
	w.ask("PING", "-NOAUTH Authentication required.\r\n")
	w.signIn(hardPassword)
	w.ask("CONFIG GET maxmemory", "*2\r\n$9\r\nmaxmemory\r\n$8\r\n67108864\r\n")
	w.ask("DEBUG SLEEP 0", "+OK\r\n")
	w.signIn("all", "a")
	w.ask("SET pub:a 1", "+OK\r\n")
	w.signIn("reader", "r w")
	w.ask("GET pub:a", "$1\r\n1\r\n")
	w.send("GET private")
	w.expect("-NOPERM")

	nc, err := (&net.Dialer{}).DialContext(t.Context(), "unix", s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	onWire(t, nc).signIn(hardPassword)

	nc, err = (&tls.Dialer{Config: s.TLSConfig()}).DialContext(t.Context(), "tcp", s.TLSAddr())
	if err != nil {
		t.Fatal(err)
	}
	onWire(t, nc).signIn(hardPassword)
	if _, err := (&tls.Dialer{}).DialContext(t.Context(), "tcp", s.TLSAddr()); err == nil {
		t.Fatal("a stranger trusts the throw-away authority")
	}
	for _, path := range []string{s.CAFile(), s.ClientCertFile(), s.ClientKeyFile(), s.configPath()} {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", filepath.Base(path), fi.Mode())
		}
	}
	if got, want := s.URL(), "redis://:p%22w%27%5C%20%23%40%3A%2F%01%C3%A9@"+s.Addr()+"/0"; got != want {
		t.Errorf("URL %s, want %s", got, want)
	}
	if !strings.HasPrefix(s.TLSURL(), "rediss://") || s.Password() != hardPassword {
		t.Errorf("TLSURL %s", s.TLSURL())
	}
	p, err := s.process()
	if err != nil {
		t.Fatal(err)
	}
	if argv := strings.Join(p.cmd.Args, " "); strings.Contains(argv, hardPassword) {
		t.Errorf("password in argv: %s", argv)
	}
	if info, err := s.Info(t.Context(), "server"); err != nil || info["tcp_port"] == "" || !strings.HasPrefix(s.Version(), majorPrefix(info)) {
		t.Errorf("INFO %v, version %s: %v", info["tcp_port"], s.Version(), err)
	}
}

// majorPrefix returns what the version must begin with; Valkey reports the Redis
// version that it is compatible with elsewhere.
func majorPrefix(info map[string]string) string {
	if v := info["valkey_version"]; v != "" {
		return v
	}
	return info["redis_version"]
}

func TestServerPlain(t *testing.T) {
	s := StartServer(t)
	if s.TLSAddr() != "" || s.TLSURL() != "" || s.TLSConfig() != nil || s.CAFile() != "" || s.Socket() != "" || len(s.Replicas()) != 0 {
		t.Error("there is something nobody asked for")
	}
	if got, want := s.URL(), "redis://"+s.Addr()+"/0"; got != want {
		t.Errorf("URL %s, want %s", got, want)
	}
	if got := do(t, s, "SET", "k", "with blanks\r\n"); got != "OK" {
		t.Fatalf("SET: %v", got)
	}
	if got := do(t, s, "GET", "k"); got != "with blanks\r\n" {
		t.Fatalf("GET: %v", got)
	}
	if got := do(t, s, "GET", "none"); got != nil {
		t.Fatalf("GET: %v", got)
	}
	if got := do(t, s, "APPEND", "k", "!"); got != int64(14) {
		t.Fatalf("APPEND: %v", got)
	}
	if got, ok := do(t, s, "MGET", "none", "k").([]any); !ok || len(got) != 2 || got[0] != nil {
		t.Fatalf("MGET: %v", got)
	}
	var se ServerError
	if _, err := s.Do(t.Context(), "NOSUCH"); !errors.As(err, &se) || !strings.HasPrefix(se.Error(), "ERR") {
		t.Fatalf("NOSUCH: %v", err)
	}
	// Whoever kills all clients kills the control conn too: it is opened again.
	w := connect(t, s.Addr())
	w.send("CLIENT KILL TYPE normal SKIPME yes")
	w.expect(":1\r\n")
	if got := do(t, s, "PING"); got != "PONG" {
		t.Fatalf("PING: %v", got)
	}
	if n, err := s.InfoInt(t.Context(), "clients", "connected_clients"); err != nil || n != 2 {
		t.Fatalf("connected_clients %d, %v", n, err)
	}
	if _, err := s.InfoInt(t.Context(), "clients", "no_such_field"); err == nil {
		t.Fatal("no error for a field that is not there")
	}
}

func TestServerInfoAtMaxClients(t *testing.T) {
	s := StartServer(t, WithMaxClients(3))
	connect(t, s.Addr()).ask("PING", "+PONG\r\n")
	connect(t, s.Addr()).ask("PING", "+PONG\r\n")
	over := connect(t, s.Addr())
	over.expect("-ERR max number of clients reached\r\n")
	if n, err := s.InfoInt(t.Context(), "stats", "rejected_connections"); err != nil || n != 1 {
		t.Fatalf("rejected %d, %v", n, err)
	}
}

func TestServerStopKillRestart(t *testing.T) {
	s := StartServer(t, WithPassword("x"))
	pid, addr := s.PID(), s.Addr()
	do(t, s, "SET", "k", "v")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Do(ctx, "PING"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("PING to a stopped server: %v", err)
	}
	connect(t, addr) // the kernel still accepts
	if err := s.Cont(); err != nil {
		t.Fatal(err)
	}
	if got := do(t, s, "GET", "k"); got != "v" {
		t.Fatalf("GET: %v", got)
	}
	if err := s.Stop(); err != nil { // a stopped one can be killed
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if s.PID() != 0 {
		t.Fatal("killed, and has a PID")
	}
	for name, err := range map[string]error{"Stop": s.Stop(), "Cont": s.Cont()} {
		if !errors.Is(err, errNotRunning) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Do(t.Context(), "PING"); !errors.Is(err, errNotRunning) {
		t.Fatalf("PING to a dead server: %v", err)
	}
	for range 2 { // dead, then running
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.Addr() != addr || s.PID() == pid || s.PID() == 0 {
			t.Fatalf("at %s with PID %d after %s with %d", s.Addr(), s.PID(), addr, pid)
		}
		if got := do(t, s, "GET", "k"); got != nil {
			t.Fatalf("GET after a restart: %v", got)
		}
	}
}

func TestServerReplicas(t *testing.T) {
	s := StartServer(t, WithReplicas(1), WithPassword("x"))
	r := s.Replicas()[0]
	do(t, s, "SET", "k", "v")
	if got := do(t, s, "WAIT", "1", "5000"); got != int64(1) {
		t.Fatalf("WAIT: %v", got)
	}
	if got := do(t, r, "GET", "k"); got != "v" {
		t.Fatalf("GET from the replica: %v", got)
	}
}

func TestServerTLSAuthClients(t *testing.T) {
	s := StartServer(t, WithTLSAuthClients(true))
	dial := func(cfg *tls.Config) *wire {
		nc, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.TLSAddr())
		if err != nil {
			t.Fatal(err)
		}
		return onWire(t, tls.Client(nc, cfg))
	}
	dial(s.TLSConfig()).ask("PING", "+PONG\r\n")
	bare := s.TLSConfig()
	bare.Certificates = nil
	w := dial(bare)
	_, werr := w.nc.Write([]byte(command("PING")))
	_, rerr := w.br.ReadByte()
	if werr == nil && (rerr == nil || errors.Is(rerr, os.ErrDeadlineExceeded)) {
		t.Fatalf("a client without a certificate was let in: %v", rerr)
	}
}

func TestServerClose(t *testing.T) {
	s := StartServer(t)
	p, err := s.process()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() { _, err := s.Do(context.Background(), "PING"); waiting <- err }()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-waiting; err == nil {
		t.Fatal("a stopped server has answered")
	}
	if p.running() {
		t.Fatal("still running")
	}
	if _, err := os.Stat(s.at.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("directory left: %v", err)
	}
	for name, err := range map[string]error{"Kill": s.Kill(), "Restart": s.Restart(t.Context())} {
		if !errors.Is(err, errServerClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

func TestLaunchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := Launch(ctx, WithReplicas(1))
	if err != nil {
		t.Fatal(err)
	}
	w := connect(t, s.Replicas()[0].Addr())
	cancel()
	_ = w.end()
	if err := s.Close(); err != nil { // waits for the one that is under way
		t.Fatal(err)
	}
	if _, err := os.Stat(s.at.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("directory left: %v", err)
	}
}

func TestLaunchTriesOtherPorts(t *testing.T) {
	taken, err := ListenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	path, err := FindServer()
	if err != nil {
		t.Fatal(err)
	}
	set := settings{binary: path}
	s, err := prepare(set, "7.0.15")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	addr, ok := taken.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal("no TCP address")
	}
	s.at.port = addr.Port
	if err := os.WriteFile(s.configPath(), set.configFile(s.at), 0o600); err != nil {
		t.Fatal(err)
	}
	// The process ends by itself: what listens there never answers.
	if err := s.start(t.Context()); !errors.Is(err, errPortTaken) {
		t.Fatalf("start on a taken port: %v", err)
	}
	// A port that another server answers on is no better.
	other := StartServer(t)
	s.at.port = other.Port()
	if _, err := s.tryControl(t.Context()); !errors.Is(err, errPortTaken) {
		t.Fatalf("somebody else's server: %v", err)
	}
}

func TestLaunchErrors(t *testing.T) {
	tmp := t.TempDir() // of its own, since other servers come and go
	t.Setenv("TMPDIR", tmp)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		opts []Option
		want string
	}{
		"no such program":  {[]Option{WithBinary("/no/such/server")}, "no such file"},
		"not a server":     {[]Option{WithBinary(shell)}, "--version"},
		"bad directive":    {[]Option{WithConfig("no-such-directive", "1")}, "no-such-directive"},
		"two lines":        {[]Option{WithConfig("a\nb", "1")}, "not one line"},
		"one client":       {[]Option{WithMaxClients(1)}, "at least 2"},
		"negative":         {[]Option{WithReplicas(-1)}, "not negative"},
		"user with blanks": {[]Option{WithACLUser("a b", "x")}, "no user name"},
	} {
		if _, err := Launch(t.Context(), tc.opts...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Launch(over); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: %v", err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestNoServerOnThePath(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Launch(t.Context())
	if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Fatal(err)
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":       `""`,
		"plain":  `"plain"`,
		"a b":    `"a b"`,
		`"\`:     `"\"\\"`,
		"\n\xff": `"\x0a\xff"`,
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}
