package stats

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{7}, 7},
		{[]float64{3, 1}, 2},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{1, 1, 1, 1000}, 1},
	} {
		before := slices.Clone(test.values)
		if got := Median(test.values); got != test.want {
			t.Errorf("Median(%v) = %v, want %v", test.values, got, test.want)
		}
		if !slices.Equal(before, test.values) {
			t.Errorf("Median changed its argument from %v to %v", before, test.values)
		}
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("Median(nil) = %v, want NaN", got)
	}
}

// TestSignTestRank compares with the ranks printed in tables of the sign test.
func TestSignTestRank(t *testing.T) {
	for _, test := range []struct {
		n          int
		confidence float64
		k          int
		coverage   float64
	}{
		{5, 0.95, 0, 0},
		{6, 0.95, 1, 0.96875},
		{8, 0.95, 1, 0.9921875},
		{9, 0.95, 2, 0.9609375},
		{10, 0.95, 2, 0.978515625},
		{15, 0.95, 4, 0.96484375},
		{20, 0.95, 6, 0.95861053},
		{25, 0.95, 8, 0.95671463},
		{30, 0.95, 10, 0.95722598},
		{50, 0.95, 18, 0.96716086},
		{20, 0.99, 4, 0.99742317},
		{5, 0.90, 1, 0.9375},
	} {
		k, coverage := signTestRank(test.n, test.confidence)
		if k != test.k || math.Abs(coverage-test.coverage) > 1e-6 {
			t.Errorf("signTestRank(%d, %v) = %d, %.8f; want %d, %.8f", test.n, test.confidence, k, coverage, test.k, test.coverage)
		}
	}
}

func TestMedianInterval(t *testing.T) {
	var values []float64
	for i := range 20 {
		values = append(values, float64((i*7)%20+1)) // 1 to 20 in some order
	}
	got, ok := MedianInterval(values, 0.95)
	if !ok || got.Low != 6 || got.High != 15 {
		t.Errorf("MedianInterval(1..20) = %+v, %v; want 6 to 15", got, ok)
	}
	if _, ok := MedianInterval(values[:5], 0.95); ok {
		t.Error("five values gave a 95 % interval: 2·(1/2)^5 is more than 5 %")
	}
}

// TestMedianIntervalCovers draws from a skewed distribution with a known median, and
// counts how often the interval holds it: the binomial error of 4,000 trials is 0.3 %.
func TestMedianIntervalCovers(t *testing.T) {
	const trials, n = 4000, 20
	state := uint64(1)
	uniform := func() float64 { // splitmix64: the same numbers in every run
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return float64((z^z>>31)>>11) / (1 << 53)
	}
	held := 0
	for range trials {
		values := make([]float64, n)
		for i := range values {
			values[i] = -math.Log(1 - uniform())
		}
		if got, ok := MedianInterval(values, 0.95); ok && got.Low <= math.Ln2 && math.Ln2 <= got.High {
			held++
		}
	}
	if share := float64(held) / trials; math.Abs(share-0.9586) > 0.015 {
		t.Errorf("the interval held the true median in %.1f %% of the trials, want 95.9 %%", share*100)
	}
}

func TestHistogramQuantiles(t *testing.T) {
	var h Histogram
	if got := h.Quantile(0.5); got != 0 {
		t.Errorf("median of nothing = %v, want 0", got)
	}
	for i := range 1000 {
		h.Record(time.Duration(i+1) * time.Microsecond)
	}
	for _, test := range []struct {
		q    float64
		want time.Duration
	}{
		{0.001, time.Microsecond},
		{0.5, 500 * time.Microsecond},
		{0.99, 990 * time.Microsecond},
		{0.999, 999 * time.Microsecond},
		{1, time.Millisecond},
	} {
		if got := h.Quantile(test.q); math.Abs(float64(got-test.want)) > 0.016*float64(test.want) {
			t.Errorf("Quantile(%v) = %v, want %v within 1.6 %%", test.q, got, test.want)
		}
	}
	if got := h.Count(); got != 1000 {
		t.Errorf("Count = %d, want 1000", got)
	}
}

func TestHistogramExtremes(t *testing.T) {
	var h Histogram
	h.Record(-time.Second)
	h.Record(0)
	h.Record(1000 * time.Hour)
	if got := h.Quantile(0.1); got > 8 {
		t.Errorf("smallest = %v, want at most the first bucket, 8 ns", got)
	}
	if got := h.Quantile(1); got < time.Minute {
		t.Errorf("largest = %v, want a minute or more", got)
	}
	h.Reset()
	if h.Count() != 0 || h.Quantile(1) != 0 {
		t.Error("Reset left something behind")
	}
}

func TestHistogramMerge(t *testing.T) {
	var one, other, both Histogram
	for i := range 500 {
		d := time.Duration(i*i) * time.Microsecond
		if i%2 == 0 {
			one.Record(d)
		} else {
			other.Record(d)
		}
		both.Record(d)
	}
	one.Merge(&other)
	if one != both {
		t.Error("two merged halves differ from the whole")
	}
}

// TestBucketsAreTight: every duration lies in a bucket whose middle is near, and a
// longer one never in a lower bucket.
func TestBucketsAreTight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1, 1<<lastOctave-1).Draw(t, "d"))
		bucket := bucketOf(d)
		if bucket < 0 || bucket >= buckets {
			t.Fatalf("%d ns falls into bucket %d of %d", d, bucket, buckets)
		}
		if off := math.Abs(float64(middleOf(bucket) - d)); off > 4 && off > float64(d)/(2*subBuckets)+1 {
			t.Fatalf("%d ns lies in a bucket with the middle %d", d, middleOf(bucket))
		}
		if next := bucketOf(d + 1); next < bucket || next > bucket+1 {
			t.Fatalf("%d ns lies in bucket %d, %d ns in %d", d, bucket, d+1, next)
		}
	})
}

func TestRecordAllocatesNothing(t *testing.T) {
	var h Histogram
	if n := testing.AllocsPerRun(100, func() { h.Record(123 * time.Microsecond) }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
}
