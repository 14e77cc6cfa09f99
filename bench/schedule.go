package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Schedule changes the rate of a run with time: a season, a peak, a weekend. Each
// step holds until the next one; before the first the factor is 1.
type Schedule struct {
	// Steps are in the order of their times, at most 10,000.
	Steps []ScheduleStep
	// Every begins the steps anew after so long, as with 24h for a day; 0 means never:
	// the last step then holds to the end.
	Every time.Duration
}

// ScheduleStep multiplies the rate by Factor, 0.001 to 1,000, from At on, counted from
// the beginning of the run, its warm-up included.
type ScheduleStep struct {
	At     time.Duration
	Factor float64
}

const (
	maxScheduleSteps  = 10_000
	minScheduleFactor = 1e-3
	maxScheduleFactor = 1e3
)

// ParseSchedule reads steps such as "8h=1.5,12h=3,20h=0.4". An empty text is no schedule.
func ParseSchedule(text string, every time.Duration) (*Schedule, error) {
	if text == "" {
		if every != 0 {
			return nil, &OptionError{Option: "scale-every", Problem: "has nothing to repeat; give --scale-at as well"}
		}
		return nil, nil
	}
	s := &Schedule{Every: every}
	for part := range strings.SplitSeq(text, ",") {
		at, factor, ok := strings.Cut(strings.TrimSpace(part), "=")
		d, atErr := time.ParseDuration(at)
		f, factorErr := strconv.ParseFloat(factor, 64)
		if !ok || atErr != nil || factorErr != nil {
			return nil, &OptionError{Option: "scale-at", Problem: fmt.Sprintf("%q is no time and factor; give some such as 8h=1.5,20h=0.4", part)}
		}
		s.Steps = append(s.Steps, ScheduleStep{At: d, Factor: f})
	}
	return s, s.validate()
}

func (s *Schedule) validate() error {
	var c check
	c.that(len(s.Steps) > 0 && len(s.Steps) <= maxScheduleSteps, "scale-at", "there are %d steps; give 1 to %d", len(s.Steps), maxScheduleSteps)
	c.that(s.Every >= 0, "scale-every", "%v is negative; give the length of a season, such as 24h, or 0 for none", s.Every)
	for i, step := range s.Steps {
		c.that(step.At >= 0, "scale-at", "%v is before the run", step.At)
		c.that(i == 0 || step.At > s.Steps[i-1].At, "scale-at", "%v does not come after the step before it; give them in order", step.At)
		c.that(s.Every == 0 || step.At < s.Every, "scale-at", "%v is beyond the season of %v", step.At, s.Every)
		c.that(step.Factor >= minScheduleFactor && step.Factor <= maxScheduleFactor, "scale-at",
			"the factor %g is out of bounds; give %g to %g", step.Factor, minScheduleFactor, maxScheduleFactor)
	}
	return c.err
}

// Factor is what the rate is multiplied by at a time since the run began. It is safe
// for concurrent use.
func (s *Schedule) Factor(at time.Duration) float64 {
	if s == nil {
		return 1
	}
	if s.Every > 0 {
		// In all seasons but the first the last step is still in force at the beginning.
		if at >= s.Every && at%s.Every < s.Steps[0].At {
			return s.Steps[len(s.Steps)-1].Factor
		}
		at %= s.Every
	}
	n, found := slices.BinarySearchFunc(s.Steps, at, func(step ScheduleStep, at time.Duration) int { return int(min(max(step.At-at, -1), 1)) })
	if !found {
		n--
	}
	if n < 0 {
		return 1
	}
	return s.Steps[n].Factor
}

// String is the form that ParseSchedule reads; empty for nil.
func (s *Schedule) String() string {
	if s == nil {
		return ""
	}
	steps := make([]string, len(s.Steps))
	for i, step := range s.Steps {
		steps[i] = step.At.String() + "=" + strconv.FormatFloat(step.Factor, 'g', -1, 64)
	}
	return strings.Join(steps, ",")
}
