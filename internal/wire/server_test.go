package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// dialTo opens a conn within five seconds and closes it at the end of the test.
func dialTo(t testing.TB, cfg *Config) (*Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if cfg.Network == "" {
		cfg.Network = "tcp"
	}
	c, err := Dial(ctx, cfg)
	if err == nil {
		t.Cleanup(func() { closeAndWait(t, c) })
	}
	return c, err
}

func mustDial(t testing.TB, cfg *Config) *Conn {
	t.Helper()
	c, err := dialTo(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func closeAndWait(t testing.TB, c *Conn) {
	t.Helper()
	c.Close(nil)
	<-c.Done()
	if n := c.Owed(); n != 0 {
		t.Errorf("%d replies owed by a closed conn", n)
	}
}

// ask makes one call and returns the reply as text.
func ask(t testing.TB, c *Conn, words ...string) string {
	t.Helper()
	o := do(context.Background(), c, 5*time.Second, words...)
	if o.err != nil {
		t.Errorf("%v: %v", words, o.err)
	}
	return o.reply
}

func TestHandshakeWithAServer(t *testing.T) {
	open := evenkeeltest.StartServer(t, evenkeeltest.WithUnixSocket(), evenkeeltest.WithTLS())
	locked := evenkeeltest.StartServer(t, evenkeeltest.WithPassword("secret"), evenkeeltest.WithACLUser("app", "apple"))
	sessions := tls.NewLRUClientSessionCache(4)
	secure := func() *tls.Config {
		cfg := open.TLSConfig()
		cfg.ClientSessionCache = sessions
		return cfg
	}
	mutual := func(context.Context) (string, string, error) { return "app", "apple", nil }
	for _, tc := range []struct {
		name    string
		cfg     Config
		refusal string // of the server; "" when the dial must succeed
		hint    string
		auth    bool
	}{
		{name: "plain", cfg: Config{Addr: open.Addr()}},
		{name: "RESP2", cfg: Config{Addr: open.Addr(), Protocol: 2}},
		{name: "RESP3 or nothing", cfg: Config{Addr: open.Addr(), Protocol: 3}},
		{name: "everything at once", cfg: Config{Addr: locked.Addr(), Username: "app", Password: "apple", DB: 3, ClientName: "me", LibName: "evenkeel", LibVersion: "1", NoEvict: true}},
		{name: "everything in RESP2", cfg: Config{Addr: locked.Addr(), Username: "app", Password: "apple", DB: 3, ClientName: "me", LibName: "evenkeel", LibVersion: "1", NoEvict: true, Protocol: 2}},
		{name: "one by one", cfg: Config{Addr: locked.Addr(), Password: "secret", DB: 3, ClientName: "me", LibName: "evenkeel", LibVersion: "1", Sequential: true}},
		{name: "password", cfg: Config{Addr: locked.Addr(), Password: "secret"}},
		{name: "credentials", cfg: Config{Addr: locked.Addr(), Credentials: mutual}},
		{name: "wrong password", cfg: Config{Addr: locked.Addr(), Password: "wrong", DB: 3}, refusal: "WRONGPASS", hint: "wrong user name or password", auth: true},
		{name: "wrong password in RESP2", cfg: Config{Addr: locked.Addr(), Password: "wrong", Protocol: 2}, refusal: "WRONGPASS", hint: "wrong user name or password", auth: true},
		{name: "no password", cfg: Config{Addr: locked.Addr(), LibName: "evenkeel"}, refusal: "NOAUTH", hint: "wants a password", auth: true},
		{name: "no password in RESP2", cfg: Config{Addr: locked.Addr(), Protocol: 2}, refusal: "NOAUTH", hint: "wants a password", auth: true},
		{name: "password to a server without one", cfg: Config{Addr: open.Addr(), Password: "x"}},
		{name: "password in RESP2 to a server without one", cfg: Config{Addr: open.Addr(), Password: "x", Protocol: 2}, refusal: "ERR AUTH", hint: "no password", auth: true},
		{name: "database out of range", cfg: Config{Addr: open.Addr(), DB: 9999}, refusal: "ERR DB index is out of range"},
		{name: "name with a blank", cfg: Config{Addr: open.Addr(), ClientName: "a b"}, refusal: "ERR Client names cannot contain"},
		{name: "unix socket", cfg: Config{Network: "unix", Addr: open.Socket()}},
		{name: "TLS", cfg: Config{Addr: open.TLSAddr(), TLS: secure()}},
		{name: "TLS, resumed", cfg: Config{Addr: open.TLSAddr(), TLS: secure()}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := dialTo(t, &tc.cfg)
			if tc.refusal != "" {
				refused, ok := errors.AsType[*GreetError](err)
				dialErr, isDial := errors.AsType[*DialError](err)
				if !ok || !isDial || dialErr.Phase != PhaseHandshake || !strings.HasPrefix(refused.Line, tc.refusal) ||
					!strings.Contains(err.Error(), tc.hint) || refused.Auth() != tc.auth {
					t.Errorf("%v, want %s with the hint %q", err, tc.refusal, tc.hint)
				}
				if tc.cfg.Password != "" && tc.cfg.Password != "x" && strings.Contains(err.Error(), tc.cfg.Password+"\"") {
					t.Errorf("%v tells the password", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			info := c.Info()
			if want := max(tc.cfg.Protocol, 2); info.Protocol < want || tc.cfg.Protocol == 2 && info.Protocol != 2 || info.ID == 0 {
				t.Errorf("%+v", info)
			}
			if info.Protocol == 3 && (info.Server == "" || info.Version != open.Version()) {
				t.Errorf("server %q, version %q", info.Server, info.Version)
			}
			if info.Timings.Handshake <= 0 || info.Timings.Connect <= 0 || (info.Timings.TLS > 0) != (tc.cfg.TLS != nil) {
				t.Errorf("%+v", info.Timings)
			}
			if want := strings.HasSuffix(tc.name, "resumed"); info.Timings.Resumed != want {
				t.Errorf("resumed %v, want %v", info.Timings.Resumed, want)
			}
			self := ask(t, c, "CLIENT", "INFO")
			for _, want := range []string{fmt.Sprintf("id=%d ", info.ID), fmt.Sprintf(" db=%d ", tc.cfg.DB), " name=" + tc.cfg.ClientName + " "} {
				if !strings.Contains(self, want) {
					t.Errorf("CLIENT INFO says %q, want %q in it", self, want)
				}
			}
		})
	}
}

func TestHandshakeFallsBackToRESP2(t *testing.T) {
	for mode, name := range map[evenkeeltest.HelloMode]string{evenkeeltest.HelloUnknown: "unknown HELLO", evenkeeltest.HelloNoProto: "NOPROTO"} {
		t.Run(name, func(t *testing.T) {
			f := evenkeeltest.StartFake(t, nil)
			f.SetHello(mode)
			f.SetPassword("default", "secret")
			c := mustDial(t, &Config{Addr: f.Addr(), Password: "secret", ClientName: "me", DB: 2, LibName: "evenkeel"})
			peer := f.Conns()[0]
			if c.Info().Protocol != 2 || c.Info().ID != peer.ID() || peer.Name() != "me" || peer.DB() != "2" || peer.User() != "default" {
				t.Errorf("%+v, peer %q %q %q", c.Info(), peer.Name(), peer.DB(), peer.User())
			}
			if got := ask(t, c, "ECHO", "x"); got != "x" {
				t.Errorf("got %q", got)
			}
			if _, err := dialTo(t, &Config{Addr: f.Addr(), Password: "secret", Protocol: 3}); err == nil {
				t.Error("RESP3 was asked for, and RESP2 given")
			}
		})
	}
}

// B2: the reason is told where there is one, and guessed where there is none.
func TestB2_MaxClients(t *testing.T) {
	s := evenkeeltest.StartServer(t, evenkeeltest.WithMaxClients(3), evenkeeltest.WithTLS())
	for range 2 {
		mustDial(t, &Config{Addr: s.Addr()})
	}
	for range 20 { // the server's words must not get lost to its reset
		_, err := dialTo(t, &Config{Addr: s.Addr(), Password: "x", ClientName: "me", LibName: "evenkeel"})
		if refused, ok := errors.AsType[*GreetError](err); !ok || !refused.MaxClients() || !strings.Contains(err.Error(), "maxclients") {
			t.Fatalf("plain port: %v", err)
		}
	}
	_, err := dialTo(t, &Config{Addr: s.TLSAddr(), TLS: s.TLSConfig()})
	if _, ok := errors.AsType[*DialError](err); !ok || !strings.Contains(err.Error(), "maxclients") {
		t.Fatalf("TLS port: %v", err)
	}
}

// load makes calls on c from n callers until stop is closed, each with a fresh deadline, and counts those that came late by more
// than a noisy machine explains, and wrong replies.
type load struct {
	wg                sync.WaitGroup
	stop              chan struct{}
	ok, failed, wrong atomic.Int64
	latest            atomic.Int64
	limit             time.Duration
	machine           time.Duration // how late a timer fired at most; to be read after wg
}

func startLoad(c *Conn, n int, limit time.Duration) *load {
	l := &load{stop: make(chan struct{}), limit: limit}
	l.wg.Go(l.watchMachine)
	for i := range n {
		l.wg.Go(func() {
			for j := 0; ; j++ {
				select {
				case <-l.stop:
					return
				default:
				}
				token := fmt.Sprint(i, ".", j)
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				o := do(ctx, c, 0, "ECHO", token)
				cancel()
				switch {
				case o.err != nil:
					l.failed.Add(1)
				case o.reply != token:
					l.wrong.Add(1)
				default:
					l.ok.Add(1)
				}
				for late := int64(o.after - limit); ; {
					old := l.latest.Load()
					if late <= old || l.latest.CompareAndSwap(old, late) {
						break
					}
				}
				if _, failed := errors.AsType[*ConnError](o.err); failed {
					return
				}
			}
		})
	}
	return l
}

// watchMachine sees how late timers fire on a machine that has other tests to run.
func (l *load) watchMachine() {
	const step = 10 * ms
	t := time.NewTimer(step)
	defer t.Stop()
	for {
		due := time.Now().Add(step)
		t.Reset(step)
		select {
		case <-t.C:
			l.machine = max(l.machine, time.Since(due))
		case <-l.stop:
			return
		}
	}
}

// await waits until the load has had more calls end well, or badly.
func (l *load) await(t *testing.T, n *atomic.Int64, more int64) {
	t.Helper()
	tick := time.NewTicker(ms)
	defer tick.Stop()
	timeout := time.After(10 * time.Second)
	for goal := n.Load() + more; n.Load() < goal; {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatal("the load stands still")
		}
	}
}

func (l *load) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	l.wg.Wait()
	if n := l.wrong.Load(); n > 0 {
		t.Errorf("%d wrong replies", n)
	}
	// Two busy cores under the race detector, and what they do to timers.
	if late, allowed := time.Duration(l.latest.Load()), 100*ms+4*l.machine; late > allowed {
		t.Errorf("the latest call returned %v past its deadline, more than %v", late, allowed)
	}
}

// C1, E4: a server that stands still, by any means, delays nobody; once it goes on, so does the conn.
func TestE4_ServerStandsStill(t *testing.T) {
	s := evenkeeltest.StartServer(t, evenkeeltest.WithTLS())
	ctx := t.Context()
	for _, tc := range []struct {
		name   string
		freeze func() error
		thaw   func() error
	}{
		{"SIGSTOP", s.Stop, s.Cont},
		{"CLIENT PAUSE", func() error { _, err := s.Do(ctx, "CLIENT", "PAUSE", "300"); return err }, func() error { _, err := s.Do(ctx, "CLIENT", "UNPAUSE"); return err }},
		{"DEBUG SLEEP", func() error { go s.Do(ctx, "DEBUG", "SLEEP", "0.3"); return nil }, func() error { return nil }}, //nolint:errcheck // its reply is nobody's business
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprint(tc.name, " TLS ", secure), func(t *testing.T) {
				cfg := &Config{Addr: s.Addr(), Conn: Options{StallTimeout: 100 * ms}}
				if secure {
					cfg.Addr, cfg.TLS = s.TLSAddr(), s.TLSConfig()
				}
				stalls := make(chan bool, 100)
				cfg.Conn.OnStall = func(c *Conn) { stalls <- c.Stalled() }
				c := mustDial(t, cfg)
				l := startLoad(c, 50, 20*ms)
				l.await(t, &l.ok, 200)
				if err := tc.freeze(); err != nil {
					t.Fatal(err)
				}
				l.await(t, &l.failed, 200)
				select {
				case <-stalls:
				case <-time.After(5 * time.Second):
					t.Error("no stall was told")
				}
				if err := tc.thaw(); err != nil {
					t.Fatal(err)
				}
				l.await(t, &l.ok, 200)
				l.end(t)
				drained := make(chan error, 1)
				c.AfterDrain(func(err error) { drained <- err })
				if err := <-drained; err != nil {
					t.Error(err)
				}
				if n := c.Owed(); n != 0 {
					t.Errorf("%d replies owed", n)
				}
			})
		}
	}
}

func TestClientKillUnderLoad(t *testing.T) {
	s := evenkeeltest.StartServer(t)
	c := mustDial(t, &Config{Addr: s.Addr()})
	l := startLoad(c, 50, time.Second)
	l.await(t, &l.ok, 500)
	if _, err := s.Do(t.Context(), "CLIENT", "KILL", "ID", strconv.FormatInt(c.Info().ID, 10)); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	l.end(t)
	if err := c.Err(); err == nil || l.failed.Load() == 0 {
		t.Errorf("the conn failed with %v, %d calls with it", err, l.failed.Load())
	}
}

// A read deadline that an earlier call left behind is no news of the peer; its FIN is.
func TestProbeOfASocket(t *testing.T) {
	s := evenkeeltest.StartServer(t, evenkeeltest.WithTLS())
	slow := mustDial(t, &Config{Addr: s.Addr()})
	for _, secure := range []bool{false, true} {
		cfg := &Config{Addr: s.Addr(), Conn: Options{ProbeAfter: ms}}
		if secure {
			cfg.Addr, cfg.TLS = s.TLSAddr(), s.TLSConfig()
		}
		c := mustDial(t, cfg)
		for range 3 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			if o := do(ctx, c, 0, "ECHO", "x"); o.err != nil {
				t.Fatal(o.err)
			}
			cancel()
			// Long enough for the read deadline to pass: the server itself counts the time.
			ask(t, slow, "BLPOP", "nothing", "0.02")
			if !c.Alive() {
				t.Fatalf("TLS %v: taken for dead: %v", secure, c.Err())
			}
		}
		if _, err := s.Do(t.Context(), "CLIENT", "KILL", "ID", strconv.FormatInt(c.Info().ID, 10)); err != nil {
			t.Fatal(err)
		}
		ask(t, slow, "BLPOP", "nothing", "0.02")
		o := do(context.Background(), c, time.Second, "ECHO", "x")
		if failed, ok := errors.AsType[*ConnError](o.err); !ok || failed.MayHaveRun {
			t.Errorf("TLS %v: %v, want a conn found dead before anything was sent", secure, o.err)
		}
	}
}

// TLS that the caller's own dialer makes must not meet a write deadline.
func TestTLSFromTheDialer(t *testing.T) {
	s := evenkeeltest.StartServer(t, evenkeeltest.WithTLS())
	c := mustDial(t, &Config{Addr: s.TLSAddr(), Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (&tls.Dialer{Config: s.TLSConfig()}).DialContext(ctx, network, addr)
	}})
	if _, ok := c.tr.(*blockingTransport); !ok {
		t.Errorf("a TLS conn is written to as %T", c.tr)
	}
	value := strings.Repeat("x", 1<<20)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if got := ask(t, c, "ECHO", value); got != value {
				t.Errorf("%d bytes came back", len(got))
			}
		})
	}
	wg.Wait()
}

// A Call whose time was up goes back to the pool without a signal, whether its caller read or followed.
func TestTimeoutLeavesNoSignal(t *testing.T) {
	f := evenkeeltest.StartFake(t, answerAfter)
	c := mustDial(t, &Config{Addr: f.Addr()})
	for range 5 {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if o := do(context.Background(), c, 10*ms, "DELAYED", "20ms", "x"); !errors.Is(o.err, ErrTimeout) {
					t.Errorf("%q, %v", o.reply, o.err)
				}
			})
		}
		wg.Wait()
		checkCalls(t)
		drained := make(chan error, 1)
		c.AfterDrain(func(err error) { drained <- err })
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
	}
}

// Calls are recycled between real and virtual time; their channels are not.
func TestCallsInAndOutOfBubbles(t *testing.T) {
	f := evenkeeltest.StartFake(t, nil)
	c := mustDial(t, &Config{Addr: f.Addr()})
	for range 3 {
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 10 {
					ask(t, c, "ECHO", "x")
				}
			})
		}
		wg.Wait()
		inBubble(t, setup{handler: answerAfter}, func(r *rig) {
			for range 16 {
				r.wg.Go(func() {
					if o := do(r.within(time.Hour), r.c, 0, "DELAYED", "1ms", "x"); o.err != nil {
						r.t.Error(o.err)
					}
				})
			}
			r.wg.Wait()
		})
	}
}
