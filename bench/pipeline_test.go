package bench_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

func smallPipeline(depths ...int) bench.PipelineOptions {
	o := bench.DefaultPipelineOptions()
	o.Depths, o.Conns, o.Workers, o.Rounds, o.Slot, o.Keys = depths, 2, 1, 3, 20*time.Millisecond, 50
	return o
}

func TestPipeline(t *testing.T) {
	noLeaks(t)
	o := smallPipeline(1, 16, 4_096)
	notes := 0
	o.Progress = func(e bench.Event) {
		if strings.Contains(e.Note, "too short to count") {
			notes++
		}
	}
	r, err := bench.Pipeline(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Commands) != 2 || r.Commands[0].Name != "SET" || r.Commands[1].Name != "GET" || r.Params.Engine == "" {
		t.Fatalf("%+v", r)
	}
	short := 0
	for _, c := range r.Commands {
		if len(c.Points) != 3 || c.BestDepth == 0 || c.KneeDepth == 0 || c.KneeDepth > c.BestDepth {
			t.Fatalf("%+v", c)
		}
		for i, p := range c.Points {
			// A batch is sent whole, and waited for.
			if p.Depth != o.Depths[i] || p.OK <= 0 || (p.OK+p.Unanswered)%int64(p.Depth) != 0 || p.Failed != 0 || len(p.Rounds) != 3 || p.Rate == nil || p.Share == nil || p.ServerPerOpUs == nil {
				t.Errorf("%s: %+v", c.Name, p)
			}
			if p.P50Us <= 0 || p.P50Us > p.P99Us || p.P99Us > p.MaxUs {
				t.Errorf("%s, times of %+v", c.Name, p)
			}
			if want := p.OK < int64(10*o.Conns*p.Depth); p.Short != want {
				t.Errorf("%s: short %v: %+v", c.Name, p.Short, p)
			}
			if p.Short {
				short++
			}
		}
	}
	if notes != short {
		t.Errorf("%d short, %d warned of", short, notes)
	}
}

func TestPipelineGivenServer(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithPassword("pw"))
	o := smallPipeline(1, 4)
	o.Target, o.Disturb = bench.Target{Network: "tcp", Address: s.Addr(), Password: "pw"}, true
	o.Commands, o.Sliding, o.Portable = []string{"INCR __key__", "LPUSH __key__ x", "PING"}, true, true
	r, err := bench.Pipeline(t.Context(), o)
	// The INCR of one round meets the lists of the other, so there are error replies.
	if r == nil || r.Params.Engine != "portable" {
		t.Fatalf("%+v, %v", r, err)
	}
	if err == nil {
		var failed int64
		for _, c := range r.Commands {
			for _, p := range c.Points {
				failed += p.Failed
				if p.Errors["WRONGTYPE"] != p.Failed {
					t.Errorf("%+v", p)
				}
			}
		}
		if lead := r.Page().Lead; failed > 0 != contains(lead, "WRONGTYPE") {
			t.Errorf("%d failed: %s", failed, lead)
		}
	} else if !contains(err.Error(), "every request failed") || !contains(err.Error(), "WRONGTYPE") {
		t.Error(err)
	}
	noKeys(t, s)
}

func TestPipelineLeavesOthersKeysAlone(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	if _, err := s.Do(t.Context(), "SET", "theirs", "1"); err != nil {
		t.Fatal(err)
	}
	o := smallPipeline(1)
	o.Target = bench.Target{Network: "tcp", Address: s.Addr()}
	o.Commands = []string{"INCR theirs"}
	r, err := bench.Pipeline(t.Context(), o)
	if refused, ok := errors.AsType[*bench.RefusedError](err); !ok || r != nil || !contains(refused.Error(), "has 1 key") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPipelineCancelled(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := smallPipeline(1, 4)
	o.Target, o.Disturb, o.Rounds = bench.Target{Network: "tcp", Address: s.Addr()}, true, 1_000
	o.Progress = func(e bench.Event) {
		if e.Elapsed >= 9*o.Slot { // two rounds of four turns, and one turn more
			cancel()
		}
	}
	r, err := bench.Pipeline(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || len(r.Commands) != 2 || len(r.Commands[1].Points[1].Rounds) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	noKeys(t, s)
}

func TestPipelineOptions(t *testing.T) {
	for want, change := range map[string]func(*bench.PipelineOptions){
		"command: there are 0":           func(o *bench.PipelineOptions) { o.Commands = nil },
		`command: "SET 'a": commands[0]`: func(o *bench.PipelineOptions) { o.Commands = []string{"SET 'a"} },
		"depths: 4 follows 16":           func(o *bench.PipelineOptions) { o.Depths = []int{16, 4} },
		"workers: 11 threads":            func(o *bench.PipelineOptions) { o.Workers = 11 },
		"slot: 1ms is out of bounds":     func(o *bench.PipelineOptions) { o.Slot = time.Millisecond },
	} {
		o := bench.DefaultPipelineOptions()
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&o)
		if err := o.Validate(); err == nil || !contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// pipelines is a result as a small cloud instance gives it.
func pipelines() *bench.PipelineResult {
	o := bench.DefaultPipelineOptions()
	o.Workers = 1
	r := bench.NewPipelineResult(env(bench.ServerPrivate), o)
	r.Params.Engine = "epoll"
	add := func(name, text string, rates ...float64) {
		c := bench.PipelineCommand{Name: name, Command: text}
		for i, rate := range rates {
			depth := o.Depths[i]
			p := bench.PipelinePoint{
				Depth: depth, OK: int64(rate * 1.8), Errors: map[string]int64{}, P50Us: 7e6 * float64(depth) / rate, P99Us: 12e6 * float64(depth) / rate, MeanUs: 8e6 * float64(depth) / rate, MaxUs: 30e6 * float64(depth) / rate,
				ServerPerOpUs: new(9e5 / rate), ServerCPUShare: new(0.9), WorkerCPUShare: new(rate / 2e6),
			}
			for n := range o.Rounds {
				wobble := 1 + float64(n*(i+2)%5-2)/100
				p.Rounds = append(p.Rounds, bench.PipelineRound{OpsPerS: rate * wobble, P50Us: p.P50Us, P99Us: p.P99Us})
			}
			c.Points = append(c.Points, p)
		}
		r.Commands = append(r.Commands, c)
	}
	add("SET", "SET __key__ __data__", 67_568, 240_000, 714_286, 722_000, 731_429, 790_000, 864_571)
	add("GET", "GET __key__", 66_667, 250_000, 909_091, 950_000, 1_024_000, 1_010_000, 880_000)
	r.FindKnees()
	return r
}

func TestPipelineSentences(t *testing.T) {
	r := pipelines()
	for _, want := range []string{
		"SET: depth 1,024 gets 91 % (", "of what depth 4,096 does, and its replies come 3.65× sooner",
		"GET: depth 64 gets 91 % (", "deeper is worse, 4,096 gets 86 %", "That is 14× the rate without pipelining.",
		"Depth 16 gets 83 % (82 % to 83 %), with replies 57.9× sooner: the better bargain.",
	} {
		if lead := r.Page().Lead; !contains(lead, want) {
			t.Errorf("%q is not in %q", want, lead)
		}
	}
	set := &r.Commands[0]
	for n := range 7 { // one round in three is slow
		set.Points[5].Rounds[3*n%20].OpsPerS *= 0.7
	}
	r.FindKnees()
	if lead := r.Page().Lead; set.KneeLow != 1024 || set.KneeHigh != 4096 || !contains(lead, "The rounds leave the knee open between 1,024 and 4,096.") {
		t.Errorf("knee %d (%d to %d): %s", set.KneeDepth, set.KneeLow, set.KneeHigh, lead)
	}
	for n := range 20 {
		r.Commands[1].Points[3].Rounds[n].OpsPerS *= 1.2
	}
	r.FindKnees()
	if lead := r.Page().Lead; !contains(lead, "GET: depth 64 gets the best rate, 1,117,200 per second; deeper is worse, 4,096 gets 79 %.") {
		t.Error(lead)
	}
	for n := range 11 {
		set.Points[5].Rounds[n].GeneratorBound = true
		set.Points[6].Rounds[n%10].GeneratorBound = true // half of 20 is no majority
	}
	set.Points[2].Failed, set.Points[2].Errors["OOM"] = 12, 12
	set.Points[4].OK = 10
	r.FindKnees()
	lead := r.Page().Lead
	for _, want := range []string{"GENERATOR-BOUND: from depth 1,024 on (SET)", "12 requests failed (12 × OOM)"} {
		if !contains(lead, want) {
			t.Errorf("%q is not in %q", want, lead)
		}
	}
	if !set.Points[5].GeneratorBound || set.Points[6].GeneratorBound || !set.Points[4].Short {
		t.Errorf("%+v", set.Points)
	}
	set.Points = set.Points[:3]
	r.Commands = r.Commands[:1]
	r.FindKnees()
	if lead := r.Page().Lead; set.KneeDepth != 16 || !contains(lead, "the knee may lie deeper: sweep on") {
		t.Errorf("knee %d: %s", set.KneeDepth, lead)
	}
	for i := range set.Points {
		set.Points[i].OK = 1
	}
	r.FindKnees()
	if lead := r.Page().Lead; set.KneeDepth != 0 || !contains(lead, "too short to say") {
		t.Errorf("knee %d: %s", set.KneeDepth, lead)
	}
}
