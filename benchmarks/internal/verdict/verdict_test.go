package verdict

import (
	"bytes"
	"strings"
	"testing"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/clients"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/experiment"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
)

// runOf makes a run in which each client has one value of a metric per round.
func runOf(metric record.Metric, values map[string][]float64) record.Run {
	var run record.Run
	for client, series := range values {
		for i, v := range series {
			run.Slots = append(run.Slots, record.Slot{
				Experiment: "e", Case: "c", Round: i + 1, Client: client, Metrics: map[record.Metric]float64{metric: v},
			})
		}
	}
	return run
}

// times scales a series.
func times(f float64, series []float64) []float64 {
	var scaled []float64
	for _, v := range series {
		scaled = append(scaled, f*v)
	}
	return scaled
}

var rounds = []float64{100, 50, 200, 150, 75, 120, 300, 80}

func require(metric record.Metric, bound float64, atMost bool, peers ...string) Requirement {
	return Requirement{Experiment: "e", Case: "c", Metric: metric, Ours: "us", Peers: peers, Bound: bound, AtMost: atMost}
}

func TestJudge(t *testing.T) {
	noisy := []float64{1.5, 1.6, 1.7, 1.9, 2.1, 2.2, 2.3, 2.4} // ratios around 2
	var ours []float64
	for i, r := range noisy {
		ours = append(ours, r*rounds[i])
	}
	for _, test := range []struct {
		name   string
		run    record.Run
		r      Requirement
		want   Verdict
		median float64
		peer   string
	}{
		{
			"ratio of each round, whatever the machine did", runOf(record.OpsPerSecond, map[string][]float64{"us": times(2, rounds), "peer": rounds}),
			require(record.OpsPerSecond, 1.9, false, "peer"), Holds, 2, "peer",
		},
		{
			"exactly the bound holds", runOf(record.OpsPerSecond, map[string][]float64{"us": times(2, rounds), "peer": rounds}),
			require(record.OpsPerSecond, 2, false, "peer"), Holds, 2, "peer",
		},
		{
			"below the bound", runOf(record.OpsPerSecond, map[string][]float64{"us": times(2, rounds), "peer": rounds}),
			require(record.OpsPerSecond, 2.1, false, "peer"), Fails, 2, "peer",
		},
		{
			"at most", runOf(record.P99, map[string][]float64{"us": times(0.5, rounds), "peer": rounds}),
			require(record.P99, 0.8, true, "peer"), Holds, 0.5, "peer",
		},
		{
			"at most, and more", runOf(record.P99, map[string][]float64{"us": times(2, rounds), "peer": rounds}),
			require(record.P99, 1, true, "peer"), Fails, 2, "peer",
		},
		{
			"noise around the bound", runOf(record.OpsPerSecond, map[string][]float64{"us": ours, "peer": rounds}),
			require(record.OpsPerSecond, 1.95, false, "peer"), Open, 2, "peer",
		},
		{
			"too few rounds", runOf(record.OpsPerSecond, map[string][]float64{"us": {3, 3, 3, 3, 3}, "peer": {1, 1, 1, 1, 1}}),
			require(record.OpsPerSecond, 1, false, "peer"), TooFew, 3, "peer",
		},
		{
			"the fastest of several", runOf(record.OpsPerSecond, map[string][]float64{"us": times(2, rounds), "slow": times(0.1, rounds), "fast": times(1.6, rounds)}),
			require(record.OpsPerSecond, 1.25, false, "slow", "fast", "absent"), Holds, 1.25, "fast",
		},
		{
			"the smallest of several", runOf(record.ClientCPU, map[string][]float64{"us": times(2, rounds), "dear": times(9, rounds), "cheap": times(1.6, rounds)}),
			require(record.ClientCPU, 1.25, true, "dear", "cheap"), Holds, 1.25, "cheap",
		},
		{"nobody to compare with", runOf(record.OpsPerSecond, map[string][]float64{"us": rounds}), require(record.OpsPerSecond, 1, false, "peer"), NoData, 0, ""},
		{"nothing of ours", runOf(record.OpsPerSecond, map[string][]float64{"peer": rounds}), require(record.OpsPerSecond, 1, false, "peer"), NoData, 0, "peer"},
		{"a value by itself", runOf(record.HeapPerConn, map[string][]float64{"us": {5, 5, 5, 5, 5, 5}}), require(record.HeapPerConn, 6, true), Holds, 5, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Judge(test.run, test.r)
			if got.Verdict != test.want || got.Median != test.median || got.Peer != test.peer {
				t.Errorf("verdict %q, median %v, peer %q; want %q, %v, %q", got.Verdict, got.Median, got.Peer, test.want, test.median, test.peer)
			}
		})
	}
}

func TestJudgeTakesOffTheContext(t *testing.T) {
	run := runOf(record.Allocs, map[string][]float64{"us": {5.01, 5, 5, 5, 5, 5}, "context": {4, 4, 4, 4, 4, 4}})
	r := Requirement{Experiment: "e", Case: "c", Metric: record.Allocs, Ours: "us", Minus: "context", Bound: 1, AtMost: true, Slack: 0.02}
	if got := Judge(run, r); got.Verdict != Holds || got.Median != 1 {
		t.Errorf("verdict %q, median %v; want it to hold at 1", got.Verdict, got.Median)
	}
	r.Bound = 0
	if got := Judge(run, r); got.Verdict != Fails {
		t.Errorf("verdict %q for a bound of 0; want %q", got.Verdict, Fails)
	}
}

// TestJudgeLeavesOutWhatWentWrong: a client does not win by failing quickly.
func TestJudgeLeavesOutWhatWentWrong(t *testing.T) {
	run := runOf(record.OpsPerSecond, map[string][]float64{"us": times(2, rounds), "peer": rounds})
	for i := range run.Slots {
		if s := &run.Slots[i]; s.Client == "us" && s.Round <= 2 {
			s.Metrics[record.OpsPerSecond] = 1e9
			if s.Round == 1 {
				s.Metrics[record.Errors] = 1
			} else {
				s.Failed = "gave up"
			}
		}
	}
	got := Judge(run, require(record.OpsPerSecond, 2, false, "peer"))
	if got.Rounds != len(rounds)-2 || got.Interval.High != 2 {
		t.Errorf("%d rounds up to %v×; want %d up to 2×", got.Rounds, got.Interval.High, len(rounds)-2)
	}
	var out bytes.Buffer
	if _, err := Report(&out, run, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"left out: us, e c, round 1: 1 calls failed", "left out: us, e c, round 2: gave up"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, out.String())
		}
	}
}

// TestRequirements checks the list against what must hold, by counting it.
func TestRequirements(t *testing.T) {
	count := map[string]int{}
	seen := map[string]bool{}
	for _, r := range Requirements() {
		count[r.Experiment]++
		key := strings.Join(append([]string{r.Experiment, r.Case, string(r.Metric), r.Ours}, r.Peers...), "|")
		if seen[key] {
			t.Errorf("%s is required twice", key)
		}
		seen[key] = true
		if r.Ours == "" || r.Case == "" && r.Experiment != "memory" {
			t.Errorf("incomplete: %+v", r)
		}
	}
	want := map[string]int{
		"closed":   2 * (3 + 3 + 3*6), // two kinds of context; 1 and 8 callers; 64, 250 and 1000 against both settings
		"allocs":   4,
		"pipeline": 2 * 3 * 2,
		"pool":     2 * 2 * 2,
		"memory":   2,
	}
	for name, n := range want {
		if count[name] != n {
			t.Errorf("%d requirements of %s, want %d", count[name], name, n)
		}
	}
}

// TestReportOfEveryCase: what must hold in every case is judged in each that there is.
func TestReportOfEveryCase(t *testing.T) {
	var run record.Run
	for _, c := range []struct {
		conns int
		heap  float64
	}{{500, 5000}, {5000, 9000}} {
		for round := 1; round <= 6; round++ {
			run.Slots = append(run.Slots, record.Slot{
				Experiment: "memory", Case: experiment.MemoryCase(c.conns), Round: round, Client: clients.Evenkeel,
				Metrics: map[record.Metric]float64{record.HeapPerConn: c.heap, record.GoroutinesPerConn: 0.001},
			})
		}
	}
	var out bytes.Buffer
	failed, err := Report(&out, run, false)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), " holds"); failed != 1 || n != 3 {
		t.Errorf("%d fail and %d hold, want 1 and 3:\n%s", failed, n, out.String())
	}
}

func TestReport(t *testing.T) {
	var run record.Run
	label := experiment.ClosedCase(8, experiment.WithDeadline)
	for round := 1; round <= 8; round++ {
		for _, c := range []struct {
			name          string
			ops, cpu, p99 float64
		}{{clients.Evenkeel, 60_000, 5, 300}, {clients.Rueidis, 50_000, 10, 200}} {
			run.Slots = append(run.Slots, record.Slot{
				Experiment: "closed", Case: label, Round: round, Client: c.name,
				Metrics: map[record.Metric]float64{record.OpsPerSecond: c.ops, record.ClientCPU: c.cpu, record.P99: c.p99, record.OtherCPU: 0.2},
			})
		}
	}
	var out bytes.Buffer
	failed, err := Report(&out, run, true)
	if err != nil {
		t.Fatal(err)
	}
	if failed != 1 { // p99 is worse
		t.Errorf("%d requirements fail, want 1", failed)
	}
	for _, want := range []string{
		"closed, callers=8 ctx=timeout, median of 8 rounds",
		"1.20 [1.20–1.20]",
		"≥ 1.05×   1.2     1.2–1.2        8       holds",
		"≤ 1×      1.5     1.5–1.5        8       FAILS",
		"doubtful",
		"more things must hold in cases that this run did not measure",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not have %q:\n%s", want, out.String())
		}
	}
	out.Reset()
	if _, err := Report(&out, run, false); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "median of 8 rounds") {
		t.Error("the short report has the tables of the cases")
	}
}
