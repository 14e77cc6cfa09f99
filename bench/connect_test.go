package bench_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// noLeaks fails the test if it leaves a goroutine behind. It is called first, so that
// it looks after all clean-ups.
func noLeaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// noKeys fails the test if the server has any key left.
func noKeys(t *testing.T, s *evenkeeltest.Server) {
	t.Helper()
	if n, err := s.Do(t.Context(), "DBSIZE"); err != nil || n != int64(0) {
		t.Errorf("%v keys left, %v", n, err)
	}
}

func TestConnectRows(t *testing.T) {
	noLeaks(t)
	o := bench.DefaultConnectOptions()
	o.Requests, o.Callers = 100, 2
	r, err := bench.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	layers := map[string]bool{}
	var rows []string
	for _, row := range r.Rows {
		name := string(row.Mode)
		if row.Auth {
			name += "+auth"
		}
		if row.TLS {
			name += "+tls"
		}
		rows = append(rows, name)
		if row.Commands != 100 || row.Errors != 0 || row.OpsPerS <= 0 || row.WallS <= 0 || row.NewConnectionsServer == nil || row.CPUServerS == nil {
			t.Errorf("%s: %+v", name, row)
			continue
		}
		if row.MinUs <= 0 || row.MinUs > row.P50Us || row.P50Us > row.P95Us || row.P95Us > row.P99Us || row.P99Us > row.MaxUs || row.AvgUs > row.MaxUs {
			t.Errorf("%s: times out of order: %+v", name, row)
		}
		switch conns := *row.NewConnectionsServer; row.Mode {
		case bench.ConnectReuse:
			if conns < 1 || conns > 2 || len(row.LayersUs) != 0 {
				t.Errorf("%s: %d new connections, layers %v", name, conns, row.LayersUs)
			}
		case bench.ConnectReconnect:
			if conns != 100 {
				t.Errorf("%s: %d new connections, want 100", name, conns)
			}
			for layer, us := range row.LayersUs {
				layers[layer] = true
				if us <= 0 {
					t.Errorf("%s: layer %s takes %v", name, layer, us)
				}
			}
			if _, ok := row.LayersUs[bench.LayerAuth]; ok != row.Auth {
				t.Errorf("%s: layers %v", name, row.LayersUs)
			}
		}
	}
	want := "reuse reconnect reuse+auth reconnect+auth reuse+tls reconnect+tls reuse+auth+tls reconnect+auth+tls"
	if got := strings.Join(rows, " "); got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
	for _, layer := range bench.ConnectLayers() {
		if !layers[layer] {
			t.Errorf("layer %s was not measured", layer)
		}
	}
	if ratios := r.Ratios; ratios.ReconnectSlowdown == nil || ratios.ReconnectSlowdownAuth == nil || ratios.ReconnectSlowdownTLS == nil || ratios.ReuseAuth == nil {
		t.Errorf("ratios %+v", ratios)
	}
}

func TestConnectGivenServer(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithPassword("pw"), evenkeeltest.WithTLS(), evenkeeltest.WithUnixSocket())
	for _, target := range []bench.Target{
		{Network: "tcp", Address: s.TLSAddr(), Password: "pw", TLS: s.TLSConfig()},
		{Network: "unix", Address: s.Socket(), Password: "pw", DB: 3},
	} {
		o := bench.DefaultConnectOptions()
		o.Requests, o.Target, o.Handshake, o.Disturb = 100, target, bench.HandshakeSequential, true
		r, err := bench.Connect(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Rows) != 2 || !r.Rows[1].Auth || r.Rows[1].TLS != (target.TLS != nil) || *r.Rows[1].NewConnectionsServer != 100 {
			t.Errorf("%s: %+v", target, r.Rows)
		}
	}
	noKeys(t, s)
}

func TestConnectErrorRepliesAreErrors(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithACLUser("reader", "pw", "+@all", "-set", "~*"))
	o := bench.DefaultConnectOptions()
	o.Target = bench.Target{Network: "tcp", Address: s.Addr(), Username: "reader", Password: "pw"}
	o.Disturb = true
	notes := 0
	o.Progress = func(e bench.Event) {
		if contains(e.Note, "NOPERM") {
			notes++
		}
	}
	r, err := bench.Connect(t.Context(), o)
	// Every other command is a GET, which succeeds, so the first row is whole; the
	// layers of the second begin with a SET.
	if err == nil || !contains(err.Error(), "NOPERM") || len(r.Rows) != 1 || r.Rows[0].Errors == 0 || notes != 1 {
		t.Errorf("%+v, %v, %d notes", r.Rows, err, notes)
	}
}

func TestConnectCancelled(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := bench.DefaultConnectOptions()
	o.Target, o.Disturb = bench.Target{Network: "tcp", Address: s.Addr()}, true
	o.Requests, o.MaxRowTime = 100_000_000, time.Minute
	warmUp := true
	o.Progress = func(e bench.Event) {
		// The warm-up is a load of its own, and ends by itself only after a minute.
		if e.Elapsed > 0 && warmUp {
			warmUp = false
			cancel()
		}
	}
	r, err := bench.Connect(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted {
		t.Fatalf("%+v, %v", r, err)
	}
	noKeys(t, s)
}
