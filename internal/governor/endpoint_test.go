package governor

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errRefused = errors.New("connection refused")

func half() float64 { return 0.5 }

// endpoint returns an endpoint whose random numbers are all one half.
func endpoint(cfg EndpointConfig) *Endpoint {
	if cfg.Rand == nil {
		cfg.Rand = half
	}
	return New(Config{}).Endpoint(cfg)
}

func mustStart(t *testing.T, e *Endpoint) {
	t.Helper()
	if ok, at, cause := e.TryStart(false); !ok {
		t.Fatalf("denied until %v: %v", at, cause)
	}
}

// mustDeny checks that a dial is denied for d from now; zero means until a dial ends.
func mustDeny(t *testing.T, e *Endpoint, d time.Duration, why error) {
	t.Helper()
	ok, at, cause := e.TryStart(false)
	var got time.Duration
	if !at.IsZero() {
		got = time.Until(at)
	}
	if ok || got != d || at.IsZero() != (d == 0) || !errors.Is(cause, why) {
		t.Fatalf("ok %v, retry in %v (%v), cause %v; want denied for %v by %v", ok, got, at, cause, d, why)
	}
}

func TestPendingCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(EndpointConfig{Name: "a"})
		mustStart(t, e)
		mustStart(t, e)
		mustDeny(t, e, 0, nil)
		e.Done(nil)
		mustStart(t, e)
		e.Done(errRefused)
		mustDeny(t, e, 0, errRefused) // one is under way, and one is all there may be
		e.Done(nil)
		st := e.State()
		want := State{Name: "a", Failing: true, NextAttempt: time.Now().Add(200 * time.Millisecond), LastError: errRefused, Started: 3, Failed: 1, Denied: 2}
		if diff := cmp.Diff(want, st, cmp.Comparer(errors.Is)); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
	})
}

// The delay counts from the end of the attempt, grows with each, and is reset by a
// command's success but not by a connect.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(EndpointConfig{})
		fail := func(took time.Duration) {
			t.Helper()
			mustStart(t, e)
			time.Sleep(took)
			e.Done(errRefused)
		}
		fail(time.Second)
		for _, ms := range []int{200, 400, 800, 1600, 3200} {
			delay := time.Duration(ms) * time.Millisecond
			mustDeny(t, e, delay, errRefused)
			time.Sleep(delay)
			fail(50 * time.Millisecond)
		}
		if d := time.Until(e.State().NextAttempt); d < 3*time.Second || d > 10*time.Second {
			t.Errorf("near the cap the delay is %v", d)
		}
		time.Sleep(10 * time.Second)
		mustStart(t, e)
		e.Done(nil)
		if !e.State().Failing {
			t.Error("a connect ended the failing state")
		}
		if ok, at, _ := e.TryStart(false); ok || time.Until(at) < 3*time.Second {
			t.Error("a connect reset the backoff")
		}
		e.Succeeded()
		if st := e.State(); st.Failing || st.LastError != nil || st.Resets != 1 {
			t.Errorf("after a success: %+v", st)
		}
		fail(0)
		mustDeny(t, e, 200*time.Millisecond, errRefused)
	})
}

// Dials that ran side by side and failed together are one failure.
func TestFailuresSideBySideCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(EndpointConfig{MaxPending: 4})
		for range 4 {
			mustStart(t, e)
		}
		for range 4 {
			e.Done(errRefused)
		}
		mustDeny(t, e, 200*time.Millisecond, errRefused)
		time.Sleep(200 * time.Millisecond)
		mustStart(t, e)
		mustDeny(t, e, 0, errRefused)
		e.Done(errRefused)
		mustDeny(t, e, 400*time.Millisecond, errRefused)
	})
}

// Behind a proxy that accepts and then resets every connect works and nothing else does:
// the attempts must be spaced all the same.
func TestAcceptThenResetBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Config{}).Endpoint(EndpointConfig{})
		attempts := 0
		for start := time.Now(); time.Since(start) < time.Minute; {
			ok, at, _ := e.TryStart(false)
			if !ok {
				time.Sleep(time.Until(at))
				continue
			}
			attempts++
			e.Done(nil)
			e.Lost(1, nil)
		}
		if attempts < 5 || attempts > 30 {
			t.Errorf("%d attempts in a minute", attempts)
		}
		if !errors.Is(e.State().LastError, ErrLostUnproven) {
			t.Errorf("cause: %v", e.State().LastError)
		}
	})
}

func TestGivenUpDialSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(EndpointConfig{})
		mustStart(t, e)
		e.Done(ErrGivenUp)
		if st := e.State(); st.Failing || st.Failed != 0 || st.Pending != 0 {
			t.Errorf("%+v", st)
		}
		mustStart(t, e)
		e.Done(nil)
	})
}

// After a mass disconnect the first dial starts at once and the others together later;
// the loss of a single conn delays nothing.
func TestMassDisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(EndpointConfig{})
		e.Lost(1, nil)
		mustStart(t, e)
		mustStart(t, e)
		e.Done(nil)
		e.Done(nil)
		e.Succeeded()
		time.Sleep(time.Second)
		e.Lost(50, nil)
		mustStart(t, e)
		mustDeny(t, e, 500*time.Millisecond, nil)
		time.Sleep(100 * time.Millisecond)
		e.Lost(50, nil) // more of the same does not prolong it
		mustDeny(t, e, 400*time.Millisecond, nil)
		time.Sleep(400 * time.Millisecond)
		// The first one is under way still, and a call that an old conn has answered says nothing about new ones.
		e.Succeeded()
		if ok, retryAt, cause := e.TryStart(false); ok || !retryAt.IsZero() || cause != nil {
			t.Errorf("a second dial before one has come through: ok %v, retry at %v, cause %v", ok, retryAt, cause)
		}
		e.Done(nil)
		mustStart(t, e)
		mustStart(t, e)
		if st := e.State(); st.Lost != 101 || st.Failing {
			t.Errorf("%+v", st)
		}

		off := endpoint(EndpointConfig{FirstDelayMax: NoDelay})
		off.Lost(50, nil)
		mustStart(t, off)
		mustStart(t, off)
	})
}

// Overflow dials: a burst at once, then one an interval, however long one asks.
func TestOverflowTokens(t *testing.T) {
	for name, c := range map[string]struct {
		burst, want int // in the first ten seconds, asking all the time
	}{"default": {0, 10 + 100}, "three": {3, 3 + 100}, "none": {NoBurst, 100}} {
		synctest.Test(t, func(t *testing.T) {
			e := endpoint(EndpointConfig{CreateBurst: c.burst})
			got := 0
			start := time.Now()
			for {
				ok, at, _ := e.TryStart(true)
				if ok {
					got++
					e.Done(nil)
					continue
				}
				if at.Sub(start) > 10*time.Second {
					break
				}
				time.Sleep(time.Until(at))
			}
			if got != c.want {
				t.Errorf("%s: %d overflow dials in 10 s, want %d", name, got, c.want)
			}
			mustStart(t, e) // those below size need no token
		})
	}
	e := endpoint(EndpointConfig{CreateInterval: Unlimited})
	for range 1000 {
		if ok, _, _ := e.TryStart(true); !ok {
			t.Fatal("unlimited, yet denied")
		}
		e.Done(nil)
	}
}

// A denied dial takes no token.
func TestDenialCostsNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(EndpointConfig{CreateBurst: 3})
		mustStart(t, e)
		mustStart(t, e)
		for range 10 {
			if ok, _, _ := e.TryStart(true); ok {
				t.Fatal("above the pending cap")
			}
		}
		e.Done(nil)
		e.Done(nil)
		for i := range 3 {
			if ok, _, _ := e.TryStart(true); !ok {
				t.Fatalf("token %d is missing", i)
			}
			e.Done(nil)
		}
	})
}

// The process-wide cap holds over all endpoints, and a freed place goes to the one that
// was denied first, not to the one that freed it.
func TestProcessWideCap(t *testing.T) {
	g := New(Config{MaxPendingDials: 2})
	var order []int
	ends := make([]*Endpoint, 4)
	for i := range ends {
		ends[i] = g.Endpoint(EndpointConfig{})
		ends[i].Subscribe(func() {
			if ok, _, _ := ends[i].TryStart(false); ok {
				order = append(order, i)
			}
		})
	}
	mustStart(t, ends[0])
	mustStart(t, ends[0])
	for _, i := range []int{2, 1, 3, 0} {
		mustDeny(t, ends[i], 0, nil)
	}
	for _, i := range []int{0, 2, 0, 1, 3} {
		if g.Pending() != g.MaxPendingDials() {
			t.Fatalf("%d pending", g.Pending())
		}
		ends[i].Done(nil)
	}
	if diff := cmp.Diff([]int{2, 1, 3, 0}, order[:4]); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// The lanes of an endpoint take turns, and one that has left is not called.
func TestListenersTakeTurns(t *testing.T) {
	e := endpoint(EndpointConfig{MaxPending: 1})
	won := map[int]int{}
	var cancels []func()
	for i := range 3 {
		cancels = append(cancels, e.Subscribe(func() {
			if ok, _, _ := e.TryStart(false); ok {
				won[i]++
			}
		}))
	}
	mustStart(t, e)
	for range 30 {
		mustDeny(t, e, 0, nil)
		e.Done(nil)
	}
	if diff := cmp.Diff(map[int]int{0: 10, 1: 10, 2: 10}, won); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
	cancels[1]()
	for range 10 {
		mustDeny(t, e, 0, nil)
		e.Done(nil)
	}
	if won[1] != 10 || won[0]+won[2] != 30 {
		t.Errorf("after one left: %v", won)
	}
}

// A success that ends the backoff wakes those who were told to wait for it.
func TestResetWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(EndpointConfig{})
		woken := 0
		e.Subscribe(func() { woken++ })
		mustStart(t, e)
		e.Done(errRefused)
		mustDeny(t, e, 200*time.Millisecond, errRefused)
		e.Succeeded()
		if woken != 1 {
			t.Errorf("woken %d times", woken)
		}
		e.Succeeded()
		mustStart(t, e)
		if woken != 1 {
			t.Errorf("woken %d times with nothing new", woken)
		}
	})
}

func TestSucceededIsFree(t *testing.T) {
	e := endpoint(EndpointConfig{})
	if n := testing.AllocsPerRun(100, e.Succeeded); n != 0 {
		t.Errorf("%v allocations", n)
	}
	// It must not touch the lock: held here, a second locker would hang.
	e.g.mu.Lock()
	e.Succeeded()
	e.g.mu.Unlock()
}

func BenchmarkSucceeded(b *testing.B) {
	e := endpoint(EndpointConfig{})
	for b.Loop() {
		e.Succeeded()
	}
}
