package hist

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evenkeel-go/evenkeel/internal/race"
)

var all = cmp.AllowUnexported(Histogram{})

// durations draws over all magnitudes, not mostly huge ones.
func durations() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Uint64().Draw(t, "bits") >> 1 >> rapid.IntRange(0, 62).Draw(t, "shift"))
	})
}

func TestEveryDurationHasABucketThatIsNarrow(t *testing.T) {
	for _, v := range []time.Duration{0, 1, 127, 128, 255, 256, 257, 511, 512, math.MaxInt64 - 1, math.MaxInt64} {
		inBucket(t, v)
	}
	if got := index(math.MaxInt64); got != buckets-1 {
		t.Errorf("the longest duration is in bucket %d of %d", got, buckets)
	}
	rapid.Check(t, func(t *rapid.T) { inBucket(t, durations().Draw(t, "d")) })
	next := time.Duration(0)
	for i := range buckets {
		low, high := bounds(i)
		if low != next || high < low {
			t.Fatalf("bucket %d is %d to %d, and the one before ended at %d", i, low, high, next-1)
		}
		next = high + 1
	}
}

func inBucket(t rapid.TB, v time.Duration) {
	t.Helper()
	low, high := bounds(index(uint64(v)))
	if v < low || v > high {
		t.Errorf("%d is not in its bucket, %d to %d", v, low, high)
	}
	if width := high - low; float64(width) > float64(v)/gridSize {
		t.Errorf("%d: the bucket is %d wide", v, width)
	}
}

func TestFiguresAgreeWithTheSortedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(durations(), 1, 200).Draw(t, "values")
		h, sum := New(), 0.0
		for _, v := range values {
			h.Record(v)
			sum += float64(v)
		}
		slices.Sort(values)
		if h.Count() != int64(len(values)) || h.Min() != values[0] || h.Max() != values[len(values)-1] {
			t.Fatalf("count %d, min %d, max %d of %v", h.Count(), h.Min(), h.Max(), values)
		}
		if mean := sum / float64(len(values)); math.Abs(float64(h.Mean())-mean) > 1+mean*1e-9 {
			t.Errorf("the mean is %d, want %f", h.Mean(), mean)
		}
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		want := values[rank(q, h.Count())-1]
		if got := h.Quantile(q); got < want || float64(got-want) > float64(want)/gridSize {
			t.Errorf("quantile %f is %d, want %d", q, got, want)
		}
		limit := rapid.SampledFrom(values).Draw(t, "limit")
		if got, least := h.CountUpTo(limit), int64(countUpTo(values, limit)); got < least {
			t.Errorf("%d up to %d, want at least %d", got, limit, least)
		}
		if h.CountUpTo(h.Max()) != h.Count() {
			t.Errorf("up to the maximum are %d of %d", h.CountUpTo(h.Max()), h.Count())
		}
	})
}

func countUpTo(values []time.Duration, limit time.Duration) (n int) {
	for _, v := range values {
		if v <= limit {
			n++
		}
	}
	return n
}

func TestRanksOfRoundQuantilesAreExact(t *testing.T) {
	for _, tc := range []struct {
		q     float64
		count int64
		want  int64
	}{
		{0, 10, 1},
		{0.5, 10, 5},
		{0.5, 11, 6},
		{0.999, 1000, 999},
		{0.99, 100, 99},
		{0.9, 10, 9},
		{1, 10, 10},
		{2, 10, 10},
		{-1, 10, 1},
		{math.NaN(), 10, 1},
		{0.9999, 10, 10},
		{0.0001, 10, 1},
	} {
		if got := rank(tc.q, tc.count); got != tc.want {
			t.Errorf("the rank of %g among %d is %d, want %d", tc.q, tc.count, got, tc.want)
		}
	}
}

func TestMergeIsRecordingBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := New(), New()
		both := New()
		for _, d := range rapid.SliceOf(durations()).Draw(t, "a") {
			a.Record(d)
			both.Record(d)
		}
		for _, d := range rapid.SliceOf(durations()).Draw(t, "b") {
			b.Record(d)
			both.Record(d)
		}
		a.Merge(b)
		a.sum, both.sum = 0, 0 // sums of floats depend on the order
		if diff := cmp.Diff(both, a, all); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRecordNIsRecordNTimes(t *testing.T) {
	a, b := New(), New()
	for range 7 {
		a.Record(1234 * time.Microsecond)
	}
	b.RecordN(1234*time.Microsecond, 7)
	b.RecordN(time.Hour, 0)
	b.RecordN(time.Hour, -1)
	if diff := cmp.Diff(a, b, all); diff != "" {
		t.Error(diff)
	}
}

func TestAnEmptyHistogramIsAllZero(t *testing.T) {
	for name, h := range map[string]*Histogram{"new": New(), "nil": nil, "reset": recorded(5).reset()} {
		if h.Count() != 0 || h.Min() != 0 || h.Max() != 0 || h.Mean() != 0 || h.StdDev() != 0 || h.Quantile(0.5) != 0 || h.CountUpTo(time.Hour) != 0 {
			t.Errorf("%s: something is not zero", name)
		}
		for b := range h.Buckets() {
			t.Errorf("%s: there is a bucket %v", name, b)
		}
	}
	if diff := cmp.Diff(New(), recorded(5).reset(), all); diff != "" {
		t.Error(diff)
	}
}

func (h *Histogram) reset() *Histogram { h.Reset(); return h }

// recorded returns a histogram of n different durations.
func recorded(n int) *Histogram {
	h := New()
	for i := range n {
		h.Record(time.Duration(i*i*i) * 997)
	}
	return h
}

func TestStdDev(t *testing.T) {
	h := New()
	h.RecordN(1*time.Millisecond, 50)
	h.RecordN(3*time.Millisecond, 50)
	if got := h.StdDev(); math.Abs(float64(got-time.Millisecond)) > float64(20*time.Microsecond) {
		t.Errorf("the deviation of 1 ms and 3 ms is %v", got)
	}
}

func TestNegativeCountsAsZero(t *testing.T) {
	h := New()
	h.Record(-5)
	if h.Count() != 1 || h.Max() != 0 {
		t.Errorf("count %d, max %v", h.Count(), h.Max())
	}
}

func TestACloneIsIndependent(t *testing.T) {
	h := recorded(10)
	c := h.Clone()
	h.Record(time.Hour)
	if c.Count() != 10 || c.Max() >= time.Hour {
		t.Errorf("the clone has %d, up to %v", c.Count(), c.Max())
	}
	if (*Histogram)(nil).Clone() != nil {
		t.Error("a clone of nothing is something")
	}
}

func TestJSONKeepsEverything(t *testing.T) {
	for _, n := range []int{0, 1, 2, 500} {
		h := recorded(n)
		data, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		back := New()
		if err := json.Unmarshal(data, back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, back, all); diff != "" {
			t.Errorf("%d durations: %s", n, diff)
		}
	}
}

func TestJSONThatContradictsItselfIsRefused(t *testing.T) {
	kept := recorded(3)
	for _, data := range []string{
		`{"grid":64,"count":0,"buckets":[]}`,
		`{"grid":128,"count":1,"sum_ns":5,"min_ns":5,"max_ns":5,"buckets":[5]}`,
		`{"grid":128,"count":2,"sum_ns":5,"min_ns":5,"max_ns":5,"buckets":[5,1]}`,
		`{"grid":128,"count":1,"sum_ns":5,"min_ns":5,"max_ns":6,"buckets":[5,1]}`,
		`{"grid":128,"count":1,"sum_ns":5,"min_ns":6,"max_ns":5,"buckets":[5,1]}`,
		`{"grid":128,"count":1,"sum_ns":-5,"min_ns":5,"max_ns":5,"buckets":[5,1]}`,
		`{"grid":128,"count":1,"sum_ns":5,"min_ns":5,"max_ns":5,"buckets":[99999,1]}`,
		`{"grid":128,"count":2,"sum_ns":5,"min_ns":5,"max_ns":5,"buckets":[5,1,0,1]}`,
		`{"grid":128,"count":-1,"sum_ns":5,"min_ns":5,"max_ns":5,"buckets":[5,-1]}`,
		`[]`,
	} {
		h := kept.Clone()
		if err := json.Unmarshal([]byte(data), h); err == nil {
			t.Errorf("accepted: %s", data)
		}
		if diff := cmp.Diff(kept, h, all); diff != "" {
			t.Errorf("%s changed the histogram", data)
		}
	}
}

func TestTheLogIsReadByTheLibrary(t *testing.T) {
	begin := time.UnixMilli(1_700_000_000_000)
	var out bytes.Buffer
	log, err := NewLog(&out, begin, "two\nlines")
	if err != nil {
		t.Fatal(err)
	}
	h := recorded(1000)
	if err := log.Write(h, "GET, all", time.Second, 2*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := log.Write(New(), "", 2*time.Second, 3*time.Second); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "#two lines\n") {
		t.Errorf("the log begins %q", out.String()[:20])
	}
	got, err := hdrhistogram.NewHistogramLogReader(&out).NextIntervalHistogram()
	if err != nil {
		t.Fatal(err)
	}
	if got.TotalCount() != h.Count() || got.Tag() != "GET__all" {
		t.Errorf("%d values with tag %q", got.TotalCount(), got.Tag())
	}
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
		want := float64(h.Quantile(q))
		if d := math.Abs(float64(got.ValueAtQuantile(q*100)) - want); d > 0.01*want+1 {
			t.Errorf("quantile %g is %d in the log, %f here", q, got.ValueAtQuantile(q*100), want)
		}
	}
}

func TestALogOfDaysIsOfOneDay(t *testing.T) {
	h := New()
	h.RecordN(90*time.Hour, 3)
	log, err := NewLog(&bytes.Buffer{}, time.UnixMilli(0), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Write(h, "x", 0, time.Second); err != nil {
		t.Error(err)
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	h, o := New(), recorded(100)
	n := testing.AllocsPerRun(100, func() {
		h.Record(12345)
		h.RecordN(777, 3)
		h.Merge(o)
		h.Reset()
	})
	if n != 0 && !race.Enabled {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	h := New()
	d := time.Duration(90_000)
	for b.Loop() {
		h.Record(d)
		d = d*5%1_000_003 + 50_000
	}
}
