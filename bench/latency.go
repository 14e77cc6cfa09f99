package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of a Latency. Below a millisecond its steps are at most 1 µs, above
// they are at most 0.1 % of the value.
const (
	latencyUnit   = 100 * time.Nanosecond
	latencyMax    = 10 * time.Minute
	latencyDigits = 3
)

// Latency is a histogram of times. It belongs to one goroutine: each worker
// records into its own, and they are merged when the workers are done. One takes
// about 200 KiB. Make it with NewLatency.
//
// Minimum, maximum and mean are exact; quantiles are exact to 0.1 % or 0.1 µs,
// whichever is more. Times beyond 10 minutes count as 10 minutes in quantiles.
type Latency struct {
	h        *hdrhistogram.Histogram
	count    int64
	sum      time.Duration
	min, max time.Duration
}

// NewLatency returns an empty histogram.
func NewLatency() *Latency {
	return &Latency{h: hdrhistogram.New(int64(latencyUnit), int64(latencyMax), latencyDigits)}
}

// Record adds one time; a negative one, which only a clock that was set back
// can give, counts as 0.
func (l *Latency) Record(d time.Duration) {
	d = max(d, 0)
	if l.count == 0 || d < l.min {
		l.min = d
	}
	l.max = max(l.max, d)
	l.count++
	l.sum += d
	// In range by construction, so there is no error to handle.
	_ = l.h.RecordValue(int64(min(d, latencyMax)))
}

// Merge adds all times of from, which is left as it is.
func (l *Latency) Merge(from *Latency) {
	if from.count == 0 {
		return
	}
	if l.count == 0 || from.min < l.min {
		l.min = from.min
	}
	l.max = max(l.max, from.max)
	l.count += from.count
	l.sum += from.sum
	l.h.Merge(from.h)
}

// Count returns how many times were recorded.
func (l *Latency) Count() int64 { return l.count }

// MeanUs returns the mean in microseconds, 0 when nothing was recorded.
func (l *Latency) MeanUs() float64 {
	if l.count == 0 {
		return 0
	}
	return micros(l.sum) / float64(l.count)
}

// MinUs returns the shortest time in microseconds, 0 when nothing was recorded.
func (l *Latency) MinUs() float64 { return micros(l.min) }

// MaxUs returns the longest time in microseconds, 0 when nothing was recorded.
func (l *Latency) MaxUs() float64 { return micros(l.max) }

// QuantileUs returns the time that the fraction q of all calls did not exceed,
// in microseconds: 0.5 is the median. Between two recorded times it is the
// nearer one by rank. It is 0 when nothing was recorded.
func (l *Latency) QuantileUs(q float64) float64 {
	if l.count == 0 {
		return 0
	}
	d := time.Duration(l.h.ValueAtQuantile(q * 100))
	return micros(min(max(d, l.min), l.max))
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
