package hist

import (
	"math"
	"math/bits"
	"time"
)

// The grid: every power of two is cut into 1<<gridBits buckets.
const (
	gridBits = 7
	gridSize = 1 << gridBits
	// maxShift is the shift of the last power of two of a 63-bit value.
	maxShift = 63 - gridBits - 1
	// buckets are 2*gridSize of width 1, then gridSize for each further shift.
	buckets = 2*gridSize + maxShift*gridSize
)

// index returns the bucket of v, which is not negative.
func index(v uint64) int {
	// With gridSize or'ed in, the shift is 0 for everything below 2*gridSize.
	shift := bits.Len64(v|gridSize) - gridBits - 1
	return shift<<gridBits + int(v>>uint(shift)) //nolint:gosec // shift is 0 to maxShift
}

// bounds returns the lowest and the highest value of bucket i.
func bounds(i int) (low, high time.Duration) {
	if i < 2*gridSize {
		return time.Duration(i), time.Duration(i)
	}
	shift := i>>gridBits - 1
	first := (i&(gridSize-1) + gridSize) << shift
	return time.Duration(first), time.Duration(first + 1<<shift - 1)
}

// Bucket is one bucket that holds something.
type Bucket struct {
	// Low and High are the lowest and the highest duration that belong to it.
	Low, High time.Duration
	// Count is how many were recorded, at least 1.
	Count int64
}

// middle is the duration that stands for all of the bucket's.
func (b Bucket) middle() float64 {
	return (float64(b.Low) + float64(b.High)) / 2
}

// rank is the place of the quantile q among count values in order, from 1.
func rank(q float64, count int64) int64 {
	if !(q > 0) { // a NaN too
		return 1
	}
	if q >= 1 {
		return count
	}
	// Less than half a unit in the last place, so that 0.999 of 1,000 is 999 and not 1,000.
	r := int64(math.Ceil(q*float64(count) - 1e-9*float64(count)*q))
	return min(max(r, 1), count)
}
