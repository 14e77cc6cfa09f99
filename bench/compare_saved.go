package bench

import (
	"errors"
	"fmt"
	"math"

	"github.com/evenkeel-go/evenkeel/bench/hist"
)

// savedBatches is into how many stretches of time a saved run is divided at most: long
// enough that one says little about the next, and so many that their order statistics
// make an interval.
const savedBatches = 20

// CompareSaved compares two saved results of [Run]. They were not taken by turns, so that
// whatever else changed between them is in the difference too; the intervals come from
// how the figures of each wandered while it ran, and are wider. Names are for people,
// such as those of the files.
//
// An error says why the two cannot be compared, such as a time series of fewer than 8
// points.
func CompareSaved(a, b *RunResult, nameA, nameB string) (*CompareResult, error) {
	if a.Loop != b.Loop {
		return nil, fmt.Errorf("one is of an %s loop and the other of a %s one, whose times count from different moments", LoopOpen, LoopClosed)
	}
	r := &CompareResult{Schema: CompareSchema, Metrics: []CompareMetric{}, Noise: []ComparePair{}, Pairs: []ComparePair{}, Differences: []string{}}
	var turns [2][]CompareTurn
	for i, side := range []struct {
		run  *RunResult
		name string
		to   *CompareSide
	}{{a, nameA, &r.A}, {b, nameB, &r.B}} {
		*side.to = CompareSide{Name: side.name, Environment: side.run.Environment, Params: side.run.Params, Workload: side.run.Workload, Errors: map[string]int64{}}
		side.to.add(side.run)
		if turns[i] = batches(side.run.Seconds); len(turns[i]) < minPairs {
			return nil, fmt.Errorf("%s has a time series of %d points, and %d are needed to tell a difference from noise; measure for longer", side.name, len(turns[i]), minPairs)
		}
	}
	r.Differences = differences(&r.A, &r.B)
	for _, kind := range metricKinds {
		m, ok := compareTurns(turns[0], turns[1], kind.of)
		if !ok {
			continue
		}
		m.Name, m.Unit = kind.name, kind.unit
		m.judge(kind.higherBetter)
		r.Metrics = append(r.Metrics, m)
	}
	if len(r.Metrics) == 0 {
		return nil, errors.New("neither has figures in each part of its time series: too little was answered")
	}
	return r, nil
}

// batches joins the points of a time series to stretches of about the same length. The
// last is dropped when it is shorter than half of the others.
func batches(points []RunSecond) []CompareTurn {
	each := max(1, len(points)/savedBatches)
	var out []CompareTurn
	for i := 0; i+each <= len(points); i += each {
		var ok int64
		var length float64
		times := hist.New()
		for _, p := range points[i : i+each] {
			ok += p.OK
			length += p.LengthS
			times.Merge(p.Histogram)
		}
		if length <= 0 || len(out) > 0 && i+each == len(points) && length < points[0].LengthS*float64(each)/2 {
			continue
		}
		out = append(out, CompareTurn{OKPerS: float64(ok) / length, P50Us: micros(times.Quantile(0.5)), P99Us: micros(times.Quantile(0.99))})
	}
	return out
}

// compareTurns compares turns that were not taken in pairs: the interval of the ratio is
// what the intervals of both sides leave open. ok is false when a side has no such figure.
func compareTurns(a, b []CompareTurn, of func(CompareTurn) float64) (m CompareMetric, ok bool) {
	side := func(turns []CompareTurn) *Estimate {
		var values []float64
		for _, t := range turns {
			values = append(values, of(t))
		}
		return estimateAt(values, outside()/2) // two intervals have to hold at once
	}
	x, y := side(a), side(b)
	if x == nil || y == nil || x.Low <= 0 || y.Low <= 0 {
		return m, false
	}
	n := min(len(a), len(b))
	m.A, m.B = x.Median, y.Median
	m.Ratio = Estimate{Median: y.Median / x.Median, Low: y.Low / x.High, High: y.High / x.Low, Rounds: n}
	// How far each wandered by itself, from its first half to its second.
	m.Noise = Estimate{Median: 1, Low: 1, High: 1, Rounds: n}
	product := 1.0
	for _, turns := range [][]CompareTurn{a, b} {
		drift := side(turns[len(turns)/2:]).Median / side(turns[:len(turns)/2]).Median
		m.Noise.Low, m.Noise.High = min(m.Noise.Low, drift), max(m.Noise.High, drift)
		product *= drift
	}
	m.Noise.Median = math.Sqrt(product)
	return m, true
}
