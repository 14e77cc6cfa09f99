package bench

import (
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/bench/raw"
)

// maxSeries bounds the points of a time series: a plot has no more columns to show
// them, and a run of days must not grow.
const maxSeries = 600

// series makes the time series of a run out of its intervals. When it is full, each
// two points become one, so that a point stays a sum of whole intervals.
type series struct {
	points []seriesPoint
	fold   int           // intervals per point
	inLast int           // intervals in the last one
	least  time.Duration // a shorter interval is none of its own
}

type seriesPoint struct {
	end, length time.Duration
	ok, failed  int64
	conns       int
	backlog     int64
	times       *hist.Histogram
}

// newSeries is for a run with intervals of that length. What is less than half of it, as
// around the end of the warm-up, is counted to a neighbour.
func newSeries(interval time.Duration) *series { return &series{fold: 1, least: interval / 2} }

// add takes an interval of the measured part; end counts from that part's beginning.
func (s *series) add(i *raw.Interval, end time.Duration) {
	whole := i.Elapsed >= s.least
	if len(s.points) == 0 || s.inLast == s.fold && whole {
		if len(s.points) == maxSeries {
			s.halve()
		}
		s.points = append(s.points, seriesPoint{times: hist.New()})
		s.inLast = 0
	}
	if whole {
		s.inLast++
	}
	p := &s.points[len(s.points)-1]
	p.end, p.length = end, p.length+i.Elapsed
	p.ok += i.OK()
	p.failed += i.Failed()
	p.conns, p.backlog = i.Open, i.Backlog
	p.times.Merge(i.Times())
}

// halve makes one point of each two.
func (s *series) halve() {
	half := s.points[:0]
	for n := 0; n+1 < len(s.points); n += 2 {
		a, b := s.points[n], s.points[n+1]
		a.times.Merge(b.times)
		b.length += a.length
		b.ok += a.ok
		b.failed += a.failed
		b.times = a.times
		half = append(half, b)
	}
	clear(s.points[len(half):])
	s.points = half
	s.fold *= 2
}

// seconds is the series as it stands in a result.
func (s *series) seconds() []RunSecond {
	out := make([]RunSecond, 0, len(s.points))
	for _, p := range s.points {
		out = append(out, RunSecond{
			T: p.end.Seconds(), LengthS: p.length.Seconds(), OK: p.ok, Failed: p.failed, Conns: p.conns, Backlog: p.backlog,
			P50Us: micros(p.times.Quantile(0.5)), P99Us: micros(p.times.Quantile(0.99)), MaxUs: micros(p.times.Max()), Histogram: p.times,
		})
	}
	return out
}
