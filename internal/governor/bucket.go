package governor

import "time"

// bucket is a token bucket in its virtual-scheduling form (GCRA): one time
// instead of a count and a refill. In any time t from its start it grants at
// most burst + t/interval.
type bucket struct {
	interval time.Duration // zero: no limit
	slack    time.Duration // how far ahead of now the next grant may be booked
	next     time.Time     // when the next token is due on the steady schedule
}

// newBucket starts full with burst tokens; with none the first one is due after
// an interval.
func newBucket(now time.Time, burst int, interval time.Duration) bucket {
	b := bucket{interval: interval, next: now}
	if burst <= 0 {
		b.next = now.Add(interval)
		return b
	}
	b.slack = time.Duration(burst-1) * interval
	return b
}

// ready returns the earliest time at which a token can be taken.
func (b *bucket) ready(now time.Time) time.Time {
	if b.interval <= 0 {
		return now
	}
	return b.next.Add(-b.slack)
}

// take books a token; the caller has seen that ready is not after now.
func (b *bucket) take(now time.Time) {
	if b.next.Before(now) {
		b.next = now
	}
	b.next = b.next.Add(b.interval)
}
