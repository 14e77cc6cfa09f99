package bench

import (
	"fmt"
	"maps"
	"slices"

	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/report"
)

// CompareSchema names the JSON form of a [CompareResult].
const CompareSchema = "evenkeel.bench.compare/v1"

// CompareResult is what Compare or CompareSaved found.
type CompareResult struct {
	// Schema is [CompareSchema].
	Schema string `json:"schema"`
	// Interrupted is true when the comparison was cut short.
	Interrupted bool `json:"interrupted"`
	// Paired says that A and B were loaded by turns, so that what slows a machine for a
	// while slows both; false for saved results.
	Paired bool `json:"paired"`
	// A and B are the sides.
	A CompareSide `json:"a"`
	B CompareSide `json:"b"`
	// PairsWanted and SlotS are the options as used; 0 for saved results.
	PairsWanted int     `json:"pairs_wanted"`
	SlotS       float64 `json:"slot_s"`
	// Differences are what else differs between the sides besides their figures.
	Differences []string `json:"differences"`
	// Metrics are the figures compared.
	Metrics []CompareMetric `json:"metrics"`
	// Noise are the pairs of A with itself, and Pairs those of A and B. The first side's
	// turn comes first in pairs 0, 2, 4 …, and second in the others.
	Noise []ComparePair `json:"noise"`
	Pairs []ComparePair `json:"pairs"`
}

// CompareSide is one side.
type CompareSide struct {
	// Name is a file's, or empty.
	Name string `json:"name,omitempty"`
	// Environment says where the numbers were taken.
	Environment Environment       `json:"environment"`
	Params      RunParams         `json:"params"`
	Workload    workload.Workload `json:"workload"`
	// ServerConfig are lines that a private server was given.
	ServerConfig []string `json:"server_config,omitempty"`
	// OK and Failed are requests of all turns, Errors the failed ones by code.
	OK     int64            `json:"ok"`
	Failed int64            `json:"failed"`
	Errors map[string]int64 `json:"errors"`
	// GeneratorBound is in how many turns the generator was the limit, of Turns.
	GeneratorBound int `json:"generator_bound"`
	Turns          int `json:"turns"`
}

// ComparePair are two turns, one of each side.
type ComparePair struct {
	A CompareTurn `json:"a"`
	B CompareTurn `json:"b"`
}

// CompareTurn is one turn.
type CompareTurn struct {
	OKPerS float64 `json:"ok_per_s"`
	P50Us  float64 `json:"p50_us"`
	P99Us  float64 `json:"p99_us"`
}

// The verdicts on a figure.
const (
	// VerdictBetter and VerdictWorse are B's, against A.
	VerdictBetter = "better"
	VerdictWorse  = "worse"
	// VerdictNone: what is seen may be noise.
	VerdictNone = "none"
)

// CompareMetric is one figure of both sides.
type CompareMetric struct {
	// Name is "throughput", "p50" or "p99", and Unit "1/s" or "µs".
	Name string `json:"name"`
	Unit string `json:"unit"`
	// A and B are the medians over the turns.
	A float64 `json:"a"`
	B float64 `json:"b"`
	// Ratio is B's over A's, with an interval that is wide enough for all metrics together
	// to be within theirs with 95 % confidence; of the pairs, or of saved results as far as
	// their time series tell.
	Ratio Estimate `json:"ratio"`
	// Noise is the same of A with itself (saved results: of the second half of a run with
	// its first), and Floor how far from 1 it reaches, as a factor of at least 1.
	Noise Estimate `json:"noise"`
	Floor float64  `json:"noise_floor"`
	// Verdict is "better" or "worse" when the interval of Ratio excludes 1 and its median
	// lies beyond Floor, and "none" otherwise.
	Verdict string `json:"verdict"`
}

// metricKinds are the figures that are compared.
var metricKinds = []struct {
	name, unit   string
	higherBetter bool
	of           func(CompareTurn) float64
}{
	{"throughput", "1/s", true, func(t CompareTurn) float64 { return t.OKPerS }},
	{"p50", "µs", false, func(t CompareTurn) float64 { return t.P50Us }},
	{"p99", "µs", false, func(t CompareTurn) float64 { return t.P99Us }},
}

// outside is what may lie outside of the interval of one metric on each side, for all of
// them together to be 95 % sure (Bonferroni).
func outside() float64 { return sure / float64(len(metricKinds)) }

// Judge fills in the metrics from the pairs.
func (r *CompareResult) Judge() {
	r.Metrics = r.Metrics[:0]
	for _, kind := range metricKinds {
		var a, b []float64
		for _, p := range r.Pairs {
			a, b = append(a, kind.of(p.A)), append(b, kind.of(p.B))
		}
		ratio, noise := estimateAt(ratios(r.Pairs, kind.of), outside()), estimateAt(ratios(r.Noise, kind.of), outside())
		if ratio == nil || noise == nil {
			continue
		}
		m := CompareMetric{Name: kind.name, Unit: kind.unit, A: estimate(a).Median, B: estimate(b).Median, Ratio: *ratio, Noise: *noise}
		m.judge(kind.higherBetter)
		r.Metrics = append(r.Metrics, m)
	}
}

// ratios are B's over A's, where both have one.
func ratios(pairs []ComparePair, of func(CompareTurn) float64) []float64 {
	var out []float64
	for _, p := range pairs {
		if a, b := of(p.A), of(p.B); a > 0 && b > 0 {
			out = append(out, b/a)
		}
	}
	return out
}

// judge calls a difference only where the interval leaves no room for none, and the ratio
// lies beyond what A against itself shows, which is no difference of the sides.
func (m *CompareMetric) judge(higherBetter bool) {
	m.Floor, m.Verdict = max(m.Noise.High, 1/m.Noise.Low, 1), VerdictNone
	more := m.Ratio.Low > 1 && m.Ratio.Median > m.Floor
	less := m.Ratio.High < 1 && m.Ratio.Median < 1/m.Floor
	switch {
	case m.Ratio.Rounds < minPairs || m.Noise.Rounds < minPairs: // an interval of fewer is not sure enough
	case more && higherBetter, less && !higherBetter:
		m.Verdict = VerdictBetter
	case more, less:
		m.Verdict = VerdictWorse
	}
}

// differences lists what else differs between two sides.
func differences(a, b *CompareSide) []string {
	out := []string{}
	differ := func(what string, a, b any) {
		if was, is := fmt.Sprint(a), fmt.Sprint(b); was != is {
			out = append(out, fmt.Sprintf("%s: %s and %s", what, orNothing(was), orNothing(is)))
		}
	}
	x, y := &a.Environment, &b.Environment
	differ("address", x.Address, y.Address)
	differ("server", x.Server+" "+x.ServerVersion, y.Server+" "+y.ServerVersion)
	differ("started with", a.ServerConfig, b.ServerConfig)
	names := slices.Sorted(maps.Keys(x.ServerConfig))
	for _, name := range slices.Sorted(maps.Keys(y.ServerConfig)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		differ("setting "+name, x.ServerConfig[name], y.ServerConfig[name])
	}
	differ("processor", x.CPU, y.CPU)
	differ("CPUs", x.CPUs, y.CPUs)
	differ("kernel", x.Kernel, y.Kernel)
	differ("Evenkeel", x.Evenkeel, y.Evenkeel)
	differ("Go", x.Go, y.Go)
	p, q := a.Params, b.Params
	for _, v := range []*RunParams{&p, &q} { // what ends a run is no part of the load
		v.DurationS, v.Requests, v.WarmupS, v.IntervalS = 0, 0, 0, 0
	}
	differ("load", p.text(), q.text())
	if oneLine(a.Workload) != oneLine(b.Workload) {
		out = append(out, "workload: "+a.Workload.Caption()+" and "+b.Workload.Caption())
	}
	return out
}

func orNothing(s string) string {
	if s == "" || s == "[]" || s == " " {
		return "nothing"
	}
	return s
}

func (s *CompareSide) add(r *RunResult) {
	s.OK += r.OK
	s.Failed += r.Failed
	for code, n := range r.Errors {
		s.Errors[code] += n
	}
	if r.Verdict.GeneratorBound {
		s.GeneratorBound++
	}
	s.Turns++
}

// failedShare is the share of its requests that failed, 0 to 1.
func (s *CompareSide) failedShare() float64 {
	if n := s.OK + s.Failed; n > 0 {
		return float64(s.Failed) / float64(n)
	}
	return 0
}

// bound says in how many turns the generator was the limit; empty for none.
func (s *CompareSide) bound() string {
	if s.GeneratorBound == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s", report.Int(s.GeneratorBound), report.Plural(s.Turns, "turn", "turns"))
}
