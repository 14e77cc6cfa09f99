package bench

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

// mock is a server that holds up to a value, with some windows that fail all the same.
type mock struct {
	limit     float64
	unlucky   map[int]bool // windows, from 0
	generator bool         // what fails, fails for the generator
	windows   int          // there is time for; 0: any number
	tried     []float64
	phases    []string
}

func (m *mock) search(whole bool) *sloSearch {
	s := &sloSearch{start: 70, least: 1, most: 10_000, climb: 2, whole: whole, precision: 0.05, confirm: 3}
	s.room = func() bool { return m.windows == 0 || len(m.tried) < m.windows }
	s.try = func(_ context.Context, phase string, value float64) (*SLOStep, error) {
		holds := value <= m.limit && !m.unlucky[len(m.tried)]
		m.tried, m.phases = append(m.tried, value), append(m.phases, phase)
		return &SLOStep{Phase: phase, Holds: holds, GeneratorBound: m.generator && !holds}, nil
	}
	return s
}

func TestTheSearchFindsTheLimit(t *testing.T) {
	for _, limit := range []float64{1, 1.5, 3, 69, 70, 71, 100, 999, 5_000} {
		for _, whole := range []bool{false, true} {
			m := &mock{limit: limit}
			var a SLOAnswer
			if err := m.search(whole).run(t.Context(), &a); err != nil {
				t.Fatal(err)
			}
			if a.Ending != EndingFound || a.Confirmed != 3 || a.Failed == nil {
				t.Errorf("limit %v, whole %v: %+v", limit, whole, a)
				continue
			}
			wide := *a.Failed / a.Held
			if a.Held > limit || *a.Failed <= limit || wide > 1.05 && (!whole || *a.Failed-a.Held > 1) {
				t.Errorf("limit %v, whole %v: %v held and %v did not", limit, whole, a.Held, *a.Failed)
			}
			if whole && (a.Held != math.Trunc(a.Held) || *a.Failed != math.Trunc(*a.Failed)) {
				t.Errorf("%v and %v are no whole numbers", a.Held, *a.Failed)
			}
			if len(m.tried) > 25 {
				t.Errorf("limit %v: %d windows", limit, len(m.tried))
			}
		}
	}
}

// What held once and not again is not the answer.
func TestTheSearchGoesDownWhenConfirmingFails(t *testing.T) {
	m := &mock{limit: 100}
	var a SLOAnswer
	if err := m.search(false).run(t.Context(), &a); err != nil {
		t.Fatal(err)
	}
	first := len(m.tried) - 3 // the first window that confirmed
	unlucky := &mock{limit: 100, unlucky: map[int]bool{first + 1: true}}
	var b SLOAnswer
	if err := unlucky.search(false).run(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	if b.Held >= a.Held || b.Confirmed != 3 || *b.Failed != a.Held {
		t.Errorf("%+v after %+v", b, a)
	}
}

func TestTheSearchSaysHowItEnded(t *testing.T) {
	for name, c := range map[string]struct {
		m      mock
		ending string
		held   float64
		failed bool
	}{
		"nothing":              {mock{limit: 0.5}, EndingNothing, 0, true},
		"everything":           {mock{limit: 1e9}, EndingEverything, 10_000, false},
		"generator":            {mock{limit: 70, generator: true}, EndingGenerator, 70, true},
		"no time to search":    {mock{limit: 500, windows: 3}, EndingTime, 280, false},
		"no time to confirm":   {mock{limit: 70, windows: 8}, EndingTime, 70, true},
		"no time for anything": {mock{limit: 0, windows: 1}, EndingTime, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.m
			var a SLOAnswer
			if err := m.search(false).run(t.Context(), &a); err != nil {
				t.Fatal(err)
			}
			if a.Ending != c.ending || a.Held != c.held || (a.Failed != nil) != c.failed {
				t.Errorf("%+v after %v (%v)", a, m.tried, m.phases)
			}
		})
	}
}

func TestTheSearchKeepsWhatItHasWhenAWindowFails(t *testing.T) {
	m := &mock{limit: 1e9}
	s := m.search(false)
	try := s.try
	broken := errors.New("the server is gone")
	s.try = func(ctx context.Context, phase string, value float64) (*SLOStep, error) {
		if len(m.tried) == 2 {
			return nil, broken
		}
		return try(ctx, phase, value)
	}
	var a SLOAnswer
	if err := s.run(t.Context(), &a); !errors.Is(err, broken) || a.Held != 140 || a.Ending != EndingTime {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestWindowsAreLongEnoughForTheQuantile(t *testing.T) {
	for _, c := range []struct {
		quantile, perS float64
		want           time.Duration
	}{
		{0.99, 10_000, 5 * time.Second},
		{0.99, 100, 10 * time.Second},
		{0.99, 1, 20 * time.Second}, // not for ever
		{0.999, 1_000, 10 * time.Second},
		{0.99, 0, 5 * time.Second},
	} {
		// 1 - 0.999 is not quite 0.001.
		if got := sloWindow(5*time.Second, c.quantile, c.perS).Round(time.Microsecond); got != c.want {
			t.Errorf("%g at %g/s: %v, want %v", c.quantile, c.perS, got, c.want)
		}
	}
}
