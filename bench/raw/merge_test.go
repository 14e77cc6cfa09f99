package raw

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Two runs at once, joined, are one of both: in the result and in the intervals.
func TestRunsAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ok, warm int64
		joiner := NewJoiner(2, func(i *Interval) {
			if i.Open != 6 {
				t.Errorf("%d conns, want those of both", i.Open)
			}
			if i.Warmup {
				warm += i.OK()
			} else {
				ok += i.OK()
			}
		})
		results := make([]*Result, 2)
		var group sync.WaitGroup
		for n := range results {
			group.Go(func() {
				cfg := calling(&service{takes: constant(time.Duration(n+1) * time.Millisecond)}, 2)
				cfg.Rate, cfg.Warmup, cfg.Duration, cfg.Interval = 100*float64(n+1), 100*time.Millisecond, time.Second, 70*time.Millisecond
				cfg.OnInterval = func(i *Interval) { joiner.Add(n, i) }
				var err error
				if results[n], err = Run(t.Context(), cfg); err != nil {
					t.Error(err)
				}
				joiner.End(n)
			})
		}
		group.Wait()
		sum := Merge(results)
		if sum.OK() != 300 || sum.Scheduled != 300 || sum.Elapsed != time.Second || len(sum.Workers) != 2 || ok != 300 || warm != 30 {
			t.Errorf("%d OK of %d in %v, %d and %d in intervals", sum.OK(), sum.Scheduled, sum.Elapsed, ok, warm)
		}
		checkResult(t, sum)
	})
}

// A run that ends early holds the others up no longer.
func TestJoinerGoesOnWithoutThoseThatEnded(t *testing.T) {
	cfg := calling(&service{takes: constant(0)}, 1)
	interval := func(at time.Duration, warm bool) *Interval {
		return &Interval{Counts: *newCounts(&cfg), Begin: at, Elapsed: time.Second, Warmup: warm, Open: 1}
	}
	var opens []int
	var warms []bool
	j := NewJoiner(2, func(i *Interval) { opens, warms = append(opens, i.Open), append(warms, i.Warmup) })
	j.Add(0, interval(0, true))
	j.Add(0, interval(time.Second, true)) // one more than the other has
	j.Add(0, interval(2*time.Second, false))
	j.Add(1, interval(0, true))
	j.Add(1, interval(time.Second, false))
	if len(opens) != 3 || opens[0] != 2 || opens[1] != 1 || opens[2] != 2 || !warms[1] || warms[2] {
		t.Errorf("%v, warm-up %v", opens, warms)
	}
	j.Add(0, interval(3*time.Second, false))
	if len(opens) != 3 {
		t.Error("an interval was handed on that one run had not given")
	}
	j.End(1)
	j.Add(0, interval(4*time.Second, false))
	j.End(0)
	if len(opens) != 5 {
		t.Errorf("%d intervals, want 5", len(opens))
	}
}

func TestReadyComesBeforeTheRun(t *testing.T) {
	for name, portable := range engines {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, ok)
			cfg := config(f)
			cfg.Portable, cfg.Conns, cfg.Requests = portable, 3, 30
			cfg.Ready = func(context.Context) error {
				if f.requests.Load() != 0 {
					t.Error("requests came before")
				}
				return nil
			}
			mustRun(t, cfg)
			stop := errors.New("not now")
			cfg.Ready = func(context.Context) error { return stop }
			if r, err := Run(t.Context(), cfg); r != nil || !errors.Is(err, stop) || f.requests.Load() != 30 {
				t.Errorf("%+v, %v after %d requests", r, err, f.requests.Load())
			}
		})
	}
}
