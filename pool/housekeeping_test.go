package pool

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// After a burst of K conns above Size they leave evenly: about K·t/OverflowDrain by t.
func TestDrainCurve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, burst, drain = 10, 100, 100 * time.Second
		w := newWorld()
		cfg := w.config(size, burst)
		cfg.OverflowDrain = drain
		cfg.Endpoint = ungoverned()
		p := mustNew(t, cfg)
		fillTogether(t, p, size+burst)
		start := time.Now()
		for range 12 {
			time.Sleep(10 * time.Second)
			gone := size + burst - p.Stat().Open
			want := min(burst*float64(time.Since(start))/float64(drain), burst)
			if math.Abs(float64(gone)-want) > 12 {
				t.Errorf("%d of %d gone after %v, want about %.0f", gone, burst, time.Since(start), want)
			}
		}
		if s := p.Stat(); s.Open != size || s.Closed(ReasonDrain) != burst {
			t.Errorf("%d open, %d drained", s.Open, s.Closed(ReasonDrain))
		}
		// Even, not in lumps: no second has more than a few.
		perSecond := map[time.Duration]int{}
		for _, at := range w.look().closedAt {
			perSecond[at.Truncate(time.Second)]++
			if perSecond[at.Truncate(time.Second)] > 4 {
				t.Errorf("%d conns left within second %v", perSecond[at.Truncate(time.Second)], at.Truncate(time.Second))
			}
		}
		shut(t, p, w)
	})
}

// Conns that a steady load needs do not drain, although they are idle most of the time.
func TestDrainSparesWhatIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(2, 18)
		cfg.OverflowDrain = 20 * time.Second
		cfg.Endpoint = ungoverned()
		p := mustNew(t, cfg)
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for ctx.Err() == nil {
					l, err := p.Acquire(ctx)
					if err != nil {
						return
					}
					<-time.After(70 * time.Millisecond)
					mustRelease(t, l)
					<-time.After(130 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		if dials, _, _, _ := w.counts(); dials != 20 {
			t.Errorf("%d dials for a load that uses 20 conns five times a second", dials)
		}
		shut(t, p, w)
	})
}

// The conn idle for longest leaves first, and the one used last is used next.
func TestIdleConnsAreAStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(3, 0)
		cfg.MaxConnIdleTime = 4 * time.Minute
		p := mustNew(t, cfg)
		leases := []Lease[*conn]{mustAcquire(t, p), mustAcquire(t, p), mustAcquire(t, p)}
		for _, l := range leases {
			mustRelease(t, l)
			time.Sleep(time.Second)
		}
		for range 5 * 60 {
			l := mustAcquire(t, p)
			if l.Value() != leases[2].Value() {
				t.Fatalf("conn %d leased, the last released was %d", l.Value().id, leases[2].Value().id)
			}
			mustRelease(t, l)
			time.Sleep(time.Second)
		}
		if s := p.Stat(); s.Open != 1 || s.Closed(ReasonIdle) != 2 {
			t.Errorf("unused conns should have left: %+v", s)
		}
		shut(t, p, w)
	})
}

func TestIdleTimeIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(1, 0)
		cfg.MaxConnIdleTime = 4 * time.Minute
		p := mustNew(t, cfg)
		fill(t, p, 1)
		start := time.Since(w.start)
		time.Sleep(time.Hour)
		if idle := w.look().closedAt[0] - start; idle < 4*time.Minute-300*time.Millisecond || idle > 4*time.Minute+300*time.Millisecond {
			t.Errorf("closed after %v idle", idle)
		}
		shut(t, p, w)
	})
}

// Lifetimes are spread over the last tenth, drawn once, and one conn at a time retires.
func TestLifetimeJitter(t *testing.T) {
	for _, life := range []time.Duration{time.Second, 30 * time.Minute, 24 * time.Hour} {
		t.Run(life.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 400
				w := newWorld()
				cfg := w.config(n, 0)
				cfg.MaxConnLifetime = life
				cfg.ValidateAfter = time.Millisecond * 40 // a fine coarse clock
				cfg.Endpoint = ungoverned()
				p := mustNew(t, cfg)
				fillTogether(t, p, n)
				time.Sleep(life + time.Duration(n)*50*time.Millisecond)
				seen := w.look()
				if len(seen.closedAt) != n || seen.closes[ReasonLifetime] != n {
					t.Fatalf("%d of %d conns retired: %v", len(seen.closedAt), n, seen.closes)
				}
				slices.Sort(seen.closedAt)
				if first := seen.closedAt[0]; first < life*9/10 || first > life*92/100+time.Second {
					t.Errorf("the first retired after %v of %v", first, life)
				}
				if life == time.Second {
					shut(t, p, w) // one at a time: the pace hides the jitter
					return
				}
				var bins [10]int
				for _, at := range seen.closedAt {
					bins[min(int(10*(at-life*9/10)/(life/10)), 9)]++
				}
				chi := 0.0
				for _, got := range bins {
					d := float64(got) - n/10
					chi += d * d / (n / 10)
				}
				if chi > 33.7 { // 9 degrees of freedom, p = 0.0001
					t.Errorf("lifetimes are not uniform: chi² = %.1f, bins %v", chi, bins)
				}
				shut(t, p, w)
			})
		})
	}
}

func TestOneRetirementAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.closeTime = 5 * time.Second
		cfg := w.config(10, 0)
		cfg.MaxConnLifetime = time.Minute
		p := mustNew(t, cfg)
		fillTogether(t, p, 10)
		deadline := time.Now().Add(2 * time.Minute)
		for time.Now().Before(deadline) {
			if s := p.Stat(); s.Closing > 1 {
				t.Fatalf("%d conns retire at once", s.Closing)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if s := p.Stat(); s.Closed(ReasonLifetime) < 10 {
			t.Errorf("%d retired", s.Closed(ReasonLifetime))
		}
		shut(t, p, w)
	})
}

// A busy conn retires as well, when it is released.
func TestBusyConnRetires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(1, 0)
		cfg.MaxConnLifetime = time.Minute
		p := mustNew(t, cfg)
		for start := time.Now(); time.Since(start) < 5*time.Minute; {
			l := mustAcquire(t, p)
			time.Sleep(10 * time.Millisecond)
			mustRelease(t, l)
		}
		if s := p.Stat(); s.Closed(ReasonLifetime) < 5 || s.Opened > 7 {
			t.Errorf("%d retired of %d in 5 lifetimes", s.Closed(ReasonLifetime), s.Opened)
		}
		shut(t, p, w)
	})
}

// Pings use what is open and never open anything; a dead conn is closed.
func TestF62PingNeverOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(10, 0)
		cfg.PingInterval = 30 * time.Second
		cfg.Ping = func(c *conn) bool {
			w.set(func(w *world) { w.pings++ })
			if err := c.use(); err != nil {
				t.Error(err)
			}
			c.unuse()
			return c.alive()
		}
		p := mustNew(t, cfg)
		fillTogether(t, p, 4)
		dials, _, _, _ := w.counts()
		time.Sleep(10 * time.Minute)
		if after, _, _, _ := w.counts(); after != dials {
			t.Errorf("%d dials by pings", after-dials)
		}
		perConn := float64(w.look().pings) / 4
		if perConn < 16 || perConn > 24 {
			t.Errorf("%.1f pings per conn in 20 intervals", perConn)
		}
		w.look().conns[0].die()
		time.Sleep(time.Minute)
		if s := p.Stat(); s.Open != 3 || s.Closed(ReasonValidation) != 1 {
			t.Errorf("the dead conn should be gone: %+v", s)
		}
		if after, _, _, _ := w.counts(); after != dials {
			t.Errorf("%d dials for a conn that a ping found dead", after-dials)
		}
		shut(t, p, w)
	})
}

// Only a conn that was idle for long enough is checked, and callers never see a dead one.
func TestValidationOnlyWhenItPays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := mustNew(t, w.config(3, 0))
		fillTogether(t, p, 3)
		for range 100 {
			fill(t, p, 1)
			time.Sleep(10 * time.Millisecond)
		}
		if n := w.look().checks; n != 0 {
			t.Errorf("%d checks of a busy conn", n)
		}
		time.Sleep(1100 * time.Millisecond)
		fill(t, p, 1)
		if n := w.look().checks; n != 1 {
			t.Errorf("%d checks after 1.1 s", n)
		}
		time.Sleep(time.Minute)
		for _, c := range w.look().conns {
			c.die()
		}
		l := mustAcquire(t, p)
		if !l.Value().alive() {
			t.Error("a dead conn was leased")
		}
		mustRelease(t, l)
		synctest.Wait()
		if s := p.Stat(); s.Closed(ReasonValidation) != 3 || s.Open != 1 {
			t.Errorf("%+v", s)
		}
		shut(t, p, w)
	})
}

// An idle pool has no goroutine and its timer sleeps until something is due.
func TestIdlePoolRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(5, 0)
		p := mustNew(t, cfg)
		fillTogether(t, p, 5)
		time.Sleep(time.Second)
		p.mu.Lock()
		at, slow := p.timerAt, p.slow
		p.mu.Unlock()
		if at != 0 || slow != slowUnwound {
			t.Errorf("timer armed for %v, state %b", time.Duration(at), slow)
		}
		shut(t, p, w)
	})
}

func TestResize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(8, 0)
		cfg.Endpoint = ungoverned()
		p := mustNew(t, cfg)
		fillTogether(t, p, 8)
		held := []Lease[*conn]{mustAcquire(t, p), mustAcquire(t, p), mustAcquire(t, p)}
		if err := p.Resize(2, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := p.Stat(); s.Open != 3 || s.Max != 2 {
			t.Errorf("idle conns should go at once: %+v", s)
		}
		for _, l := range held {
			mustRelease(t, l)
		}
		synctest.Wait()
		if s := p.Stat(); s.Open != 2 || s.Closed(ReasonResize) != 6 {
			t.Errorf("%d open, %d closed", s.Open, s.Closed(ReasonResize))
		}
		if err := p.Resize(0, 0); err == nil {
			t.Error("a pool of nothing")
		}
		if err := p.Resize(4, 2); err != nil {
			t.Fatal(err)
		}
		fillTogether(t, p, 6)
		shut(t, p, w)
		if err := p.Resize(1, 0); err == nil {
			t.Error("Resize of a closed pool")
		}
	})
}

func TestJitterHasNoAtoms(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, time.Second, 30 * time.Minute, 24 * time.Hour} {
		seen := map[int64]int{}
		for range 2000 {
			v := jitter(d, 0.1)
			if v > int64(d) || v < int64(d)-int64(d)/10 {
				t.Fatalf("jitter(%v) = %v", d, time.Duration(v))
			}
			seen[v]++
			if seen[v] > 20 {
				t.Fatalf("jitter(%v) gave %v %d times", d, time.Duration(v), seen[v])
			}
		}
	}
}

// A conn that dies under a waiter's check costs the waiter nothing but the next conn.
func TestCheckDuringClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		gate := make(chan struct{})
		cfg := w.config(1, 0)
		cfg.Check = func(*conn) bool { <-gate; return true }
		p := mustNew(t, cfg)
		fill(t, p, 1)
		time.Sleep(time.Minute)
		got := make(chan error)
		go func() {
			_, err := p.Acquire(context.Background())
			got <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := p.Close(ctx); err == nil {
			t.Error("Close should have been forced")
		}
		close(gate)
		if err := <-got; err == nil {
			t.Error("a lease on a closed pool")
		}
		shut(t, p, w)
	})
}
