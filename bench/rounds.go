package bench

import (
	"math"
	"math/rand/v2"
	"slices"
)

// turns gives the order of each round of n that take turns: at random, so that none
// always follows the same other one, whose traces in caches and buffers it would feel. It
// is the same for the same seed.
func turns(n int, seed uint64) func() []int {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // an order need not be unpredictable
	return func() []int { return random.Perm(n) }
}

// Estimate is a median over rounds with the interval in which the true median lies
// with 95 % confidence, whatever the values' distribution: its ends are order
// statistics (the sign test's interval). Rounds that follow each other on a busy
// machine are not quite independent, so take the interval as a lower bound of the
// doubt. It is made of at most 1,000 rounds.
type Estimate struct {
	Median float64 `json:"median"`
	// Low and High bound the interval. With fewer than 6 rounds they are the least
	// and the greatest value, and cover less than 95 %.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Rounds is how many values it is made of.
	Rounds int `json:"rounds"`
}

// sure is how much of a 95 % interval lies outside of it on each side.
const sure = 0.025

// estimate returns nil when there are no values. It leaves them as they are.
func estimate(values []float64) *Estimate { return estimateAt(values, sure) }

// estimateAt is estimate with another share outside of the interval on each side.
func estimateAt(values []float64, outside float64) *Estimate {
	n := len(values)
	if n == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	e := &Estimate{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Rounds: n}
	skip := intervalSkip(n, outside)
	e.Low, e.High = sorted[skip], sorted[n-1-skip]
	return e
}

// intervalSkip is how many of n sorted values lie below an interval of the median, and
// as many above: the value that begins it is the last of those whose rank a fair coin,
// tossed n times, stays below with a chance of at most what may lie outside. Up to
// n = 1,000 the chance of no head at all is a number that a float64 can hold.
func intervalSkip(n int, outside float64) int {
	chance, below := math.Pow(0.5, float64(n)), 0.0
	for k := range n {
		if below += chance; below > outside {
			return max(k-1, 0)
		}
		chance *= float64(n-k) / float64(k+1)
	}
	return 0
}

// holds reports whether v is within the interval.
func (e *Estimate) holds(v float64) bool { return e.Low <= v && v <= e.High }
