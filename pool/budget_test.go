package pool

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Lanes that are denied a place are woken in the order in which they were.
func TestBudgetIsFair(t *testing.T) {
	b := NewBudget(1)
	var order []int
	shares := make([]*Share, 4)
	for i := range shares {
		shares[i] = b.Join(func() {
			if shares[i].Take() {
				order = append(order, i)
			}
		}, nil)
	}
	if !shares[0].Take() {
		t.Fatal("an empty budget")
	}
	for _, s := range shares[1:] {
		if s.Take() {
			t.Fatal("more than the budget")
		}
	}
	shares[2].Leave()
	for _, i := range []int{0, 1, 3} {
		if b.Used() != 1 {
			t.Errorf("%s used", b)
		}
		shares[i].Give()
	}
	if want := []int{1, 3}; !slices.Equal(order, want) {
		t.Errorf("woken %v, want %v", order, want)
	}
	if b.Used() != 0 || b.Max() != 1 || b.String() != "0/1" {
		t.Errorf("%s used", b)
	}
}

// Two pools under one budget: the server never sees more than its limit, and either gets
// conns as the other's close.
func TestBudgetSharedByPools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.dialTime, w.closeTime = 3*time.Millisecond, 5*time.Millisecond
		budget, ep := NewBudget(8), ungoverned()
		pools := make([]*Pool[*conn], 2)
		for i := range pools {
			cfg := w.config(6, 0)
			cfg.Budget, cfg.Endpoint = budget, ep
			cfg.MaxConnIdleTime = 50 * time.Millisecond
			cfg.ValidateAfter = 40 * time.Millisecond
			pools[i] = mustNew(t, cfg)
		}
		var wg sync.WaitGroup
		for i, p := range pools {
			for j := range 20 {
				wg.Go(func() {
					for k := range 30 {
						l := mustAcquire(t, p)
						<-time.After(time.Duration(1+(i+j+k)%5) * time.Millisecond)
						if (j+k)%4 == 0 {
							if err := l.Discard(ReasonCanceled); err != nil {
								t.Error(err)
							}
							continue
						}
						mustRelease(t, l)
						<-time.After(time.Duration(k%3) * 40 * time.Millisecond)
					}
				})
			}
		}
		wg.Wait()
		if _, _, maxSeen, maxDialing := w.counts(); maxSeen > 8 || maxDialing > 2 {
			t.Errorf("the server saw %d conns, %d dials at once", maxSeen, maxDialing)
		}
		for _, p := range pools {
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if budget.Used() != 0 || ep.State().Pending != 0 {
			t.Errorf("%s of the budget, %d pending after Close", budget, ep.State().Pending)
		}
	})
}

// A lane that keeps idle conns gives them up one by one to a lane with waiters, but none
// that it has just used.
func TestIdleLaneYieldsItsPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		budget, ep := NewBudget(4), ungoverned()
		lane := func() *Pool[*conn] {
			cfg := w.config(4, 0)
			cfg.Budget, cfg.Endpoint = budget, ep
			return mustNew(t, cfg)
		}
		rich, poor := lane(), lane()
		fillTogether(t, rich, 4)
		start := time.Now()
		l := mustAcquire(t, poor)
		if d := time.Since(start); d < 200*time.Millisecond || d > 600*time.Millisecond {
			t.Errorf("the poor lane got its conn after %v", d)
		}
		if s := rich.Stat(); s.Idle != 3 || s.Closed(ReasonYield) != 1 {
			t.Errorf("the rich lane: %+v", s)
		}
		mustRelease(t, l)
		if err := poor.Close(t.Context()); err != nil {
			t.Error(err)
		}
		shut(t, rich, w)
		if budget.Used() != 0 {
			t.Errorf("%s of the budget used", budget)
		}
	})
}
