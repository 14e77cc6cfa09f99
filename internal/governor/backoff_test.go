package governor

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Every delay lies between its bounds, and none sits on the cap: that would be an atom at
// which a fleet comes together again.
func TestBackoffHasNoAtomAtTheCap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2)).Float64
	atCap, n := 0, 0
	for range 1000 {
		b := backoff{base: DefaultBackoffBase, ceil: DefaultBackoffCap}
		prev := b.base
		for range 30 {
			lo, hi := min(prev, b.ceil/3), min(3*prev, b.ceil)
			d := b.next(rnd, time.Hour)
			if d < lo || d > hi {
				t.Fatalf("%v after %v, bounds %v to %v", d, prev, lo, hi)
			}
			if d > b.ceil*999/1000 {
				atCap++
			}
			n++
			prev = d
		}
	}
	if share := float64(atCap) / float64(n); share > 0.01 {
		t.Errorf("%.2f %% of the delays lie at the cap", 100*share)
	}
}

// In the long run the delays are uniform over the upper two thirds.
func TestBackoffIsUniformAtTheEnd(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4)).Float64
	var bins [10]int
	const n = 20_000
	for range n {
		b := backoff{base: DefaultBackoffBase, ceil: DefaultBackoffCap, prev: DefaultBackoffCap / 2}
		d := b.next(rnd, time.Hour)
		bins[min(int(10*(d-b.ceil/3)/(b.ceil-b.ceil/3)), 9)]++
	}
	chi := 0.0
	for _, got := range bins {
		d := float64(got) - n/10
		chi += d * d / (n / 10)
	}
	if chi > 33.7 { // 9 degrees of freedom, p = 0.0001
		t.Errorf("chi² = %.1f, bins %v", chi, bins)
	}
}

func TestCommandBackoff(t *testing.T) {
	limits := []int{8, 16, 32, 64, 128, 256, 512, 512, 512}
	for attempt, ms := range limits {
		limit := time.Duration(ms) * time.Millisecond
		if got := CommandBackoff(attempt, half); got != limit/2 {
			t.Errorf("attempt %d: %v, want %v", attempt, got, limit/2)
		}
		for range 100 {
			if got := CommandBackoff(attempt, nil); got < 0 || got >= limit {
				t.Errorf("attempt %d: %v, limit %v", attempt, got, limit)
			}
		}
	}
	if got := CommandBackoff(1000, half); got != 256*time.Millisecond {
		t.Errorf("attempt 1000: %v", got)
	}
	if got := CommandBackoff(-1, half); got != 4*time.Millisecond {
		t.Errorf("attempt -1: %v", got)
	}
}

// A fleet of 1000 clients with the server down: at most 1.5·N/cap attempts a second once
// the backoff is at its cap, evenly.
func TestFleetWithServerDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		start := time.Now()
		const outage = 120 * time.Second
		var mu sync.Mutex
		bins := make([]int, outage/(100*time.Millisecond)+1)
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				e := New(Config{}).Endpoint(EndpointConfig{})
				for time.Since(start) < outage {
					ok, at, _ := e.TryStart(false)
					if !ok {
						time.Sleep(time.Until(at))
						continue
					}
					mu.Lock()
					bins[time.Since(start)/(100*time.Millisecond)]++
					mu.Unlock()
					e.Done(errRefused)
				}
			})
		}
		wg.Wait()
		steady := bins[300:1200] // from 30 s on
		sum, peak := 0, 0
		for _, b := range steady {
			sum += b
			peak = max(peak, b)
		}
		perSecond := float64(sum) / float64(len(steady)) * 10
		if limit := 1.5 * n / DefaultBackoffCap.Seconds(); perSecond > limit*1.03 {
			t.Errorf("%.0f attempts a second, limit %.0f", perSecond, limit)
		}
		mean := perSecond / 10
		variance := 0.0
		for _, b := range steady {
			variance += (float64(b) - mean) * (float64(b) - mean)
		}
		variance /= float64(len(steady))
		if float64(peak) > 3*mean || variance/mean > 1.5 {
			t.Errorf("peak %d, mean %.1f, dispersion %.2f in 100 ms", peak, mean, variance/mean)
		}
	})
}

// After a mass disconnect a fleet's first dials come at once but those that would fill the
// pools again come spread over a second.
func TestFleetAfterMassDisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, conns = 300, 10
		start := time.Now()
		var mu sync.Mutex
		var bins [20]int
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				e := New(Config{}).Endpoint(EndpointConfig{})
				e.Lost(conns, nil)
				for left := conns; left > 0; {
					ok, at, _ := e.TryStart(false)
					if !ok {
						time.Sleep(time.Until(at))
						continue
					}
					left--
					mu.Lock()
					bins[time.Since(start)/(100*time.Millisecond)]++
					mu.Unlock()
					e.Done(nil)
				}
			})
		}
		wg.Wait()
		for i, b := range bins {
			if b > n*conns*35/100 {
				t.Errorf("%d of %d dials in the %d. 100 ms", b, n*conns, i+1)
			}
		}
	})
}

// TestYoungOutage: until an outage has lasted for 150 s the delay stays below a fifteenth of it, or a second, and it still
// grows from the base.
func TestYoungOutage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := backoff{base: DefaultBackoffBase, ceil: DefaultBackoffCap, young: time.Second}
		rnd := func() float64 { return rapid.Float64Range(0, 0.999999).Draw(t, "rnd") }
		outage, attempts := time.Duration(0), 0
		for outage < 150*time.Second {
			limit := max(time.Second, outage/15)
			d := b.next(rnd, outage)
			if d < DefaultBackoffBase || d > limit {
				t.Fatalf("after %v down the delay is %v, want 100ms to %v", outage, d, limit)
			}
			if attempts == 0 && d > 3*DefaultBackoffBase {
				t.Fatalf("the first delay is %v", d)
			}
			outage += d
			attempts++
		}
		if d := b.next(func() float64 { return 0.999999 }, time.Hour); d > DefaultBackoffCap {
			t.Fatalf("a delay of %v is above the cap", d)
		}
	})
}
