package governor

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// step is one of a random history over a few endpoints.
type step struct {
	kind, end int
	overflow  bool
	pass      time.Duration
}

var stepGen = rapid.Custom(func(t *rapid.T) step {
	return step{
		kind:     rapid.IntRange(0, 5).Draw(t, "kind"),
		end:      rapid.IntRange(0, 1).Draw(t, "end"),
		overflow: rapid.Bool().Draw(t, "overflow"),
		pass:     time.Duration(rapid.IntRange(0, 600).Draw(t, "ms")) * time.Millisecond,
	}
})

// modelEnd is what the model knows of an endpoint.
type modelEnd struct {
	*Endpoint
	pending  int
	failing  bool
	failedAt time.Time // end of the last failed dial
	tokens   int       // overflow dials granted
	denied   bool      // a listener must be called once this changes
}

// TestModel plays random histories against the invariants of the package comment.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(stepGen, 20, 150).Draw(rt, "steps")
		limit := rapid.IntRange(1, 5).Draw(rt, "limit")
		var err error
		synctest.Test(t, func(*testing.T) { err = play(steps, limit) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

func play(steps []step, limit int) error {
	g := New(Config{MaxPendingDials: limit})
	start := time.Now()
	var ends [2]*modelEnd
	for i := range ends {
		ends[i] = &modelEnd{Endpoint: g.Endpoint(EndpointConfig{CreateBurst: 2})}
		ends[i].Subscribe(func() { ends[i].denied = false })
	}
	for i, s := range steps {
		e := ends[s.end]
		if err := e.apply(s, start); err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, s, err)
		}
		total := 0
		for _, e := range ends {
			total += e.pending
			if st := e.State(); st.Pending != e.pending || st.Failing != e.failing {
				return fmt.Errorf("step %d, %+v: %+v, model %d pending, failing %v", i, s, st, e.pending, e.failing)
			}
		}
		if total != g.Pending() || total > limit {
			return fmt.Errorf("step %d, %+v: %d pending, says %d, limit %d", i, s, total, g.Pending(), limit)
		}
	}
	// Whoever is still denied hears of it by the time that all dials have ended.
	for _, e := range ends {
		for e.pending > 0 {
			e.pending--
			e.Done(nil)
		}
	}
	for i, e := range ends {
		if e.denied {
			return fmt.Errorf("endpoint %d was denied and never told", i)
		}
	}
	return nil
}

func (e *modelEnd) apply(s step, start time.Time) error {
	switch s.kind {
	case 0, 1:
		return e.ask(s.overflow, start)
	case 2:
		if e.pending > 0 {
			e.pending--
			e.failing = true
			e.failedAt = time.Now()
			e.Done(errRefused)
		}
	case 3:
		if e.pending > 0 {
			e.pending--
			e.Done(nil)
		}
	case 4:
		e.failing = false
		e.Succeeded()
	case 5:
		time.Sleep(s.pass)
	}
	return nil
}

func (e *modelEnd) ask(overflow bool, start time.Time) error {
	ok, at, cause := e.TryStart(overflow)
	switch {
	case ok:
		e.pending++
		if overflow {
			e.tokens++
		}
		if e.pending > 2 || e.failing && e.pending > 1 {
			return fmt.Errorf("%d dials under way, failing %v", e.pending, e.failing)
		}
		if e.failing && time.Since(e.failedAt) < DefaultBackoffBase {
			return fmt.Errorf("a dial %v after a failure", time.Since(e.failedAt))
		}
		if most := 2 + int(time.Since(start)/DefaultCreateInterval); e.tokens > most {
			return fmt.Errorf("%d overflow dials, at most %d", e.tokens, most)
		}
	case (cause != nil) != e.failing:
		return fmt.Errorf("cause %w, failing %v", cause, e.failing)
	case at.IsZero():
		e.denied = true
	case !at.After(time.Now()):
		return fmt.Errorf("denied until %v ago", time.Since(at))
	}
	return nil
}
