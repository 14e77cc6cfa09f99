package verdict

import (
	"cmp"
	"slices"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/stats"
)

// confidence of the intervals by which requirements are judged.
const confidence = 0.95

// Verdict is what a run says of a requirement.
type Verdict string

// The verdicts.
const (
	Holds  Verdict = "holds"   // the whole interval is on the right side of the bound
	Open   Verdict = "open"    // the bound lies within the interval: more rounds may tell
	Fails  Verdict = "FAILS"   // the whole interval is on the wrong side
	TooFew Verdict = "too few" // there are too few rounds for an interval
	NoData Verdict = "no data" // ours or the peer has not been measured
)

// Judgement is a requirement with what was found.
type Judgement struct {
	Requirement
	// Peer is the best of the peers; empty when a value is judged.
	Peer string
	// Median and Interval are of the ratios, or of the values. Interval is zero when
	// there are too few.
	Median   float64
	Interval stats.Interval
	Rounds   int
	Verdict  Verdict
}

// Judge applies a requirement to a run.
func Judge(run record.Run, r Requirement) Judgement {
	j := Judgement{Requirement: r, Verdict: NoData}
	ours := series(run, r.Experiment, r.Case, r.Ours, r.Metric)
	if r.Minus != "" {
		ours = combine(ours, series(run, r.Experiment, r.Case, r.Minus, r.Metric), func(a, b float64) float64 { return a - b })
	}
	values := ours
	if len(r.Peers) > 0 {
		var theirs map[int]float64
		j.Peer, theirs = best(run, r)
		values = combine(ours, theirs, func(a, b float64) float64 { return a / b })
	}
	if len(values) == 0 {
		return j
	}
	sample := inOrder(values)
	j.Rounds = len(sample)
	j.Median = stats.Median(sample)
	interval, ok := stats.MedianInterval(sample, confidence)
	if !ok {
		j.Verdict = TooFew
		return j
	}
	j.Interval = interval
	j.Verdict = r.verdict(interval)
	return j
}

func (r Requirement) verdict(interval stats.Interval) Verdict {
	meets := func(v float64) bool {
		if r.AtMost {
			return v <= r.Bound+r.Slack
		}
		return v >= r.Bound-r.Slack
	}
	low, high := meets(interval.Low), meets(interval.High)
	switch {
	case low && high:
		return Holds
	case low || high:
		return Open
	default:
		return Fails
	}
}

// best returns the peer with the best median, and its values.
func best(run record.Run, r Requirement) (name string, values map[int]float64) {
	bestMedian := 0.0
	for _, peer := range r.Peers {
		theirs := series(run, r.Experiment, r.Case, peer, r.Metric)
		if len(theirs) == 0 {
			continue
		}
		median := stats.Median(inOrder(theirs))
		if name == "" || (median < bestMedian) == r.AtMost && median != bestMedian {
			name, values, bestMedian = peer, theirs, median
		}
	}
	return name, values
}

// usable slots are those in which everything went well.
func usable(s record.Slot) bool { return s.Failed == "" && s.Metrics[record.Errors] == 0 }

// series maps rounds to the values of a metric.
func series(run record.Run, experiment, label, client string, metric record.Metric) map[int]float64 {
	values := map[int]float64{}
	for _, s := range run.Slots {
		if s.Experiment != experiment || s.Case != label || s.Client != client || !usable(s) {
			continue
		}
		if v, ok := s.Metrics[metric]; ok {
			values[s.Round] = v
		}
	}
	return values
}

// combine pairs two series by round.
func combine(a, b map[int]float64, f func(a, b float64) float64) map[int]float64 {
	both := map[int]float64{}
	for round, v := range a {
		if w, ok := b[round]; ok {
			both[round] = f(v, w)
		}
	}
	return both
}

func inOrder(values map[int]float64) []float64 {
	rounds := make([]int, 0, len(values))
	for round := range values {
		rounds = append(rounds, round)
	}
	slices.SortFunc(rounds, cmp.Compare)
	ordered := make([]float64, len(rounds))
	for i, round := range rounds {
		ordered[i] = values[round]
	}
	return ordered
}
