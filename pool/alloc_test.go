package pool

import (
	"context"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/evenkeel-go/evenkeel/internal/race"
)

// budget fails if f allocates more than limit times a run.
func allocBudget(t *testing.T, name string, limit float64, f func()) {
	t.Helper()
	if got := testing.AllocsPerRun(200, f); got > limit && !race.Enabled {
		t.Errorf("%s: %v allocations, budget %v", name, got, limit)
	}
}

func TestAllocations(t *testing.T) {
	w := newWorld()
	cfg := w.config(1, 0)
	cfg.AcquireTimeout = time.Minute // its timer is part of the budget
	p := mustNew(t, cfg)
	fill(t, p, 1)
	cancelable, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for name, ctx := range map[string]context.Context{"background": context.Background(), "cancelable": cancelable} {
		allocBudget(t, "idle, "+name, 0, func() {
			l, err := p.Acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			mustRelease(t, l)
		})

		// Another goroutine holds the conn until this one waits.
		take, taken, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for range take {
				l := mustAcquire(t, p)
				taken <- struct{}{}
				for p.Stat().Waiting == 0 {
					runtime.Gosched()
				}
				mustRelease(t, l)
			}
		}()
		before := p.Stat().Waits
		allocBudget(t, "waiting, "+name, 0, func() {
			take <- struct{}{}
			<-taken
			l, err := p.Acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			mustRelease(t, l)
		})
		close(take)
		<-done
		if waits := p.Stat().Waits - before; waits < 200 {
			t.Errorf("%s: only %d waits were measured", name, waits)
		}
	}
	shut(t, p, w)
}

// Bookkeeping of an idle conn: its entry, and a place in two slices at twice their length.
func TestBookkeepingIsSmall(t *testing.T) {
	if got := unsafe.Sizeof(entry[*conn]{}) + 4*unsafe.Sizeof(uintptr(0)); got > 256 {
		t.Errorf("%d bytes per conn", got)
	}
	if got := unsafe.Sizeof(Lease[*conn]{}); got > 24 {
		t.Errorf("a lease has %d bytes", got)
	}
}
