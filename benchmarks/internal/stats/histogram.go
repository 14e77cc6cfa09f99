package stats

import (
	"math/bits"
	"time"
)

// Each power of two is cut into 32 buckets, so that a bucket's middle is at most 1.6 %
// off. Below 2^firstOctave ns the buckets are linear; from 2^lastOctave ns (69 s) on
// everything falls into the last one.
const (
	subBits     = 5
	subBuckets  = 1 << subBits
	firstOctave = 8
	lastOctave  = 36
	unit        = firstOctave - subBits // log2 of the width of the first buckets, in ns
	buckets     = (lastOctave - firstOctave + 1) * subBuckets
)

// Histogram counts durations in buckets whose width grows with the value. Recording
// costs a few nanoseconds and allocates nothing; one histogram takes 3.7 KB. The zero
// value is ready for use. It is not safe for concurrent use.
type Histogram struct {
	counts [buckets]uint32
	total  uint64
	max    time.Duration
}

// Record counts one duration; a negative one counts as 0.
func (h *Histogram) Record(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
	h.max = max(h.max, d)
}

// Merge adds what other has counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.max = max(h.max, other.max)
}

// Reset forgets everything.
func (h *Histogram) Reset() { *h = Histogram{} }

// Count returns how many durations were recorded.
func (h *Histogram) Count() uint64 { return h.total }

// Quantile returns the middle of the bucket that holds the q-quantile, 0 < q ≤ 1, but
// never more than the largest duration recorded. It is 0 when nothing was recorded.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := uint64(q * float64(h.total))
	if float64(rank) < q*float64(h.total) {
		rank++
	}
	rank = min(max(rank, 1), h.total)
	var seen uint64
	for i, n := range h.counts {
		seen += uint64(n)
		if seen >= rank {
			return min(middleOf(i), h.max)
		}
	}
	return h.max
}

func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < 1<<firstOctave {
		return int(v >> unit)
	}
	octave := bits.Len64(v) - 1
	if octave >= lastOctave {
		return buckets - 1
	}
	return (octave-firstOctave+1)*subBuckets + int(v>>(octave-subBits))&(subBuckets-1)
}

func middleOf(bucket int) time.Duration {
	if bucket < subBuckets {
		return time.Duration(bucket<<unit + 1<<unit/2)
	}
	octave := bucket/subBuckets + firstOctave - 1
	width := 1 << (octave - subBits)
	return time.Duration(1<<octave + bucket%subBuckets*width + width/2)
}
