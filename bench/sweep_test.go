package bench_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

func TestDepthSweep(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	o := bench.DefaultDepthOptions()
	o.Target, o.Disturb = bench.Target{Network: "tcp", Address: s.Addr()}, true
	o.Depths, o.Conns, o.Duration = []int{1, 16, 65_536}, 2, 100*time.Millisecond
	notes := 0
	o.Progress = func(e bench.Event) {
		if e.Note != "" && contains(e.Note, "too short") {
			notes++
		}
	}
	r, err := bench.Depth(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Points) != 3 {
		t.Fatalf("%+v", r.Points)
	}
	short := 0
	for i, p := range r.Points {
		if p.Depth != o.Depths[i] || p.Commands <= 0 || p.Commands%int64(p.Depth) != 0 || p.OpsPerS <= 0 || p.Errors != 0 || p.P50Us > p.P99Us {
			t.Errorf("%+v", p)
		}
		if want := p.Commands < int64(10*o.Conns*p.Depth); p.Short != want {
			t.Errorf("short %v: %+v", p.Short, p)
		}
		if p.Short {
			short++
		}
	}
	if !r.Points[2].Short || notes != short {
		t.Errorf("%d short, %d warned of", short, notes)
	}
	noKeys(t, s)
}

func TestPoolSizeSweep(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	o := bench.DefaultPoolSizeOptions()
	o.Target, o.Disturb = bench.Target{Network: "tcp", Address: s.Addr()}, true
	o.Sizes, o.Callers, o.Duration = []int{1, 4}, 20, 100*time.Millisecond
	r, err := bench.PoolSize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Points) != 2 || r.KneeSize == 0 || r.RecommendedSize < r.KneeSize || r.BestSize < r.RecommendedSize {
		t.Fatalf("%+v", r)
	}
	for i, p := range r.Points {
		if p.Size != o.Sizes[i] || p.OpsPerS <= 0 || p.Errors != 0 || p.P50Us <= 0 || p.P99Us < p.P50Us {
			t.Errorf("%+v", p)
		}
	}
	noKeys(t, s)
}

func TestSweepsCancelled(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	target := bench.Target{Network: "tcp", Address: s.Addr()}
	for name, sweep := range map[string]func(context.Context, bench.Progress) (points int, interrupted bool, err error){
		"depth": func(ctx context.Context, p bench.Progress) (int, bool, error) {
			o := bench.DefaultDepthOptions()
			o.Target, o.Disturb, o.Duration, o.Progress = target, true, time.Minute, p
			r, err := bench.Depth(ctx, o)
			return len(r.Points), r.Interrupted, err
		},
		"pool size": func(ctx context.Context, p bench.Progress) (int, bool, error) {
			o := bench.DefaultPoolSizeOptions()
			o.Target, o.Disturb, o.Duration, o.Progress = target, true, time.Minute, p
			r, err := bench.PoolSize(ctx, o)
			return len(r.Points), r.Interrupted, err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		points, interrupted, err := sweep(ctx, func(e bench.Event) {
			if e.Elapsed > 0 {
				cancel()
			}
		})
		if points != 1 || !interrupted || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %d points, interrupted %v, %v", name, points, interrupted, err)
		}
		cancel()
	}
	noKeys(t, s)
}
