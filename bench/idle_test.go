package bench_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

func smallIdle() bench.IdleOptions {
	o := bench.DefaultIdleOptions()
	o.Conns, o.Step, o.Dialers, o.Pings = 120, 50, 4, 20
	o.Settle, o.Hold = 0, 100*time.Millisecond
	return o
}

func TestIdle(t *testing.T) {
	noLeaks(t)
	r, err := bench.Idle(t.Context(), smallIdle())
	if err != nil {
		t.Fatal(err)
	}
	if r.Opened != 120 || r.Refused != 0 || r.Failed != 0 || r.OpenPerS <= 0 || r.DialP50Us <= 0 || r.DialP99Us < r.DialP50Us {
		t.Errorf("%+v", r)
	}
	var conns []int
	for i, s := range r.Steps {
		conns = append(conns, s.Conns)
		if s.UsedBytes <= 0 || s.RSSBytes <= 0 || s.ClientsBytes == nil || s.PingP50Us <= 0 || s.PingP99Us < s.PingP50Us || (i > 0) != (s.OpenPerS > 0) {
			t.Errorf("step %+v", s)
		}
	}
	if len(conns) != 4 || conns[0] != 0 || conns[1] != 50 || conns[2] != 100 || conns[3] != 120 {
		t.Errorf("looked at %v connections", conns)
	}
	if r.Without == nil || r.With == nil || r.With.CPUShare == nil || r.With.PingP50Us <= 0 {
		t.Fatalf("at rest: %+v, %+v", r.Without, r.With)
	}
	// A connection takes at least the server's struct for it, and no server's takes a MiB.
	if p := r.PerConn; p == nil || p.ListBytes == nil || *p.ListBytes < 500 || *p.ListBytes > 1<<20 || p.UsedBytes < 500 || p.HereBytes <= 0 || p.Goroutines > 0.5 {
		t.Errorf("per connection: %+v", p)
	}
}

func TestIdleDoesNotFit(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithMaxClients(60))
	o := smallIdle()
	o.Target, o.Disturb = bench.Target{Network: "tcp", Address: s.Addr()}, true
	r, err := bench.Idle(t.Context(), o)
	full, ok := errors.AsType[*bench.CapacityError](err)
	if r != nil || !ok || full.Conns != 120 || full.Room < 50 || full.Room > 58 || !contains(full.Error(), "maxclients") {
		t.Errorf("%+v, %v", r, err)
	}
	// Others may come meanwhile.
	o.Conns = 50
	o.Progress = func(e bench.Event) {
		if e.Phase == "at rest, without them" && e.Elapsed == 0 {
			for range 20 {
				conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr())
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(func() { _ = conn.Close() })
			}
		}
	}
	r, err = bench.Idle(t.Context(), o)
	if err != nil || r.Refused == 0 || r.Failed != 0 || r.Opened < 30 || r.Opened > 38 || !contains(r.FirstError, "max number of clients") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestIdleCancelled(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := smallIdle()
	o.Target, o.Disturb = bench.Target{Network: "tcp", Address: s.Addr()}, true
	o.Progress = func(e bench.Event) {
		if e.Phase == "opening" {
			cancel()
		}
	}
	r, err := bench.Idle(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || r.Opened != 50 || len(r.Steps) < 2 || r.PerConn != nil {
		t.Fatalf("%+v, %v", r, err)
	}
}

// idle is a result as the field has seen it.
func idle() *bench.IdleResult {
	o := bench.DefaultIdleOptions()
	r := bench.NewIdleResult(env(bench.ServerPrivate), o)
	for n := int64(0); n <= 5_000; n += 1_000 {
		step := bench.IdleStep{
			Conns: int(n), ClientsBytes: new(1_928 * (n + 1)), UsedBytes: 1<<20 + n*38_138, RSSBytes: 29<<20 + n*5_400,
			PingP50Us: 40 + float64(n)/1_000, PingP99Us: 90 + float64(n)/100,
		}
		if n > 0 {
			step.OpenPerS = 5_513 - float64(n)/100
		}
		r.Steps = append(r.Steps, step)
	}
	r.Opened, r.OpenS, r.OpenPerS, r.DialP50Us, r.DialP99Us = 5_000, 0.907, 5_513, 2_600, 6_100
	r.Without = &bench.IdleRest{CPUShare: new(0.0041), PingP50Us: 41, PingP99Us: 92}
	r.With = &bench.IdleRest{CPUShare: new(0.0079), PingP50Us: 43, PingP99Us: 118}
	r.PerConn = &bench.IdlePerConn{ListBytes: new(int64(1_928)), ClientsBytes: new(1_928.0), UsedBytes: 2_100, RSSBytes: 5_400, HereBytes: 6_300}
	return r
}

func TestIdleSentences(t *testing.T) {
	r := idle()
	r.Refused, r.Failed, r.FirstError = 7, 2, "no route"
	r.PerConn.RSSBytes = -10
	lead := r.Page().Lead
	for _, want := range []string{"turned 7 away", "2 failed, the first with: no route", "did not have to grow"} {
		if !contains(lead, want) {
			t.Errorf("%q is not in %q", want, lead)
		}
	}
}
