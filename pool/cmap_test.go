package pool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel-go/evenkeel/internal/governor"
)

// The six behaviours that the pool specification of another database's drivers asks
// for, each by a test of its own.

// A waiter takes a returned conn although a dial was started because of it, and the
// conn that the dial gives is kept for the next caller.
func TestCMAP_LateBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := mustNew(t, w.config(2, 0))
		first := mustAcquire(t, p)
		w.set(func(w *world) { w.dialTime = time.Second })

		start := time.Now()
		got := make(chan Lease[*conn])
		go func() { got <- mustAcquire(t, p) }()
		synctest.Wait()
		if s := p.Stat(); s.Dialing != 1 || s.Waiting != 1 {
			t.Fatalf("one dial for the waiter expected: %+v", s)
		}
		time.Sleep(100 * time.Millisecond)
		mustRelease(t, first)
		second := <-got
		if d := time.Since(start); d != 100*time.Millisecond || second.Value().id != 0 {
			t.Fatalf("waiter got conn %d after %v", second.Value().id, d)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s := p.Stat(); s.Idle != 1 || s.Opened != 2 {
			t.Fatalf("the late conn should be idle: %+v", s)
		}
		mustRelease(t, second)
		shut(t, p, w)
	})
}

// At most two dials are under way, and waiters beyond them may still take a conn that
// is returned meanwhile.
func TestCMAP_MaxConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.dialTime = 50 * time.Millisecond
		cfg := w.config(10, 0)
		cfg.Endpoint = ungoverned()
		p := mustNew(t, cfg)
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				l := mustAcquire(t, p)
				<-time.After(10 * time.Millisecond)
				mustRelease(t, l)
			})
		}
		wg.Wait()
		dials, _, maxSeen, maxDialing := w.counts()
		if maxDialing != 2 || maxSeen > 10 || dials > 10 {
			t.Errorf("%d dials, %d at once, %d conns", dials, maxDialing, maxSeen)
		}
		shut(t, p, w)
	})
}

// Those who came first are served first.
func TestCMAP_WaitQueueFairness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := mustNew(t, w.config(1, 0))
		held := mustAcquire(t, p)
		var mu sync.Mutex
		var order, want []int
		var wg sync.WaitGroup
		for i := range 20 {
			want = append(want, i)
			wg.Go(func() {
				l := mustAcquire(t, p)
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				<-time.After(2 * time.Millisecond)
				mustRelease(t, l)
			})
			synctest.Wait()
			time.Sleep(time.Millisecond)
		}
		mustRelease(t, held)
		wg.Wait()
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("order of service (-want +got):\n%s", diff)
		}
		shut(t, p, w)
	})
}

// After Clear no conn made before is leased: idle ones close now, leased ones on
// release, and dials that were under way are discarded even if they ignore their context.
func TestCMAP_EagerClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(4, 0)
		cfg.Endpoint = ungoverned()
		p := mustNew(t, cfg)
		fill(t, p, 2)
		leased := mustAcquire(t, p)
		other := mustAcquire(t, p)
		mustRelease(t, other)
		w.set(func(w *world) { w.dialTime, w.deaf = 100*time.Millisecond, true })
		var got []Lease[*conn]
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 2 { // one takes the idle conn, one waits for a dial
			wg.Go(func() {
				l := mustAcquire(t, p)
				mu.Lock()
				defer mu.Unlock()
				got = append(got, l)
			})
		}
		synctest.Wait()
		p.Clear()
		wg.Wait()
		if s := p.Stat(); s.Closed(ReasonGeneration) != 1 || s.Generation != 1 {
			t.Errorf("the dial under way should have been discarded: %+v", s)
		}
		mustRelease(t, leased)
		for _, l := range got {
			mustRelease(t, l)
		}
		synctest.Wait()
		if s := p.Stat(); s.Closed(ReasonGeneration) != 3 || s.Idle != 1 {
			t.Errorf("leased conns of the old generation should close: %+v", s)
		}
		if l := mustAcquire(t, p); l.Value().id < 3 {
			t.Errorf("conn %d of the old generation was leased", l.Value().id)
		} else {
			mustRelease(t, l)
		}
		shut(t, p, w)
	})
}

// After a failed dial one attempt at a time is made, no sooner than the drawn delay after
// the end of the one before, and only a success of a command ends that.
func TestCMAP_BackoffAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.dialErr = errRefused
		w.dialTime = 10 * time.Millisecond
		cfg := w.config(4, 0)
		cfg.WaitWhileFailing = true
		cfg.Endpoint = governor.New(governor.Config{}).Endpoint(governor.EndpointConfig{
			Rand: func() float64 { return 0.5 },
		})
		p := mustNew(t, cfg)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
				defer cancel()
				_, err := p.Acquire(ctx)
				if !errors.Is(err, ErrAcquireTimeout) || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errRefused) {
					t.Errorf("Acquire: %v", err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		ms := time.Millisecond
		// 100 ms base: 200 = (100+300)/2, 400, 800, 1600 and so on, each from the end.
		want := []time.Duration{0, 0, 210 * ms, 620 * ms, 1430 * ms}
		dials := w.look().dials
		if diff := cmp.Diff(want, dials[:min(len(dials), 5)]); diff != "" || len(dials) != 5 {
			t.Errorf("%d dials (-want +got):\n%s", len(dials), diff)
		}
		shut(t, p, w)
	})
}

// Clear interrupts the dials under way, and the waiters get conns of new ones.
func TestCMAP_InterruptPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.dialTime = time.Hour
		cfg := w.config(2, 0)
		cfg.DialTimeout = 0
		p := mustNew(t, cfg)
		got := make(chan Lease[*conn])
		for range 2 {
			go func() { got <- mustAcquire(t, p) }()
		}
		synctest.Wait()
		w.set(func(w *world) { w.dialTime = time.Millisecond })
		start := time.Now()
		p.Clear()
		a, b := <-got, <-got
		if d := time.Since(start); d > 5*time.Millisecond {
			t.Errorf("waiters waited %v after Clear", d)
		}
		if s := p.Stat(); s.DialErrors != 0 || p.ep.State().Failing {
			t.Errorf("an interrupted dial is no failure: %+v", s)
		}
		mustRelease(t, a)
		mustRelease(t, b)
		shut(t, p, w)
	})
}
