package raw

import (
	"math"
	"math/rand/v2"
	"time"
)

// schedule says when the requests of one worker are meant to start, in open loop. It
// is computed, not stored: a backlog is the distance between its next moment and now.
type schedule struct {
	next  int64 // nanoseconds from the beginning of the run
	at    float64
	gap   float64 // the mean
	scale func(time.Duration) float64
	draw  *rand.Rand // nil: constant gaps
}

// newSchedule makes the schedule of one worker of several. Constant ones are shifted
// against each other so that together they are constant too; independent Poisson ones
// are Poisson together.
func newSchedule(cfg *Config, worker int) *schedule {
	s := &schedule{gap: float64(time.Second) * float64(cfg.Workers) / cfg.Rate, scale: cfg.Scale}
	if cfg.Poisson {
		s.draw = rand.New(rand.NewPCG(cfg.Seed, uint64(worker)+1)) //nolint:gosec // a load is no secret
		s.advance()
		return s
	}
	s.at = s.gap * float64(worker) / float64(cfg.Workers)
	s.next = int64(s.at)
	return s
}

// advance goes on to the next arrival.
func (s *schedule) advance() {
	gap := s.gap
	if s.draw != nil {
		gap *= s.draw.ExpFloat64()
	}
	if s.scale != nil {
		f := s.scale(time.Duration(s.next))
		gap /= min(max(f, minScale), maxScale)
	}
	// A sum of floats: over 14 days at a million per second it is off by less than a
	// microsecond, and steadily, not in steps.
	s.at += gap
	s.next = int64(s.at)
}

// The bounds of what Config.Scale may return: a factor of 0 would end the schedule.
const (
	minScale = 1e-6
	maxScale = 1e6
)

// overdue estimates how many arrivals lie before now, without walking them.
func (s *schedule) overdue(now int64) int64 {
	if now <= s.next {
		return 0
	}
	return 1 + int64(math.Floor(float64(now-s.next)/s.gap))
}

// countUntil walks the arrivals before end and counts those not before from.
func (s *schedule) countUntil(from, end int64) (n int64) {
	for s.next < end {
		if s.next >= from {
			n++
		}
		s.advance()
	}
	return n
}
