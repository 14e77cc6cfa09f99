package bench_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

func smallPool(sizes ...int) bench.PoolOptions {
	o := bench.DefaultPoolOptions()
	o.Sizes, o.Callers, o.Rounds, o.Slot, o.Keys = sizes, 6, 3, 50*time.Millisecond, 50
	return o
}

func TestPool(t *testing.T) {
	noLeaks(t)
	o := smallPool(1, 2, 3, 4, 5, 8, 12)
	o.Command = "SET __key__ __data__"
	r, err := bench.Pool(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Points) != 7 || r.Shared == nil || r.Fit == nil || r.Fit.LambdaPerS <= 0 || r.Fit.Sigma < 0 || r.Fit.Kappa < 0 {
		t.Fatalf("%+v", r)
	}
	if r.BestSize == 0 || r.BestSize > 8 || r.KneeSize > r.EnoughSize || r.EnoughSize > r.BestSize || r.EnoughLow > r.EnoughSize || r.EnoughSize > r.EnoughHigh {
		t.Errorf("best %d, knee %d, enough %d (%d to %d)", r.BestSize, r.KneeSize, r.EnoughSize, r.EnoughLow, r.EnoughHigh)
	}
	for i, p := range append(r.Points, *r.Shared) {
		if p.Calls <= 0 || p.Errors != 0 || len(p.Rounds) != 3 || p.Rate == nil || p.Share == nil || p.P99 == nil || p.ServerPerOpUs == nil || p.P50Us <= 0 || p.P99Us < p.P50Us || p.MaxUs < p.P99Us {
			t.Errorf("%+v", p)
		}
		switch {
		case i == 7:
			if p.Size != 2 || p.WaitUs != nil {
				t.Errorf("the shared lane: %+v", p)
			}
		case p.Size != o.Sizes[i]:
			t.Errorf("size %d, want %d", p.Size, o.Sizes[i])
		case p.WaitUs == nil || p.Size == 1 && *p.WaitUs == 0: // six callers on one connection wait for each other
			t.Errorf("size %d: waited %v", p.Size, p.WaitUs)
		}
	}
}

func TestPoolGivenServer(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithPassword("pw"))
	o := smallPool(2)
	o.Target, o.Disturb = bench.Target{Network: "tcp", Address: s.Addr(), Password: "pw"}, true
	o.Think, o.SkipShared = 5*time.Millisecond, true
	r, err := bench.Pool(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// Nobody calls more often than once in a rest, but for the tail of the rests' distribution.
	if p := r.Points[0]; r.Shared != nil || r.Fit != nil || p.Calls == 0 || p.Rate.Median > 5*6/o.Think.Seconds() {
		t.Errorf("%+v", r)
	}
	noKeys(t, s)
	o.Command = "LPUSH __key__ x"
	o.Think = 0
	if r, err = bench.Pool(t.Context(), o); err != nil || r.Points[0].Errors != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	noKeys(t, s)
	o.Command = "NOSUCH __key__"
	if r, err = bench.Pool(t.Context(), o); err == nil || !contains(err.Error(), "a pool of 2: every call failed, the first with:") || r == nil || len(r.Points) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPoolCancelled(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := smallPool(1, 2)
	o.Target, o.Disturb, o.Rounds = bench.Target{Network: "tcp", Address: s.Addr()}, true, 1_000
	o.Progress = func(e bench.Event) {
		if e.Elapsed >= 7*o.Slot { // two rounds of three turns, and one turn more
			cancel()
		}
	}
	r, err := bench.Pool(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || len(r.Points) != 2 || len(r.Points[1].Rounds) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	noKeys(t, s)
}

func TestPoolOptions(t *testing.T) {
	for want, change := range map[string]func(*bench.PoolOptions){
		"sizes: no value is given":           func(o *bench.PoolOptions) { o.Sizes = nil },
		"callers: 0 is out of bounds":        func(o *bench.PoolOptions) { o.Callers = 0 },
		`command: "": commands[0]`:           func(o *bench.PoolOptions) { o.Command = "" },
		"slot: 100ms is too short for call":  func(o *bench.PoolOptions) { o.Think = time.Second },
		"rounds: 1001 is out of bounds":      func(o *bench.PoolOptions) { o.Rounds = 1_001 },
		"value-size: 0 is out of bounds; gi": func(o *bench.PoolOptions) { o.ValueSize = 0 },
	} {
		o := bench.DefaultPoolOptions()
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&o)
		if err := o.Validate(); err == nil || !contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// pools is a result as a machine with processors to spare gives it.
func pools() *bench.PoolResult {
	o := bench.DefaultPoolOptions()
	e := env(bench.ServerPrivate)
	e.CPUs = 8
	r := bench.NewPoolResult(e, o)
	point := func(size int, rate float64) bench.PoolPoint {
		us := 64 / rate * 1e6
		p := bench.PoolPoint{
			Size: size, Calls: int64(rate * 3), MeanUs: us, P50Us: us * 0.9, P99Us: us * 2, MaxUs: us * 9, WaitUs: new(max(us-150, 0)),
			ServerPerOpUs: new(5 + 100/float64(size+9)), ServerCPUShare: new(min(rate/150_000, 1)), OwnPerOpUs: new(9 + 100/float64(size+9)), OwnCPUShare: new(rate / 60_000),
		}
		random := rand.New(rand.NewPCG(uint64(size), 1)) //nolint:gosec // sizes are positive
		for range o.Rounds {
			wobble := 1 + 0.03*(2*random.Float64()-1)
			p.Rounds = append(p.Rounds, bench.PoolRound{OpsPerS: rate * wobble, P99Us: p.P99Us / wobble})
		}
		return p
	}
	for i, size := range o.Sizes {
		r.Points = append(r.Points, point(size, []float64{20_000, 38_000, 74_000, 110_000, 134_000, 141_000, 130_000, 120_000}[i]))
	}
	shared := point(2, 310_000)
	shared.WaitUs = nil
	r.Shared = &shared
	r.FindSizes()
	return r
}

func TestPoolSentences(t *testing.T) {
	r := pools()
	if r.KneeSize != 16 || r.EnoughSize != 16 || r.BestSize != 32 || r.EnoughHigh != 32 || r.Fit == nil || r.Fit.PeakN == nil {
		t.Errorf("knee %d, enough %d (%d to %d), best %d, fit %+v", r.KneeSize, r.EnoughSize, r.EnoughLow, r.EnoughHigh, r.BestSize, r.Fit)
	}
	for _, want := range []string{
		"For 64 callers a pool of 16 is enough: 134,095 calls per second, 95 % (95 % to 96 %) of the best", "The rounds leave it open between 16 and 32",
		"More is worse: 64, one for each caller, get 93 % of the best rate.",
		"The shared lane gets 2.3× the rate of that pool over 2 connections", "use it where calls need no connection of their own",
	} {
		if lead := r.Page().Lead; !contains(lead, want) {
			t.Errorf("%q is not in %q", want, lead)
		}
	}
	for i := range r.Points {
		for n := range r.Points[i].Rounds {
			r.Points[i].Rounds[n].P99Us = 100 + 6_400/float64(r.Points[i].Size)
		}
	}
	r.FindSizes()
	if lead := r.Page().Lead; r.P99Size != 64 || !contains(lead, "For the shortest waits take 64: their p99 is 985 µs.") {
		t.Errorf("p99 size %d: %s", r.P99Size, lead)
	}
	r.Params.Callers, r.Environment.CPUs = 200, 2
	r.Points[3].Errors, r.Points[3].Error = 4, "OOM command not allowed"
	r.FindSizes()
	for _, want := range []string{"More is worse: 128 get 86 %", "GENERATOR-BOUND: this process used 2.23 of its 2 processors", "4 calls failed, the first with: OOM"} {
		if lead := r.Page().Lead; !contains(lead, want) {
			t.Errorf("%q is not in %q", want, lead)
		}
	}
	r.Points = r.Points[:4]
	r.FindSizes()
	if lead := r.Page().Lead; r.EnoughSize != 8 || r.Fit != nil || !contains(lead, "the best of all sizes") || !contains(lead, "No larger one was tried") {
		t.Errorf("enough %d, %+v: %s", r.EnoughSize, r.Fit, lead)
	}
	for i := range r.Points {
		for n := range r.Points[i].Rounds {
			r.Points[i].Rounds[n].OpsPerS = 0
		}
	}
	r.FindSizes()
	if lead := r.Page().Lead; r.EnoughSize != 0 || !contains(lead, "longer --slot") {
		t.Error(lead)
	}
	uneven := pools()
	for n := range uneven.Points[6].Rounds {
		uneven.Points[6].Rounds[n].OpsPerS *= 0.5 + 0.7*float64(n%2)
	}
	uneven.FindSizes()
	if lead := uneven.Page().Lead; !contains(lead, "Whether more are worse the rounds do not tell: 64, one for each caller, get") {
		t.Error(lead)
	}
	// Without contention or a peak, and where the law does not hold.
	for want, rates := range map[string][]float64{
		"The rate grows in proportion": {1_000, 2_000, 4_000, 8_000, 16_000},
		"The fit has no peak":          {1_000, 1_667, 2_500, 3_333, 4_000},
		"it describes these rates badly": {
			1_000, 9_000, 500, 9_000, 700,
		},
	} {
		r := pools()
		r.Points = r.Points[:5]
		for i := range r.Points {
			for n := range r.Points[i].Rounds {
				r.Points[i].Rounds[n].OpsPerS = rates[i]
			}
		}
		r.FindSizes()
		sections := r.Page().Sections
		if text := sections[len(sections)-1].Prose[0]; !contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}
