package bench_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/evenkeel-go/evenkeel/bench"
)

func TestLatencyEmpty(t *testing.T) {
	l := bench.NewLatency()
	l.Merge(bench.NewLatency())
	for _, v := range []float64{l.MeanUs(), l.MinUs(), l.MaxUs(), l.QuantileUs(0.99)} {
		if v != 0 {
			t.Errorf("empty histogram says %v", v)
		}
	}
}

func TestLatencyBeyondItsRange(t *testing.T) {
	l := bench.NewLatency()
	l.Record(-time.Second)
	l.Record(time.Hour)
	if got := l.MaxUs(); got != 3.6e9 {
		t.Errorf("max %v, want an hour", got)
	}
	if got := l.QuantileUs(1); got < 5.99e8 || got > 3.6e9 {
		t.Errorf("p100 %v, want at least 10 minutes", got)
	}
	if l.MinUs() != 0 || l.Count() != 2 {
		t.Errorf("min %v, count %d", l.MinUs(), l.Count())
	}
}

// Merging workers must say what one histogram of all their times would.
func TestLatencyMergeIsUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Minute)), 1, 300).Draw(t, "times")
		workers := []*bench.Latency{bench.NewLatency(), bench.NewLatency(), bench.NewLatency()}
		var sum float64
		for i, ns := range times {
			workers[i%3].Record(time.Duration(ns))
			sum += float64(ns) / 1e3
		}
		all := bench.NewLatency()
		for _, w := range workers {
			all.Merge(w)
		}
		slices.Sort(times)
		near := func(name string, got, want, slack float64) {
			if math.Abs(got-want) > slack+want*0.002 {
				t.Fatalf("%s: %v, want %v", name, got, want)
			}
		}
		near("min", all.MinUs(), float64(times[0])/1e3, 0)
		near("max", all.MaxUs(), float64(times[len(times)-1])/1e3, 0)
		near("mean", all.MeanUs(), sum/float64(len(times)), 0)
		for _, q := range []float64{0.5, 0.9, 0.99} {
			rank := q * float64(len(times))
			low := float64(times[max(int(rank)-1, 0)]) / 1e3
			high := float64(times[max(int(math.Ceil(rank))-1, 0)]) / 1e3
			if got := all.QuantileUs(q); got < low*0.998-0.2 || got > high*1.002+0.2 {
				t.Fatalf("quantile %v: %v, want %v to %v", q, got, low, high)
			}
		}
	})
}

func TestLatencyRecordAllocatesNothing(t *testing.T) {
	l := bench.NewLatency()
	if n := testing.AllocsPerRun(1000, func() { l.Record(123 * time.Microsecond) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
