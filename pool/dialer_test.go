package pool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/governor"
)

// A short spike that the open conns can serve costs one more conn, since only one dial
// is on its way when the last caller has been served.
func TestHikariSpike(t *testing.T) {
	for name, size := range map[string][2]int{"up to size": {50, 0}, "in overflow": {5, 45}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				p := mustNew(t, w.config(size[0], size[1]))
				for range 5 {
					fillTogether(t, p, 5)
				}
				w.set(func(w *world) { w.dialTime = 150 * time.Millisecond })
				start := time.Now()
				var wg sync.WaitGroup
				for range 50 {
					wg.Go(func() {
						l := mustAcquire(t, p)
						<-time.After(2 * time.Millisecond)
						mustRelease(t, l)
					})
				}
				wg.Wait()
				if d := time.Since(start); d > 25*time.Millisecond {
					t.Errorf("the last caller was served after %v", d)
				}
				time.Sleep(time.Second)
				if s := p.Stat(); s.Open > 6 || s.Dials > 6 {
					t.Errorf("%d conns after %d dials", s.Open, s.Dials)
				}
				shut(t, p, w)
			})
		})
	}
}

// fillTogether has n callers hold a conn each at the same time.
func fillTogether(t *testing.T, p *Pool[*conn], n int) {
	t.Helper()
	var all, one sync.WaitGroup
	all.Add(n)
	for range n {
		one.Go(func() {
			l := mustAcquire(t, p)
			all.Done()
			all.Wait()
			mustRelease(t, l)
		})
	}
	one.Wait()
}

// Case B7: the set-up of a conn takes longer than any caller waits. Dials outlive their
// callers, so that the pool fills all the same.
func TestB7DialOutlivesShortDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.dialTime = 200 * time.Millisecond
		p := mustNew(t, w.config(5, 0))
		var okLate, failedLate atomic.Int64
		var wg sync.WaitGroup
		for i := range 500 { // 50 a second for 10 s
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
				defer cancel()
				l, err := p.Acquire(ctx)
				if err == nil {
					<-time.After(time.Millisecond)
					mustRelease(t, l)
				}
				switch {
				case i < 100:
				case err == nil:
					okLate.Add(1)
				default:
					failedLate.Add(1)
				}
			})
			time.Sleep(20 * time.Millisecond)
		}
		wg.Wait()
		dials, _, _, _ := w.counts()
		if failedLate.Load() > 0 || okLate.Load() != 400 || dials > 10 {
			t.Errorf("after 2 s: %d ok, %d failed; %d dials", okLate.Load(), failedLate.Load(), dials)
		}
		shut(t, p, w)
	})
}

// Case D2: however many dials have failed, the next one is tried when its time comes.
func TestD2FailedDialsNeverBreakThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.dialErr = errRefused
		cfg := w.config(2, 0)
		cfg.Endpoint = governor.New(governor.Config{}).Endpoint(governor.EndpointConfig{BackoffCap: time.Second})
		p := mustNew(t, cfg)
		for range 1000 { // 10 s, far more failures than the pool has places
			start := time.Now()
			_, err := p.Acquire(context.Background())
			var down *EndpointDownError
			if !errors.As(err, &down) || !errors.Is(err, ErrEndpointDown) || !errors.Is(err, errRefused) {
				t.Fatalf("Acquire: %v", err)
			}
			if time.Since(start) != 0 {
				t.Fatalf("a refused caller waited %v", time.Since(start))
			}
			time.Sleep(10 * time.Millisecond)
		}
		dials, _, _, _ := w.counts()
		if dials < 10 || dials > 30 {
			t.Errorf("%d attempts in 10 s with a backoff of up to 1 s", dials)
		}
		w.set(func(w *world) { w.dialErr = nil })
		up := time.Now()
		for {
			l, err := p.Acquire(context.Background())
			if err == nil {
				cfg.Endpoint.Succeeded()
				mustRelease(t, l)
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if d := time.Since(up); d > 1010*time.Millisecond {
			t.Errorf("first success %v after the server came back", d)
		}
		fillTogether(t, p, 2)
		shut(t, p, w)
	})
}

// With conns leased out, callers wait for them although the endpoint refuses more.
func TestRefusalWithOpenConnsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := mustNew(t, w.config(2, 0))
		held := mustAcquire(t, p)
		w.set(func(w *world) { w.dialErr = errRefused })
		got := make(chan error, 1)
		go func() {
			l, err := p.Acquire(context.Background())
			if err == nil {
				err = l.Release()
			}
			got <- err
		}()
		time.Sleep(50 * time.Millisecond)
		if s := p.Stat(); s.Waiting != 1 || !errors.Is(s.LastDialError, errRefused) {
			t.Fatalf("the caller should wait: %+v", s)
		}
		mustRelease(t, held)
		if err := <-got; err != nil {
			t.Error(err)
		}

		// The last conn breaks while somebody waits: nothing can come back any more.
		held = mustAcquire(t, p)
		go func() {
			_, err := p.Acquire(context.Background())
			got <- err
		}()
		synctest.Wait()
		if err := held.Discard(ReasonError); err != nil {
			t.Error(err)
		}
		if err := <-got; !errors.Is(err, ErrEndpointDown) || !errors.Is(err, errRefused) {
			t.Errorf("Acquire: %v", err)
		}
		shut(t, p, w)
	})
}

// A pool of size 0 lives on its overflow.
func TestF61SizeZeroWithOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(0, 5)
		cfg.OverflowDrain = 10 * time.Second
		cfg.Endpoint = ungoverned()
		p := mustNew(t, cfg)
		fillTogether(t, p, 5)
		if s := p.Stat(); s.Open != 5 || s.Idle != 5 {
			t.Errorf("all conns should stay for reuse: %+v", s)
		}
		dials, _, _, _ := w.counts()
		fillTogether(t, p, 5)
		if again, _, _, _ := w.counts(); again != dials {
			t.Errorf("%d dials for a second burst", again-dials)
		}
		time.Sleep(20 * time.Second)
		if s := p.Stat(); s.Open != 0 || s.Closed(ReasonDrain) != 5 {
			t.Errorf("all should have drained: %+v", s)
		}
		shut(t, p, w)
	})
}

// The creation limit: never more open than size + burst + elapsed/interval.
func TestF63CreationLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.dialTime = time.Millisecond
		const size, burst, interval = 10, 10, 100 * time.Millisecond
		cfg := w.config(size, 250)
		cfg.Endpoint = governor.New(governor.Config{}).Endpoint(governor.EndpointConfig{CreateBurst: burst, CreateInterval: interval})
		p := mustNew(t, cfg)
		ctx, stop := context.WithTimeout(context.Background(), 6*time.Second)
		defer stop()
		var wg sync.WaitGroup
		for range 250 {
			wg.Go(func() {
				for ctx.Err() == nil {
					l, err := p.Acquire(ctx)
					if err != nil {
						return
					}
					<-time.After(3 * time.Millisecond)
					mustRelease(t, l)
				}
			})
		}
		start := time.Now()
		time.Sleep(interval / 2) // between the tokens
		for range 60 {
			limit := size + burst + int(time.Since(start)/interval)
			if s := p.Stat(); s.Open+s.Dialing+s.Closing > limit {
				t.Errorf("%d conns after %v, limit %d", s.Open+s.Dialing+s.Closing, time.Since(start), limit)
			}
			time.Sleep(interval)
		}
		wg.Wait()
		if s := p.Stat(); s.Open < 60 {
			t.Errorf("%d open after 6 s: the limit should be used", s.Open)
		}
		shut(t, p, w)
	})
}

func TestMinIdleConnsAreKeptWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(10, 0)
		cfg.MinIdleConns = 3
		cfg.MaxConnIdleTime = time.Minute
		p := mustNew(t, cfg)
		synctest.Wait()
		if s := p.Stat(); s.Idle != 3 {
			t.Fatalf("%d idle at the start", s.Idle)
		}
		a, b := mustAcquire(t, p), mustAcquire(t, p)
		time.Sleep(time.Second) // the housekeeper sees to it, at its next tick
		if s := p.Stat(); s.Idle != 3 || s.Open != 5 {
			t.Errorf("%d idle of %d while 2 are leased", s.Idle, s.Open)
		}
		mustRelease(t, a)
		mustRelease(t, b)
		time.Sleep(10*time.Minute + 20*time.Second) // not on a multiple of the idle time
		if s := p.Stat(); s.Idle != 3 || s.Closed(ReasonIdle) < 20 {
			t.Errorf("idle conns should be renewed: %d idle, %d closed", s.Idle, s.Closed(ReasonIdle))
		}
		shut(t, p, w)
	})
}

// While the endpoint is down, keeping conns warm obeys the same backoff.
func TestMinIdleConnsObeyTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.dialErr = errRefused
		cfg := w.config(10, 0)
		cfg.MinIdleConns = 10
		p := mustNew(t, cfg)
		time.Sleep(5 * time.Minute)
		dials, _, _, maxDialing := w.counts()
		if dials < 20 || dials > 80 || maxDialing > 2 {
			t.Errorf("%d attempts in 5 min, %d at once", dials, maxDialing)
		}
		shut(t, p, w)
	})
}

// A caller that left while its dial was queued causes none.
func TestQueuedDialThatNobodyNeedsIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.dialTime = 100 * time.Millisecond
		p := mustNew(t, w.config(10, 0))
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := p.Acquire(ctx); !errors.Is(err, ErrAcquireTimeout) {
					t.Errorf("Acquire: %v", err)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		if dials, _, _, _ := w.counts(); dials != 2 {
			t.Errorf("%d dials, 2 had been started when the callers left", dials)
		}
		shut(t, p, w)
	})
}

// The pool tells its endpoint what it lost, whichever way it came to know of it, and not
// what was closed on purpose.
func TestEndpointHearsOfLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(4, 0)
		cfg.PingInterval = time.Minute
		cfg.Ping = (*conn).alive
		cfg.Endpoint = ungoverned()
		p := mustNew(t, cfg)
		lost := func(want uint64, why string) {
			t.Helper()
			if got := cfg.Endpoint.State().Lost; got != want {
				t.Errorf("after %s: %d lost, want %d", why, got, want)
			}
			cfg.Endpoint.Succeeded()
		}
		for _, c := range []struct {
			reason Reason
			lost   uint64
		}{{ReasonCanceled, 0}, {ReasonError, 1}, {ReasonStall, 2}, {ReasonState, 2}, {ReasonUnknown, 3}} {
			l := mustAcquire(t, p)
			cfg.Endpoint.Succeeded()
			if err := l.Discard(c.reason); err != nil {
				t.Error(err)
			}
			lost(c.lost, c.reason.String())
		}
		fill(t, p, 1)
		cfg.Endpoint.Succeeded()
		w.look().conns[5].die()
		time.Sleep(2 * time.Minute)
		lost(4, "a ping")
		fill(t, p, 1)
		cfg.Endpoint.Succeeded()
		w.look().conns[6].die()
		time.Sleep(10 * time.Second)
		fill(t, p, 1)
		lost(5, "a check")
		shut(t, p, w)
	})
}
