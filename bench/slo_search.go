package bench

import (
	"context"
	"math"
	"time"
)

// sloSearch finds the highest value (a rate, or a number of connections) at which a
// window holds its goal. It knows nothing of servers: try measures one window.
type sloSearch struct {
	start     float64 // tried first
	least     float64 // below it nothing is tried
	most      float64 // above it neither
	climb     float64 // the factor upwards while all holds
	whole     bool    // only whole numbers
	precision float64 // the answer's interval is at most this much wide, as a share
	confirm   int     // windows in a row that have to hold
	room      func() bool
	try       func(ctx context.Context, phase string, value float64) (*SLOStep, error)

	low, high float64 // the highest that held, the lowest that did not; 0 for none
	highIs    string  // the ending that a failed high means
}

// run searches, then confirms. It fills in the answer as far as it comes.
func (s *sloSearch) run(ctx context.Context, a *SLOAnswer) error {
	*a = SLOAnswer{Ending: EndingTime}
	err := s.search(ctx, a)
	if err == nil && a.Ending != EndingTime && s.low > 0 {
		err = s.confirmed(ctx, a)
	}
	a.Held = s.low
	if s.high > 0 {
		a.Failed = &s.high
		if a.Ending == EndingFound && s.highIs != "" {
			a.Ending = s.highIs
		}
	}
	return err
}

func (s *sloSearch) search(ctx context.Context, a *SLOAnswer) error {
	for value := s.start; value > 0; value = s.next(a) {
		step, err := s.look(ctx, PhaseSearch, value)
		if step == nil || err != nil {
			return err
		}
		if step.Holds {
			s.low = value
		} else {
			s.failed(step, value)
		}
	}
	return nil
}

// look measures one window; nil when there is no time left for it.
func (s *sloSearch) look(ctx context.Context, phase string, value float64) (*SLOStep, error) {
	if !s.room() {
		return nil, nil //nolint:nilnil // no step, and no error
	}
	return s.try(ctx, phase, value)
}

func (s *sloSearch) failed(step *SLOStep, value float64) {
	s.high, s.highIs = value, ""
	if step.GeneratorBound {
		s.highIs = EndingGenerator
	}
}

// next is what to try next; 0 when the search has ended.
func (s *sloSearch) next(a *SLOAnswer) float64 {
	var value float64
	switch {
	case s.low == 0:
		if s.high <= s.least {
			a.Ending = EndingNothing
			return 0
		}
		return s.round(max(s.high/2, s.least))
	case s.high == 0:
		if s.low >= s.most {
			a.Ending = EndingEverything
			return 0
		}
		return s.round(min(s.low*s.climb, s.most))
	default:
		value = s.round(math.Sqrt(s.low * s.high))
	}
	if s.high/s.low <= 1+s.precision || value <= s.low || value >= s.high {
		a.Ending = EndingFound
		return 0
	}
	return value
}

// confirmed repeats the highest that held, and goes down when it does not hold again:
// one window is one sample.
func (s *sloSearch) confirmed(ctx context.Context, a *SLOAnswer) error {
	for s.low > 0 {
		a.Confirmed = 0
		for a.Confirmed < s.confirm {
			step, err := s.look(ctx, PhaseConfirm, s.low)
			if step == nil || err != nil {
				if err == nil {
					a.Ending = EndingTime
				}
				return err
			}
			if !step.Holds {
				s.failed(step, s.low)
				break
			}
			a.Confirmed++
		}
		if a.Confirmed == s.confirm {
			return nil
		}
		a.Ending = EndingFound
		if s.low = s.below(s.low); s.low == 0 {
			a.Ending = EndingNothing
		}
	}
	return nil
}

// below is one step down; 0 when there is none.
func (s *sloSearch) below(value float64) float64 {
	v := s.round(value / (1 + s.precision))
	if v >= value { // whole numbers
		v = value - 1
	}
	if v < s.least {
		return 0
	}
	return v
}

func (s *sloSearch) round(v float64) float64 {
	if s.whole {
		return math.Round(v)
	}
	return v
}

// sloWindow is how long a window has to be for so many replies a second: so long that
// ten of them lie beyond the quantile, but not more than four times as long as asked.
func sloWindow(window time.Duration, quantile, perS float64) time.Duration {
	if perS <= 0 {
		return window
	}
	needs := time.Duration(sloTail / (1 - quantile) / perS * float64(time.Second))
	return min(max(window, needs), 4*window)
}

// sloTail is how many replies have to lie beyond a quantile that is judged.
const sloTail = 10
