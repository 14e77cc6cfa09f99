package pool

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Case D4: Close with leases, waiters and a dial in flight, twice at the same time.
func TestD4CloseWithWorkInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.closeTime = 10 * time.Millisecond
		cfg := w.config(5, 5)
		p := mustNew(t, cfg)
		fillTogether(t, p, 5)
		var ok, closed atomic.Int64
		var wg sync.WaitGroup
		w.set(func(w *world) { w.dialTime = time.Hour })
		for range 100 {
			wg.Go(func() {
				l, err := p.Acquire(t.Context())
				switch {
				case err == nil:
					ok.Add(1)
					<-time.After(300 * time.Millisecond)
					mustRelease(t, l)
				case errors.Is(err, ErrClosed):
					closed.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		if s := p.Stat(); s.Dialing == 0 || s.Waiting == 0 || s.InUse != 5 {
			t.Fatalf("not the situation wanted: %+v", s)
		}
		start := time.Now()
		for range 2 {
			wg.Go(func() {
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if d := time.Since(start); d != 260*time.Millisecond {
					t.Errorf("Close took %v", d)
				}
			})
		}
		wg.Wait()
		if ok.Load() != 5 || closed.Load() != 95 {
			t.Errorf("%d served, %d told that the pool is closed", ok.Load(), closed.Load())
		}
		shut(t, p, w)
		if n := w.look().closes[ReasonShutdown]; n != 5 {
			t.Errorf("closes: %v", w.look().closes)
		}
	})
}

// With a drain deadline, leases still out are cut, once.
func TestD4CloseForced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := mustNew(t, w.config(2, 0))
		held := mustAcquire(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err := p.Close(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("Close: %v after %v", err, time.Since(start))
		}
		synctest.Wait()
		if c := held.Value(); !c.closed || c.reason != ReasonShutdown {
			t.Error("the leased conn was not closed")
		}
		if err := held.Release(); !errors.Is(err, ErrReleased) {
			t.Errorf("Release after the cut: %v", err)
		}
		shut(t, p, w)
	})
}

// A dial that ignores its context and lands after Close closes its own conn.
func TestDialLandsAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.deaf, w.dialTime = true, time.Second
		p := mustNew(t, w.config(1, 0))
		go func() {
			if _, err := p.Acquire(t.Context()); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}()
		synctest.Wait()
		now, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Close(now); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v", err)
		}
		shut(t, p, w)
		if n := w.look().closes[ReasonDialLate]; n != 1 {
			t.Errorf("closes: %v", w.look().closes)
		}
	})
}

func TestLeakIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(2, 0)
		cfg.LeakThreshold = 5 * time.Second
		var mu sync.Mutex
		var stacks []string
		cfg.OnLeak = func(stack string, held time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			if held < 5*time.Second || held > 6*time.Second {
				t.Errorf("held for %v", held)
			}
			stacks = append(stacks, stack)
		}
		p := mustNew(t, cfg)
		slow, quick := mustAcquire(t, p), mustAcquire(t, p)
		time.Sleep(4 * time.Second)
		mustRelease(t, quick)
		time.Sleep(time.Minute)
		mu.Lock()
		if len(stacks) != 1 || !strings.Contains(stacks[0], "TestLeakIsReported") {
			t.Errorf("reports: %q", stacks)
		}
		mu.Unlock()
		if s := p.Stat(); s.Leaks != 1 || s.InUse != 1 {
			t.Errorf("%+v", s)
		}
		mustRelease(t, slow) // late is not lost
		shut(t, p, w)
	})
}

// A lease that nobody holds any more is reclaimed, outside of virtual time since the
// garbage collector keeps none.
func TestLostLeaseIsReclaimed(t *testing.T) {
	w := newWorld()
	cfg := w.config(1, 0)
	cfg.LeakThreshold = time.Hour
	reported := make(chan string, 1)
	cfg.OnLeak = func(stack string, _ time.Duration) { reported <- stack }
	p := mustNew(t, cfg)
	loseLease(t, p)
	got := make(chan Lease[*conn], 1)
	go func() { got <- mustAcquire(t, p) }()
	for {
		runtime.GC()
		select {
		case l := <-got:
			mustRelease(t, l)
			if stack := <-reported; !strings.Contains(stack, "loseLease") {
				t.Errorf("stack: %s", stack)
			}
			if s := p.Stat(); s.Leaks != 1 || s.Closed(ReasonLeak) != 1 {
				t.Errorf("%+v", s)
			}
			shut(t, p, w)
			return
		default:
			runtime.Gosched()
		}
	}
}

//go:noinline
func loseLease(t *testing.T, p *Pool[*conn]) {
	t.Helper()
	if l := mustAcquire(t, p); l.Value() == nil {
		t.Error("no conn")
	}
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.dialTime = time.Millisecond
		cfg := w.config(1, 0)
		counts := map[string]int{}
		var mu sync.Mutex
		cfg.OnEvent = func(ev Event) {
			mu.Lock()
			defer mu.Unlock()
			counts[ev.Kind.String()]++
		}
		p := mustNew(t, cfg)
		l := mustAcquire(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := p.Acquire(ctx); err == nil {
			t.Error("two leases of one conn")
		}
		if err := l.Discard(ReasonCanceled); err != nil {
			t.Error(err)
		}
		w.set(func(w *world) { w.dialErr = errRefused })
		if _, err := p.Acquire(t.Context()); err == nil {
			t.Error("no error")
		}
		p.Clear()
		shut(t, p, w)
		mu.Lock()
		defer mu.Unlock()
		for kind, want := range map[string]int{"opened": 1, "dial-failed": 1, "closed": 1, "waited": 1, "refused": 2, "cleared": 1} {
			if counts[kind] != want {
				t.Errorf("%d %q events, want %d", counts[kind], kind, want)
			}
		}
	})
}

func TestConfigErrorsNameTheirField(t *testing.T) {
	good := newWorld().config(1, 1)
	for field, spoil := range map[string]func(*Config[*conn]){
		"Dial":            func(c *Config[*conn]) { c.Dial = nil },
		"Close":           func(c *Config[*conn]) { c.Close = nil },
		"Size":            func(c *Config[*conn]) { c.Size = -1 },
		"Overflow":        func(c *Config[*conn]) { c.Overflow = -1 },
		"both 0":          func(c *Config[*conn]) { c.Size, c.Overflow = 0, 0 },
		"MinIdleConns":    func(c *Config[*conn]) { c.MinIdleConns = 2 },
		"MaxWaiters":      func(c *Config[*conn]) { c.MaxWaiters = -1 },
		"OverflowDrain":   func(c *Config[*conn]) { c.OverflowDrain = -1 },
		"MaxConnIdleTime": func(c *Config[*conn]) { c.MaxConnIdleTime = -1 },
		"MaxConnLifetime": func(c *Config[*conn]) { c.MaxConnLifetime = -1 },
		"ValidateAfter":   func(c *Config[*conn]) { c.ValidateAfter = -1 },
		"PingInterval":    func(c *Config[*conn]) { c.PingInterval = time.Second },
		"AcquireTimeout":  func(c *Config[*conn]) { c.AcquireTimeout = -1 },
		"DialTimeout":     func(c *Config[*conn]) { c.DialTimeout = -1 },
		"LeakThreshold":   func(c *Config[*conn]) { c.LeakThreshold = -1 },
		"CoDel.Target":    func(c *Config[*conn]) { c.CoDel.Target = -1 },
		"CoDel.Interval":  func(c *Config[*conn]) { c.CoDel.Interval = -1 },
	} {
		cfg := good
		spoil(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestReasonLabels(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Reasons() {
		if seen[r.String()] || r.String() == "" {
			t.Errorf("label %q of reason %d", r, r)
		}
		seen[r.String()] = true
	}
	if Reason(200).String() != "unknown" || EventKind(200).String() != "unknown" {
		t.Error("out of range")
	}
	var s Stat
	if s.Closed(Reason(200)) != 0 {
		t.Error("out of range")
	}
}
