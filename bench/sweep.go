package bench

import (
	"math"

	"github.com/evenkeel-go/evenkeel/report"
)

// kneeShare defines the knee of a sweep: the smallest setting that reaches this
// share of the best rate measured. There is no universal knee, so every text
// that names one says this.
const kneeShare = 0.9

// reaching returns the index of the first rate that reaches a share of the best
// among those that count, or -1 when none counts.
func reaching(share float64, rates []float64, counts func(i int) bool) int {
	best := 0.0
	for i, r := range rates {
		if counts(i) {
			best = max(best, r)
		}
	}
	for i, r := range rates {
		if counts(i) && best > 0 && r >= share*best {
			return i
		}
	}
	return -1
}

// first keeps the first setting of a sweep of which something is true.
func first(keep *int, setting int, is bool) {
	if *keep == 0 && is {
		*keep = setting
	}
}

// ascending checks the settings of a sweep, each 1 to high.
func (c *check) ascending(values []int, high int, option string) {
	c.that(len(values) > 0, option, "no value is given; give at least one")
	for i, v := range values {
		c.between(v, 1, high, option)
		c.that(i == 0 || v > values[i-1], option, "%d follows %d; give them in ascending order", v, values[max(i-1, 0)])
	}
}

// sweepPlots draw rate and latency over a setting.
func sweepPlots(setting string, x, rates, p50, p99 []float64) []report.Plot {
	axis := report.Axis{Label: setting, LogBase: 2}
	return []report.Plot{
		{
			Title: "Commands per second", Caption: "Where the line turns flat, more of it buys nothing.",
			XAxis: axis, YAxis: report.Axis{Label: "commands", Unit: "1/s"}, X: x,
			Series: []report.Series{{Name: "rate", Y: rates}},
		},
		{
			Title: "Time of a command", Caption: "What the callers pay for it. The scale is logarithmic.",
			XAxis: axis, YAxis: report.Axis{Label: "time", Unit: "µs", LogBase: 10}, X: x,
			Series: []report.Series{{Name: "p50", Y: p50}, {Name: "p99", Y: p99}},
		},
	}
}

// plotted is a size in MiB for a plot, with a gap where it is not known.
func plotted(n *int64) float64 {
	if n == nil {
		return math.NaN()
	}
	return float64(*n) / (1 << 20)
}
