package raw

import "github.com/evenkeel-go/evenkeel/bench/workload"

// group is a run of requests on one conn that were written together and were meant to
// start together. Times are nanoseconds from the beginning of the run.
type group struct {
	sent, due int64
	n         int
}

// window is what one conn has in flight: the groups in order, and for each request its
// tag where tags matter. Both grow to what the depth needs and stay.
type window struct {
	scan     scanner
	groups   ring[group]
	tags     ring[workload.Tag]
	inflight int
	hello    int    // replies to Config.Hello that are still due
	served   int    // requests sent on this conn
	size     int    // of the value that has begun, in bytes so far
	whole    []byte // with Config.Verify: the beginning of a reply that was split
}

// reset forgets all, for a new conn. Memory stays.
func (c *window) reset() {
	c.scan = scanner{}
	c.groups.clear()
	c.tags.clear()
	c.inflight, c.hello, c.served = 0, 0, 0
	c.size, c.whole = 0, c.whole[:0]
}

// ring is a queue in a slice whose length is a power of two.
type ring[T any] struct {
	items []T
	first int
	used  int
}

func (r *ring[T]) push(v T) {
	if r.used == len(r.items) {
		r.grow()
	}
	r.items[(r.first+r.used)&(len(r.items)-1)] = v
	r.used++
}

func (r *ring[T]) grow() {
	items := make([]T, max(4, 2*len(r.items)))
	n := copy(items, r.items[r.first:])
	copy(items[n:], r.items[:r.first])
	r.items, r.first = items, 0
}

// front is the oldest item; there has to be one.
func (r *ring[T]) front() *T { return &r.items[r.first] }

func (r *ring[T]) pop() {
	r.first = (r.first + 1) & (len(r.items) - 1)
	r.used--
}

func (r *ring[T]) clear() { r.first, r.used = 0, 0 }
