package stats

import (
	"math"
	"slices"
)

// Interval is a confidence interval of a median, between two of the observed values.
type Interval struct {
	Low, High float64
	// Coverage is the probability, before the observations are made, that the interval
	// will hold the true median. It is at least the confidence asked for, since the
	// ends are observed values and come in steps.
	Coverage float64
}

// Median returns the middle value, or the mean of the two middle values. It is NaN
// when there are no values.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	if n%2 == 1 {
		return sorted[n/2]
	}
	return sorted[n/2-1]/2 + sorted[n/2]/2
}

// MedianInterval returns the narrowest interval between the k-th smallest and the k-th
// largest value that holds the true median with at least the given confidence,
// which must lie between 0 and 1. It is the interval of the sign test: it assumes
// only that the observations are independent. ok is false when there are too few of
// them, which for 0.95 is fewer than 6.
func MedianInterval(values []float64, confidence float64) (interval Interval, ok bool) {
	n := len(values)
	k, coverage := signTestRank(n, confidence)
	if k == 0 {
		return Interval{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	return Interval{Low: sorted[k-1], High: sorted[n-k], Coverage: coverage}, true
}

// signTestRank returns the largest k for which 1 - 2·P(X < k) reaches the confidence,
// where X counts which of n observations lie below the median: binomial, p = 1/2. It
// is 0 when even the smallest and the largest value do not enclose enough.
func signTestRank(n int, confidence float64) (k int, coverage float64) {
	below := 0.0 // P(X < i+1)
	for i := range (n + 1) / 2 {
		below += binomialHalf(n, i)
		if 1-2*below < confidence {
			break
		}
		k, coverage = i+1, 1-2*below
	}
	return k, coverage
}

// binomialHalf is P(X = k) for n trials with p = 1/2, by logarithms so that many
// rounds do not overflow.
func binomialHalf(n, k int) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	chosen, _ := math.Lgamma(float64(k + 1))
	rest, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(all - chosen - rest - float64(n)*math.Ln2)
}
