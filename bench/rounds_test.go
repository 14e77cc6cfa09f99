package bench

import (
	"math"
	"testing"
)

func TestIntervalOfAMedian(t *testing.T) {
	// From the binomial distribution, as tables of the sign test have it.
	for n, skip := range map[int]int{1: 0, 5: 0, 6: 0, 8: 0, 9: 1, 20: 5, 30: 9, 100: 39, 1000: 468} {
		if got := intervalSkip(n); got != skip {
			t.Errorf("%d values: %d skipped, want %d", n, got, skip)
		}
	}
	values := []float64{9, 1, 8, 2, 7, 3, 6, 4, 5}
	if e := estimate(values); e.Median != 5 || e.Low != 2 || e.High != 8 || e.Rounds != 9 || values[0] != 9 || !e.holds(2) || e.holds(1.9) || e.holds(math.NaN()) {
		t.Errorf("%+v of %v", e, values)
	}
	if e := estimate([]float64{1, 2}); e.Median != 1.5 || e.Low != 1 || e.High != 2 {
		t.Errorf("%+v", e)
	}
	if e := estimate(nil); e != nil {
		t.Errorf("%+v of nothing", e)
	}
}
