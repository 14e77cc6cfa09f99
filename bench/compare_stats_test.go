package bench

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
)

// paired makes pairs of turns whose figures scatter by some share around 1,000, B's times
// a factor.
func paired(random *rand.Rand, n int, factor, scatter float64) []ComparePair {
	turn := func(f float64) CompareTurn {
		noisy := func(v float64) float64 { return v * math.Exp(scatter*random.NormFloat64()) }
		return CompareTurn{OKPerS: noisy(1000 * f), P50Us: noisy(1000 / f), P99Us: noisy(2000 / f)}
	}
	var out []ComparePair
	for range n {
		out = append(out, ComparePair{A: turn(1), B: turn(factor)})
	}
	return out
}

// verdictsOf judges a comparison of 12 pairs.
func verdictsOf(random *rand.Rand, factor, scatter float64) (r *CompareResult, called int) {
	r = &CompareResult{Paired: true, Noise: paired(random, 12, 1, scatter), Pairs: paired(random, 12, factor, scatter)}
	r.Judge()
	for _, m := range r.Metrics {
		if m.Verdict != VerdictNone {
			called++
		}
	}
	return r, called
}

// Where there is no difference, one is called in far less than one of twenty comparisons,
// however large the noise; where there is one that is larger than the noise, it is.
func TestComparisonsAreHonest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same in each run
	for _, scatter := range []float64{0.001, 0.02, 0.1, 0.5} {
		const times = 1000
		wrong := 0
		for range times {
			if _, called := verdictsOf(random, 1, scatter); called > 0 {
				wrong++
			}
		}
		if wrong > times/50 {
			t.Errorf("scatter %v: a difference was called in %d of %d comparisons of the same", scatter, wrong, times)
		}
		found := 0
		for range times {
			r, called := verdictsOf(random, math.Exp(4*scatter), scatter)
			if called == len(metricKinds) {
				found++
			}
			for _, m := range r.Metrics {
				if m.Verdict == VerdictWorse {
					t.Fatalf("scatter %v: %s is called worse, and is better: %+v", scatter, m.Name, m)
				}
			}
		}
		if found < times*8/10 {
			t.Errorf("scatter %v: a difference of four times that was found in %d of %d comparisons", scatter, found, times)
		}
	}
}

// All three figures are within their intervals in at least 95 % of the comparisons.
func TestComparedIntervalsHoldTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same in each run
	const times, factor = 2000, 1.3
	within := 0
	for range times {
		r, _ := verdictsOf(random, factor, 0.1)
		ok := true
		for i, kind := range metricKinds {
			truth := factor
			if !kind.higherBetter {
				truth = 1 / factor
			}
			ok = ok && r.Metrics[i].Ratio.holds(truth)
		}
		if ok {
			within++
		}
	}
	if within < times*95/100 {
		t.Errorf("%d of %d", within, times)
	}
}

func TestFewPairsCallNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // the same in each run
	r := &CompareResult{Noise: paired(random, 12, 1, 0.001), Pairs: paired(random, minPairs-1, 10, 0.001)}
	r.Judge()
	for _, m := range r.Metrics {
		if m.Verdict != VerdictNone {
			t.Errorf("%+v", m)
		}
	}
	r.Noise, r.Pairs = nil, nil
	if r.Judge(); len(r.Metrics) != 0 {
		t.Errorf("%+v of nothing", r.Metrics)
	}
}

// saved makes a result of bench run with such figures per second.
func savedRun(perS []float64, us []int64) *RunResult {
	r := NewRunResult(Environment{Server: "redis"}, DefaultRunOptions())
	for i, n := range perS {
		h := hist.New()
		h.RecordN(time.Duration(us[i])*time.Microsecond, int64(n))
		r.Seconds = append(r.Seconds, RunSecond{T: float64(i + 1), LengthS: 1, OK: int64(n), Histogram: h})
	}
	return r
}

func steady(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

func TestSavedResultsAreCompared(t *testing.T) {
	us := slices.Repeat([]int64{500}, 100)
	a := savedRun(steady(60, 1000), us)
	for name, c := range map[string]struct {
		b    *RunResult
		want string
	}{
		"the same":        {savedRun(steady(60, 1000), us), VerdictNone},
		"a fifth more":    {savedRun(steady(60, 1200), us), VerdictBetter},
		"a fifth less":    {savedRun(steady(60, 800), us), VerdictWorse},
		"less and less":   {savedRun(append(steady(30, 1400), steady(30, 1000)...), us), VerdictNone},
		"shorter, better": {savedRun(steady(minPairs, 1200), us), VerdictBetter},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := CompareSaved(a, c.b, "a.json", "b.json")
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Metrics[0].Verdict; got != c.want || r.Paired {
				t.Errorf("throughput: %s, want %s: %+v", got, c.want, r.Metrics[0])
			}
			if got := r.Metrics[1].Verdict; got != VerdictNone {
				t.Errorf("p50 is the same: %+v", r.Metrics[1])
			}
		})
	}
	if _, err := CompareSaved(a, savedRun(steady(minPairs-1, 1), us), "a", "b"); err == nil {
		t.Error("seven points were enough")
	}
	o := DefaultRunOptions()
	o.Rate = 5
	if _, err := CompareSaved(a, NewRunResult(Environment{}, o), "a", "b"); err == nil {
		t.Error("open and closed loop were compared")
	}
}

func TestSavedSidesThatDifferSaySo(t *testing.T) {
	us := slices.Repeat([]int64{500}, 20)
	a, b := savedRun(steady(20, 1000), us), savedRun(steady(20, 1000), us)
	a.Environment.CPU, a.Environment.ServerConfig = "one", map[string]string{"appendonly": "yes"}
	b.Environment.CPU, b.Params.Conns, b.Workload.Name, b.Workload.Title = "another", 7, "w", "W"
	r, err := CompareSaved(a, b, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"setting appendonly: yes and nothing", "processor: one and another"}; len(r.Differences) != 4 || !slices.Equal(r.Differences[:2], want) {
		t.Errorf("%q", r.Differences)
	}
}
