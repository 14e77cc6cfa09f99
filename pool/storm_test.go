package pool

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// storm is 40 callers on 20 conns with 50 ms each, over and over. Each call takes ten
// milliseconds, and fails when the server has closed its conn.
type storm struct {
	mu     sync.Mutex
	ok     []time.Duration // when calls succeeded
	failed []time.Duration
	late   time.Duration // the latest return past a deadline
}

func (s *storm) run(ctx context.Context, t *testing.T, w *world, p *Pool[*conn]) {
	t.Helper()
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			for ctx.Err() == nil {
				s.call(ctx, t, w, p)
			}
		})
	}
	wg.Wait()
}

func (s *storm) call(parent context.Context, t *testing.T, w *world, p *Pool[*conn]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(parent, 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	l, err := p.Acquire(ctx)
	if err == nil {
		<-time.After(10 * time.Millisecond)
		if l.Value().alive() {
			p.ep.Succeeded()
			err = l.Release()
		} else {
			err = errors.Join(errors.New("connection reset"), l.Discard(ReasonError))
		}
	}
	end := time.Now()
	if over, _ := parent.Deadline(); !end.Before(over) {
		return
	}
	s.mu.Lock()
	s.late = max(s.late, end.Sub(start)-60*time.Millisecond)
	if err == nil {
		s.ok = append(s.ok, end.Sub(w.start))
	} else {
		s.failed = append(s.failed, end.Sub(w.start))
	}
	s.mu.Unlock()
	if err != nil { // whoever is refused at once does not spin
		<-time.After(10 * time.Millisecond)
	}
	if errors.Is(err, ErrReleased) || errors.Is(err, ErrQueueFull) || errors.Is(err, ErrShed) {
		t.Error(err)
	}
}

// rate returns the calls that succeeded per millisecond between two times.
func (s *storm) rate(from, to time.Duration) float64 {
	n := 0
	for _, at := range s.ok {
		if at >= from && at < to {
			n++
		}
	}
	return float64(n) / float64(to-from) * float64(time.Millisecond)
}

// dialsBetween returns how many dials the server saw begin between two times.
func (w *world) dialsBetween(from, to time.Duration) int {
	n := 0
	for _, at := range w.look().dials {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

func TestStorms(t *testing.T) {
	const fault, healed, over = time.Second, 4 * time.Second, 15 * time.Second
	for name, c := range map[string]struct {
		begin, end func(*world)
		maxDials   int // between the fault and its end
		maxDialing int
	}{
		"all conns killed": {
			begin: func(w *world) {
				for _, c := range w.conns {
					c.die()
				}
			},
			end:      func(*world) {},
			maxDials: 20, maxDialing: 2,
		},
		"server gone": {
			begin: func(w *world) {
				w.dialErr = errRefused
				for _, c := range w.conns {
					c.die()
				}
			},
			end:      func(w *world) { w.dialErr = nil },
			maxDials: 12, maxDialing: 2,
		},
		"server accepts and is silent": {
			begin: func(w *world) {
				w.dialTime = time.Hour
				for _, c := range w.conns {
					c.die()
				}
			},
			end:      func(w *world) { w.dialTime = time.Millisecond },
			maxDials: 3, maxDialing: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.dialTime = time.Millisecond
				p := mustNew(t, w.config(20, 0))
				ctx, stop := context.WithTimeout(t.Context(), over)
				defer stop()
				var s storm
				var wg sync.WaitGroup
				wg.Go(func() { s.run(ctx, t, w, p) })
				time.Sleep(fault)
				w.set(c.begin)
				time.Sleep(healed - fault)
				w.set(c.end)
				wg.Wait()

				_, _, maxSeen, maxDialing := w.counts()
				if maxSeen > 20 || maxDialing > c.maxDialing {
					t.Errorf("the server saw %d conns, %d dials at once", maxSeen, maxDialing)
				}
				if n := w.dialsBetween(fault, healed); n > c.maxDials {
					t.Errorf("%d dials during the fault, at most %d", n, c.maxDials)
				}
				if s.late > time.Millisecond {
					t.Errorf("a call came back %v late", s.late)
				}
				before, after := s.rate(fault/2, fault), s.rate(over-time.Second, over)
				if before < 1.8 || after < 0.9*before {
					t.Errorf("%.2f calls a ms before, %.2f long after", before, after)
				}
				if last := slices.Max(append(s.failed, 0)); last > healed+10*time.Second {
					t.Errorf("calls still failed at %v", last)
				}
				shut(t, p, w)
			})
		})
	}
}
