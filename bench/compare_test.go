package bench_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

func smallComparison() bench.CompareOptions {
	o := bench.DefaultCompareOptions()
	o.A, o.B = smallRun(0), smallRun(0)
	o.A.Conns, o.B.Conns = 2, 2
	o.Pairs, o.Slot = 8, 50*time.Millisecond
	return o
}

// A script that counts to 300,000 takes milliseconds, and a PING microseconds.
func TestCompareFindsTheSlower(t *testing.T) {
	noLeaks(t)
	o := smallComparison()
	o.A.Workload = workload.Workload{Commands: []workload.Command{{Command: "PING"}}}
	o.B.Workload = workload.Workload{Commands: []workload.Command{{Command: `EVAL "for i = 1, 300000 do end" 0`}}}
	r, err := bench.Compare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Noise) != 8 || len(r.Pairs) != 8 || r.A.Turns != 24 || r.B.Turns != 8 || r.A.Failed+r.B.Failed != 0 || len(r.Metrics) != 3 {
		t.Fatalf("%d and %d pairs, %d and %d turns, %d and %d failed", len(r.Noise), len(r.Pairs), r.A.Turns, r.B.Turns, r.A.Failed, r.B.Failed)
	}
	for _, m := range r.Metrics {
		if m.Verdict == bench.VerdictBetter || m.Name == "throughput" && m.Verdict != bench.VerdictWorse {
			t.Errorf("%+v", m)
		}
	}
	redraw(t, r)
}

// Two loads of one given server: their keys are written once and removed in the end.
func TestCompareLoadsOfOneServer(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	o := smallComparison()
	o.A.Target, o.B.Target, o.A.Disturb, o.B.Disturb = given(s), given(s), true, true
	o.B.Depth = 4
	r, err := bench.Compare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Differences) != 1 || !strings.Contains(r.Differences[0], "depth 1") || !strings.Contains(r.Differences[0], "depth 4") {
		t.Errorf("%q", r.Differences)
	}
	if r.A.Failed+r.B.Failed > 0 {
		t.Errorf("%v and %v failed", r.A.Errors, r.B.Errors)
	}
	noKeys(t, s)
}

func TestCompareTwoServers(t *testing.T) {
	noLeaks(t)
	o := smallComparison()
	o.A.ServerConfig, o.B.ServerConfig = []string{"hz 20"}, []string{`save ""`, "hz 30"}
	r, err := bench.Compare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Pairs) != 8 || len(r.Differences) != 1 || !strings.HasPrefix(r.Differences[0], "started with: ") {
		t.Errorf("%d pairs, %q", len(r.Pairs), r.Differences)
	}
}

func TestCompareCancelled(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := smallComparison()
	o.Progress = func(e bench.Event) {
		if strings.HasPrefix(e.Status, "B: ") {
			cancel()
		}
	}
	r, err := bench.Compare(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || len(r.Noise) != 8 || len(r.Pairs) == 8 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCompareRefuses(t *testing.T) {
	other := bench.Target{Network: "tcp", Address: "127.0.0.1:1"}
	for option, spoil := range map[string]func(*bench.CompareOptions){
		"pairs":         func(o *bench.CompareOptions) { o.Pairs = 7 },
		"slot":          func(o *bench.CompareOptions) { o.Slot = time.Millisecond },
		"rate":          func(o *bench.CompareOptions) { o.B.Rate = 5 },
		"depth":         func(o *bench.CompareOptions) { o.B.Depth = 0 },
		"load":          func(o *bench.CompareOptions) { o.A.Journal = "x" },
		"key-prefix":    func(o *bench.CompareOptions) { o.B.Workload.Values.Size.Bytes = 7 },
		"server-config": func(o *bench.CompareOptions) { o.B.ServerConfig = []string{"hz"} },
		"server-program": func(o *bench.CompareOptions) {
			o.A.Target, o.B.Target, o.B.ServerProgram = other, other, "redis-server"
		},
	} {
		o := smallComparison()
		spoil(&o)
		_, err := bench.Compare(t.Context(), o)
		if blamed, ok := errors.AsType[*bench.OptionError](err); !ok || blamed.Option != option {
			t.Errorf("%v, want an OptionError for %s", err, option)
		}
	}
}
