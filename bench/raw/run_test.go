package raw

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// Exactly as many requests are sent and counted as were asked for, each once and in the
// stream's order, however they are spread.
func TestRequestsAreExact(t *testing.T) {
	for name, portable := range engines {
		t.Run(name, func(t *testing.T) {
			for _, tc := range []struct {
				workers, conns, depth int
				sliding               bool
				requests              int64
			}{
				{1, 1, 1, false, 1},
				{1, 1, 16, false, 1000},
				{1, 3, 16, true, 1001},
				{2, 5, 1, false, 777},
				{3, 7, 256, false, 5000},
				{2, 50, 4, true, 3001},
				{4, 4, 4096, false, 10_000},
				{2, 2, 1, false, 1},
			} {
				t.Run(fmt.Sprintf("%d/%d/%d", tc.workers, tc.conns, tc.depth), func(t *testing.T) {
					var mu sync.Mutex
					seen := map[string]int{}
					f := startFake(t, func(_, _ int, args []string) ([]byte, bool) {
						mu.Lock()
						seen[args[1]]++
						mu.Unlock()
						return aValue, true
					})
					cfg := config(f)
					cfg.Portable = portable
					cfg.Workers, cfg.Conns, cfg.Depth, cfg.Sliding, cfg.Requests = tc.workers, tc.conns, tc.depth, tc.sliding, tc.requests
					r := mustRun(t, cfg)
					if r.OK() != tc.requests || r.Failed() != 0 || r.Unanswered != 0 || f.requests.Load() != tc.requests {
						t.Errorf("%d OK, %d failed, %d unanswered; the server had %d; want %d", r.OK(), r.Failed(), r.Unanswered, f.requests.Load(), tc.requests)
					}
					mu.Lock()
					defer mu.Unlock()
					if len(seen) != int(tc.requests) {
						t.Errorf("%d different requests of %d", len(seen), tc.requests)
					}
					if c := r.Classes[0]; c.Hits != tc.requests || c.BytesIn != tc.requests*11 {
						t.Errorf("%d hits, %d bytes", c.Hits, c.BytesIn)
					}
					if r.Opened != int64(tc.conns) || r.Lost != 0 || int(f.conns.Load()) != tc.conns {
						t.Errorf("opened %d, lost %d, the server had %d", r.Opened, r.Lost, f.conns.Load())
					}
				})
			}
		})
	}
}

func TestADurationEndsByItself(t *testing.T) {
	for name, portable := range engines {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, ok)
			cfg := config(f)
			cfg.Portable, cfg.Conns, cfg.Workers, cfg.Duration, cfg.Warmup = portable, 4, 2, 150*time.Millisecond, 50*time.Millisecond
			r := mustRun(t, cfg)
			if r.OK() == 0 || r.OK() >= f.requests.Load() {
				t.Errorf("%d counted of %d with the warm-up", r.OK(), f.requests.Load())
			}
			if r.Elapsed < cfg.Duration {
				t.Errorf("it took %v", r.Elapsed)
			}
		})
	}
}

func TestOpenLoopKeepsItsSchedule(t *testing.T) {
	for name, portable := range engines {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, ok)
			cfg := config(f)
			cfg.Portable, cfg.Conns, cfg.Workers, cfg.Rate, cfg.Duration = portable, 8, 2, 2000, 300*time.Millisecond
			cfg.Warmup = 50 * time.Millisecond // no part of what was scheduled
			r := mustRun(t, cfg)
			if r.Scheduled != 600 {
				t.Errorf("%d arrivals in 0.3 s at 2,000 per second", r.Scheduled)
			}
			if r.Busy.Count() != r.Scheduled-r.Backlog || r.Late.Count() != r.Busy.Count() {
				t.Errorf("%d and %d lags of %d requests", r.Busy.Count(), r.Late.Count(), r.Scheduled)
			}
		})
	}
}
