package evenkeel_test

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

// TestB1_ServerFreezes: several clients keep calling a server that is frozen, and it finds no pile of conns when it wakes up.
func TestB1_ServerFreezes(t *testing.T) {
	t.Parallel()
	const (
		clients = 3
		size    = 5
		freeze  = 3 * time.Second
	)
	for name, options := range map[string][]evenkeeltest.Option{
		"backlog of 511": nil,
		"backlog of 4":   {evenkeeltest.WithConfig("tcp-backlog", "4")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := evenkeeltest.StartServer(t, options...)
			var (
				rigs  []*rig
				loads []*load
			)
			for range clients {
				r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) {
					cfg.Addr = server.Addr() // the relay would accept in the server's stead
					cfg.Size, cfg.Overflow, cfg.MaxBlocking = size, 0, 0
					cfg.StallTimeout, cfg.DialTimeout = 300*time.Millisecond, 500*time.Millisecond
				})
				rigs = append(rigs, r)
				loads = append(loads, startLoad(t, 20, 200*time.Millisecond, 10*time.Millisecond, func(ctx context.Context, _ int) error {
					return r.DoExclusive(ctx, "GET", "key").Err()
				}))
			}
			for _, l := range loads {
				eventually(t, 5*time.Second, "the load is under way", func() bool { return l.ok.Load() > 500 })
			}
			for _, r := range rigs {
				r.dials.reset()
			}
			y := startYardstick()
			if err := server.Stop(); err != nil {
				t.Fatal(err)
			}
			pass(freeze)
			if err := server.Cont(); err != nil {
				t.Fatal(err)
			}
			for _, l := range loads {
				n := l.ok.Load()
				eventually(t, 1500*time.Millisecond, "calls succeed again", func() bool { return l.ok.Load() > n+20 })
			}
			most := int64(0)
			eventually(t, 5*time.Second, "looks at the server", func() bool {
				n, err := server.InfoInt(t.Context(), "clients", "connected_clients")
				if err != nil {
					t.Error(err)
				}
				most = max(most, n)
				return loads[0].ok.Load() > loads[0].failed.Load()/2
			})
			if limit := int64(clients*(size+3) + 1); most > limit { // and the one that asks
				t.Errorf("the server had %d clients, want at most %d", most, limit)
			}
			allowed := y.allowance()
			for i, r := range rigs {
				loads[i].stop()
				underWay, started, _ := r.dials.reset()
				if started > 2*size || underWay > 2 {
					t.Errorf("client %d: %d dials, %d at once", i, started, underWay)
				}
				if p999, latest := loads[i].lateness(); p999 > allowed {
					t.Errorf("client %d: calls returned up to %v late, %v at p99.9", i, latest, p999)
				}
			}
		})
	}
}

// TestB2_MaxclientsReached: the limit is named, attempts are paced, and the first free place is found.
func TestB2_MaxclientsReached(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "tls"}[encrypted]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const outage = 3 * time.Second
			options := []evenkeeltest.Option{evenkeeltest.WithMaxClients(10)}
			if encrypted {
				options = append(options, evenkeeltest.WithTLS())
			}
			server := evenkeeltest.StartServer(t, options...)
			squatters := occupy(t, server.Addr())
			before := rejected(t, server)
			addr := server.Addr()
			if encrypted {
				addr = server.TLSAddr()
			}
			r := newRig(t, addr, func(cfg *evenkeel.Config) {
				cfg.Size, cfg.Overflow, cfg.MaxBlocking = 4, 0, 0
				if encrypted {
					cfg.TLS = server.TLSConfig().Clone()
					cfg.TLS.ServerName = "127.0.0.1"
				}
			})
			l := startLoad(t, 20, time.Second, 10*time.Millisecond, func(ctx context.Context, _ int) error { return r.DoExclusive(ctx, "PING").Err() })
			pass(outage)
			if n := rejected(t, server) - before; n < 2 || n > 5*int64(outage/time.Second) {
				t.Errorf("%d refusals in %v", n, outage)
			}
			err := r.DoExclusive(t.Context(), "PING").Err()
			want := "maxclients"
			if !errors.Is(err, evenkeel.ErrEndpointDown) || !strings.Contains(err.Error(), want) || evenkeel.MayHaveRun(err) {
				t.Errorf("the error says %q, want it to name %s", err, want)
			}
			if !encrypted && !strings.Contains(err.Error(), "max number of clients") {
				t.Errorf("the error %q does not repeat what the server said", err)
			}
			ok := l.ok.Load()
			for _, nc := range squatters {
				_ = nc.Close()
			}
			eventually(t, 2*time.Second, "served once there is room", func() bool { return l.ok.Load() > ok })
		})
	}
}

// occupy opens conns until the server takes no more.
func occupy(t *testing.T, addr string) []net.Conn {
	t.Helper()
	var conns []net.Conn
	for {
		var d net.Dialer
		nc, err := d.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		if _, err := nc.Write([]byte("PING\r\n")); err != nil {
			return conns
		}
		line, err := bufio.NewReader(nc).ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "+PONG") {
			return conns
		}
		conns = append(conns, nc)
	}
}

func rejected(t *testing.T, server *evenkeeltest.Server) int64 {
	t.Helper()
	n, err := server.InfoInt(t.Context(), "stats", "rejected_connections")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestB5_NameOrPortGone: many clients of one process do not try in lockstep, do not flood the log, and come back by themselves.
func TestB5_NameOrPortGone(t *testing.T) {
	for name, refuse := range map[string]error{
		"name": &net.DNSError{Err: "no such host", Name: "redis.example", IsNotFound: true},
		"port": nil, // by the network
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { nameOrPortGone(t, refuse) })
		})
	}
}

func nameOrPortGone(t *testing.T, gone error) {
	t.Helper()
	const (
		clients = 20
		outage  = 15 * time.Second
	)
	network, fake, cfg := newVirtual(t, "redis.example:6379")
	var (
		down     atomic.Bool
		lines    atomic.Int64
		attempts = &dialMeter{}
		all      []*evenkeel.Client
	)
	for range clients {
		cfg.Logger = slog.New(countingHandler{&lines})
		cfg.Governor = evenkeel.NewGovernor(0)
		cfg.Dialer = func(ctx context.Context, netw, addr string) (net.Conn, error) {
			if down.Load() {
				attempts.note()
				if gone != nil {
					return nil, gone
				}
			}
			return network.Dial(ctx, netw, addr)
		}
		c, err := evenkeel.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	down.Store(true)
	if gone == nil {
		network.SetDialFault(simnet.RefuseDials)
	}
	fake.ResetConns()
	begin := time.Now()
	for time.Since(begin) < outage {
		for _, c := range all {
			if err := c.Ping(t.Context()); err == nil {
				t.Error("a call succeeded while the server was gone")
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	down.Store(false)
	network.SetDialFault(simnet.NoDialFault)
	for i, c := range all {
		start := time.Now()
		for c.Ping(t.Context()) != nil {
			if time.Since(begin) > outage+10*time.Second {
				t.Fatalf("client %d is not served %v after the end", i, time.Since(start))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if late := time.Since(begin) - outage; late > 1500*time.Millisecond {
		t.Errorf("all clients are served again after %v", late)
	}
	moments := attempts.moments()
	if len(moments) < 4*clients || len(moments) > 5*clients*int(outage/time.Second) {
		t.Errorf("%d attempts by %d clients in %v", len(moments), clients, outage)
	}
	// The first attempts answer a loss that all clients see at the same moment; from then on chance keeps them apart.
	later := moments[clients:]
	for i, from := range later {
		n := 0
		for _, m := range later[i:] {
			if m.Sub(from) <= 50*time.Millisecond {
				n++
			}
		}
		if n > len(later)/4 {
			t.Errorf("%d of %d attempts within 50 ms, %v after the begin", n, len(later), from.Sub(begin))
			break
		}
	}
	if n := lines.Load(); n >= 200 {
		t.Errorf("%d log lines", n)
	}
	for _, c := range all {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// countingHandler counts log lines.
type countingHandler struct{ n *atomic.Int64 }

func (countingHandler) Enabled(context.Context, slog.Level) bool    { return true }
func (h countingHandler) Handle(context.Context, slog.Record) error { h.n.Add(1); return nil }
func (h countingHandler) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h countingHandler) WithGroup(string) slog.Handler             { return h }

// TestB7_DialOutlivesItsCaller: set-up takes four times as long as callers can wait, and still the pool fills.
func TestB7_DialOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	const size = 5
	server := evenkeeltest.StartServer(t)
	r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) { cfg.Size, cfg.Overflow, cfg.MaxBlocking = size, 0, 0 })
	r.relay.SetupDelay(200 * time.Millisecond)
	l := startLoad(t, 5, 50*time.Millisecond, 100*time.Millisecond, func(ctx context.Context, _ int) error { return r.DoExclusive(ctx, "PING").Err() })
	eventually(t, time.Second, "a conn is open and calls succeed", func() bool { return l.ok.Load() > 0 })
	pass(500 * time.Millisecond)
	ok, failed := l.ok.Load(), l.failed.Load()
	pass(1500 * time.Millisecond)
	ok, failed = l.ok.Load()-ok, l.failed.Load()-failed
	if ok < 20 || float64(failed) > 0.1*float64(ok) { // 1 %, on a machine that keeps deadlines of 50 ms itself
		t.Errorf("%d calls succeeded, %d failed", ok, failed)
	}
	if n := r.relay.Stats().Accepted; n > 2*size {
		t.Errorf("%d dials for a pool of %d", n, size)
	}
}
