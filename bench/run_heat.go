package bench

import (
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/report"
)

// The cells of a heat map: no more columns than a screen shows apart, and rows of a
// third of a power of two, so that 1 µs to 1 s has sixty.
const (
	heatColumns   = 200
	rowsPerDouble = 3
)

// heatMaps shows where the times of each moment lie; none when no point of the series
// has any.
func (r *RunResult) heatMaps() []report.HeatMap {
	least, most := time.Duration(math.MaxInt64), time.Duration(0)
	for _, s := range r.Seconds {
		if s.Histogram.Count() > 0 {
			least, most = min(least, s.Histogram.Min()), max(most, s.Histogram.Max())
		}
	}
	if most == 0 {
		return nil
	}
	m := report.HeatMap{
		Title: "Where the times lie", Caption: "Each column is a moment; the darker a cell, the more requests took so long then. The scales of time taken and of darkness are logarithmic.",
		XAxis: report.Axis{Label: "time", Unit: "s"}, YAxis: report.Axis{Label: "took, " + r.clock(), Unit: "µs", LogBase: 10}, What: "requests",
	}
	row := func(d time.Duration) float64 { return rowsPerDouble * math.Log2(max(micros(d), 0.1)) }
	first, last := math.Floor(row(least)), math.Floor(row(most))+1
	for i := first; i <= last; i++ {
		m.Y = append(m.Y, math.Exp2(i/rowsPerDouble))
	}
	m.X = []float64{max(0, r.Seconds[0].T-r.Seconds[0].LengthS)}
	each := (len(r.Seconds) + heatColumns - 1) / heatColumns
	for i := 0; i < len(r.Seconds); i += each {
		group := r.Seconds[i:min(i+each, len(r.Seconds))]
		sum := hist.New()
		for _, s := range group {
			sum.Merge(s.Histogram)
		}
		// Two points of one moment, as a clock that stood still makes them, are one column.
		if end := group[len(group)-1].T; end > m.X[len(m.X)-1] {
			m.X = append(m.X, end)
			m.Counts = append(m.Counts, cells(sum, m.Y))
		}
	}
	if len(m.Counts) == 0 {
		return nil
	}
	return []report.HeatMap{m}
}

// cells counts the values between each two edges, in microseconds. What lies below the
// first or above the last edge by the width of a bucket belongs to the cell beside it.
func cells(h *hist.Histogram, edges []float64) []int64 {
	out := make([]int64, len(edges)-1)
	var before int64
	for i := range out {
		upTo := h.Count()
		if i < len(out)-1 {
			upTo = h.CountUpTo(time.Duration(edges[i+1] * float64(time.Microsecond)))
		}
		out[i] = upTo - before
		before = upTo
	}
	return out
}
