package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// smallChurn is a load that a busy machine can bear, and that outgrows its pool.
func smallChurn(modes ...bench.ChurnMode) bench.ChurnOptions {
	o := bench.DefaultChurnOptions()
	o.Modes = modes
	o.Size, o.Overflow, o.Parallel = 3, 30, 30
	o.Duration, o.DrainWatch = 300*time.Millisecond, 0
	return o
}

func TestChurnModes(t *testing.T) {
	noLeaks(t)
	o := smallChurn(bench.AllChurnModes()...)
	o.CreateBurst, o.CreateInterval = 2, 50*time.Millisecond
	var phases, notes []string
	o.Progress = func(e bench.Event) {
		if e.Phase != "" && !slices.Contains(phases, e.Phase) {
			phases = append(phases, e.Phase)
		}
		if e.Note != "" {
			notes = append(notes, e.Note)
		}
	}
	r, err := bench.Churn(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Interrupted || r.Environment.ServerKind != bench.ServerPrivate || r.Environment.ServerVersion == "" || len(r.Modes) != 4 {
		t.Fatalf("interrupted %v, environment %+v, %d modes", r.Interrupted, r.Environment, len(r.Modes))
	}
	if want := []string{"close-surplus", "overflow", "limited", "shared"}; !slices.Equal(phases, want) {
		t.Errorf("phases %q, want %q", phases, want)
	}
	if len(notes) != 4 { // one for each mode's only second
		t.Errorf("notes %q", notes)
	}
	for _, m := range r.Modes {
		sum := m.Summary
		if len(m.Seconds) != 1 || m.Seconds[0].T < 0.3 || sum.Errors != 0 || sum.PingsPerS <= 0 || sum.P50Us <= 0 || sum.P99Us < sum.P50Us {
			t.Errorf("%s: %+v, %+v", m.Mode, m.Seconds, sum)
		}
		if sec := m.Seconds[0]; sec.Open < 1 || sec.Available < 0 || sec.Available > sec.Open || sec.Pings <= 0 || sec.MeanUs <= 0 || sum.NewTotal != sec.New {
			t.Errorf("%s: %+v, %+v", m.Mode, sec, sum)
		}
		switch m.Mode {
		case bench.ChurnCloseSurplus:
			// Surplus conns are thrown away, so more are made than are ever open.
			if sum.NewTotal <= sum.OpenMaxServer {
				t.Errorf("%s: %d new, %d open", m.Mode, sum.NewTotal, sum.OpenMaxServer)
			}
		case bench.ChurnOverflow:
			if sum.NewTotal > o.Parallel || sum.OpenMaxServer > o.MaxConns() || sum.OpenMaxServer <= o.Size {
				t.Errorf("%s: %d new, %d open", m.Mode, sum.NewTotal, sum.OpenMaxServer)
			}
		case bench.ChurnLimited:
			if limit := o.Size + o.CreateBurst + int(m.Seconds[0].T/o.CreateInterval.Seconds()); sum.OpenMaxServer > limit || sum.NewTotal > limit {
				t.Errorf("%s: %d new, %d open after %v s, limit %d", m.Mode, sum.NewTotal, sum.OpenMaxServer, m.Seconds[0].T, limit)
			}
		case bench.ChurnShared:
			if sum.OpenMaxServer > 2 || sum.NewTotal > 2 {
				t.Errorf("%s: %d new, %d open", m.Mode, sum.NewTotal, sum.OpenMaxServer)
			}
		}
	}
}

func TestChurnDrain(t *testing.T) {
	noLeaks(t)
	o := smallChurn(bench.ChurnOverflow)
	o.DrainWatch = time.Second
	r, err := bench.Churn(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	drain := r.Modes[0].Drain
	if len(drain) < 3 {
		t.Fatalf("drain seen %d times", len(drain))
	}
	first, last := drain[0], drain[len(drain)-1]
	if first.Open <= o.Size || last.Open >= first.Open || last.Open < o.Size {
		t.Errorf("drain from %+v to %+v", first, last)
	}
	for i, d := range drain {
		if d.Expected < float64(o.Size) || d.Expected > float64(first.Open) || (i > 0 && (d.Open > drain[i-1].Open || d.T <= drain[i-1].T)) {
			t.Errorf("drain %+v after %+v", d, drain[max(i-1, 0)])
		}
	}
}

func TestChurnCancelled(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := smallChurn(bench.ChurnOverflow, bench.ChurnShared)
	o.Duration = time.Minute
	o.Progress = func(e bench.Event) {
		if e.Elapsed > 100*time.Millisecond {
			cancel()
		}
	}
	r, err := bench.Churn(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(r.Modes) != 1 || len(r.Modes[0].Seconds) != 1 || r.Modes[0].Summary.PingsPerS <= 0 || r.Modes[0].Summary.Errors != 0 {
		t.Errorf("what there was until then: %+v", r.Modes)
	}

	before, cancelled := context.WithCancel(t.Context())
	cancelled()
	if r, err := bench.Churn(before, o); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before it began: %+v, %v", r, err)
	}
}

func TestGivenServerHasManners(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithReplicas(1), evenkeeltest.WithMaxClients(50), evenkeeltest.WithPassword("s3cret-word"),
		evenkeeltest.WithConfig("maxmemory", "3mb"))
	target := bench.Target{Network: "tcp", Address: s.Addr(), Password: s.Password()}
	replica := target
	replica.Address = s.Replicas()[0].Addr()
	for _, c := range []struct {
		name   string
		change func(*bench.ChurnOptions)
		want   string
	}{
		{"replica", func(o *bench.ChurnOptions) { o.Target = replica }, "it is a replica"},
		{"conns", func(o *bench.ChurnOptions) { o.Parallel = 100 }, "of its maxclients of 50"},
		{"memory", func(o *bench.ChurnOptions) { o.Parallel = 100 }, "of its maxmemory of 3 MiB"},
	} {
		o := smallChurn(bench.ChurnCloseSurplus)
		o.Target = target
		c.change(&o)
		o.Progress = func(e bench.Event) {
			if e.Phase != "" {
				t.Errorf("%s: %s was run", c.name, e.Phase)
			}
		}
		r, err := bench.Churn(t.Context(), o)
		refused, ok := errors.AsType[*bench.RefusedError](err)
		if r != nil || !ok || !contains(refused.Error(), c.want) || !contains(refused.Error(), "--disturb") {
			t.Errorf("%s: %+v, %v; want %q", c.name, r, err, c.want)
		}
	}

	o := smallChurn(bench.ChurnShared)
	o.Target, o.Duration, o.Disturb = replica, 100*time.Millisecond, true
	r, err := bench.Churn(t.Context(), o)
	if err != nil || len(r.Modes) != 1 || r.Modes[0].Summary.Errors != 0 {
		t.Fatalf("with --disturb: %+v, %v", r, err)
	}
	doc, err := json.Marshal(r)
	if err != nil || contains(string(doc), "s3cret-word") || !contains(string(doc), `"server_kind":"given"`) || r.Environment.Address != "redis://"+replica.Address {
		t.Errorf("%v: %s", err, doc)
	}
}

func TestUnusableServer(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithPassword("s3cret-word"))
	o := smallChurn(bench.ChurnShared)
	o.Target = bench.Target{Network: "tcp", Address: s.Addr(), Password: "wrong-word"}
	r, err := bench.Churn(t.Context(), o)
	if r != nil || err == nil || !contains(err.Error(), "WRONGPASS") || contains(err.Error(), "wrong-word") {
		t.Errorf("%+v, %v", r, err)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if r, err := bench.Churn(t.Context(), o); r != nil || err == nil || !contains(err.Error(), "refused") {
		t.Errorf("%+v, %v", r, err)
	}
}
