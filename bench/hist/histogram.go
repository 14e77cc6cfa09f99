package hist

import (
	"iter"
	"math"
	"time"
)

// Histogram counts durations. Make one with New. It is not safe for concurrent
// use: one goroutine records, and whoever reads waits until that one has stopped.
type Histogram struct {
	counts   [buckets]int64
	count    int64
	sum      float64 // nanoseconds; a float, since the sum of a long run passes 63 bits
	min, max time.Duration
}

// New returns an empty histogram.
func New() *Histogram { return &Histogram{min: math.MaxInt64} }

// Record adds one duration. A negative one, which no monotonic clock gives,
// counts as 0.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	h.counts[index(uint64(d))]++
	h.count++
	h.sum += float64(d)
	h.min = min(h.min, d)
	h.max = max(h.max, d)
}

// RecordN adds one duration n times; n below 1 adds nothing.
func (h *Histogram) RecordN(d time.Duration, n int64) {
	if n < 1 {
		return
	}
	d = max(d, 0)
	h.counts[index(uint64(d))] += n
	h.count += n
	h.sum += float64(d) * float64(n)
	h.min = min(h.min, d)
	h.max = max(h.max, d)
}

// Merge adds everything of o, which stays as it is. A nil o adds nothing.
func (h *Histogram) Merge(o *Histogram) {
	if o == nil || o.count == 0 {
		return
	}
	for i, n := range o.counts[index(uint64(o.min)) : index(uint64(o.max))+1] {
		if n != 0 {
			h.counts[index(uint64(o.min))+i] += n
		}
	}
	h.count += o.count
	h.sum += o.sum
	h.min = min(h.min, o.min)
	h.max = max(h.max, o.max)
}

// Reset makes h empty. An empty one costs nothing to reset.
func (h *Histogram) Reset() {
	if h.count == 0 {
		return
	}
	clear(h.counts[index(uint64(h.min)) : index(uint64(h.max))+1])
	h.count, h.sum, h.min, h.max = 0, 0, math.MaxInt64, 0
}

// Clone returns a copy; nil for nil.
func (h *Histogram) Clone() *Histogram {
	if h == nil {
		return nil
	}
	c := *h
	return &c
}

// Count is how many durations were recorded; 0 for a nil histogram.
func (h *Histogram) Count() int64 {
	if h == nil {
		return 0
	}
	return h.count
}

// Min is the shortest duration, exactly; 0 when nothing was recorded.
func (h *Histogram) Min() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return h.min
}

// Max is the longest duration, exactly; 0 when nothing was recorded.
func (h *Histogram) Max() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return h.max
}

// Mean is the mean of all durations, exact but for a nanosecond's rounding; 0 when
// nothing was recorded.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(math.Round(h.sum / float64(h.count)))
}

// StdDev is the standard deviation of the durations, to a bucket's width; 0 when
// nothing was recorded.
func (h *Histogram) StdDev() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	mean := h.sum / float64(h.count)
	var squares float64
	for b := range h.Buckets() {
		d := b.middle() - mean
		squares += d * d * float64(b.Count)
	}
	return time.Duration(math.Round(math.Sqrt(squares / float64(h.count))))
}

// Quantile returns a duration that the fraction q of all recorded ones did not
// exceed: 0.5 is the median, 1 the maximum. It is the upper end of the bucket of
// the value with that rank, so at most 0.8 % above it and never below it, and never
// beyond Max. It is 0 when nothing was recorded.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return h.AtRank(rank(q, h.count))
}

// AtRank returns the duration with the given rank among all recorded ones in
// order, the shortest being 1: for intervals of confidence by order statistics. A
// rank out of bounds counts as the nearest one in bounds. Exactness and zero are
// those of Quantile.
func (h *Histogram) AtRank(r int64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	r = min(max(r, 1), h.count)
	if r == h.count {
		return h.max
	}
	var seen int64
	for b := range h.Buckets() {
		seen += b.Count
		if seen >= r {
			return min(max(b.High, h.min), h.max)
		}
	}
	return h.max
}

// CountUpTo is how many recorded durations were at most d; those that share a
// bucket with d count as at most d.
func (h *Histogram) CountUpTo(d time.Duration) int64 {
	if h.Count() == 0 || d < h.min {
		return 0
	}
	if d >= h.max {
		return h.count
	}
	var n int64
	for _, c := range h.counts[index(uint64(h.min)) : index(uint64(d))+1] {
		n += c
	}
	return n
}

// Buckets yields the buckets that hold something, shortest durations first. The
// histogram must not change meanwhile.
func (h *Histogram) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		if h.Count() == 0 {
			return
		}
		for i := index(uint64(h.min)); i <= index(uint64(h.max)); i++ {
			if h.counts[i] == 0 {
				continue
			}
			low, high := bounds(i)
			if !yield(Bucket{Low: low, High: high, Count: h.counts[i]}) {
				return
			}
		}
	}
}
