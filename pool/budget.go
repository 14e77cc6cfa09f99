package pool

import (
	"fmt"
	"slices"
	"sync"
)

// Budget is a hard cap on the conns of several pools (lanes) together. A place is
// taken before a dial starts and given back after Close has returned, so that the cap
// holds as the server counts. It is safe for concurrent use.
type Budget struct {
	mu     sync.Mutex
	max    int
	used   int
	hungry []*Share // denied a place, in that order
	lanes  []*Share
	turn   int // which lane is asked to yield first
}

// NewBudget returns a budget of limit conns, at least 1.
func NewBudget(limit int) *Budget { return &Budget{max: max(limit, 1)} }

// Max returns the cap.
func (b *Budget) Max() int { return b.max }

// Used returns the places taken: open, dialing and closing conns of all lanes.
func (b *Budget) Used() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// String returns "used/max".
func (b *Budget) String() string { return fmt.Sprintf("%d/%d", b.Used(), b.max) }

// Join returns a share in the budget for one lane. A [Pool] joins by itself.
//
// wake is called when a lane that was denied should ask again; the lanes are woken in
// the order in which they were denied. yield, which may be nil, is called when another
// lane asks for a place with [Share.Reclaim]: it may begin to close a conn that its own
// lane can spare, and reports whether it did. Both are called without any lock, must
// not block, and may call Take.
func (b *Budget) Join(wake func(), yield func() bool) *Share {
	s := &Share{b: b, wake: wake, yield: yield}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lanes = append(b.lanes, s)
	return s
}

// Share is one lane's access to a [Budget].
type Share struct {
	b      *Budget
	wake   func()
	yield  func() bool
	queued bool // is in b.hungry
}

// Take asks for a place. After false, wake will be called when it is worth asking again.
func (s *Share) Take() bool {
	b := s.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used < b.max {
		b.used++
		return true
	}
	if !s.queued {
		s.queued = true
		b.hungry = append(b.hungry, s)
	}
	return false
}

// Give returns a place. Do not hold a lock that a wake function takes.
func (s *Share) Give() {
	s.b.mu.Lock()
	s.b.used--
	s.b.mu.Unlock()
	s.b.feed()
}

// Reclaim asks the other lanes, in turn, to give up one conn they can spare, and reports
// whether one does. Its place becomes free when it has closed, of which wake tells. Do
// not hold a lock that a yield function takes.
func (s *Share) Reclaim() bool {
	b := s.b
	b.mu.Lock()
	lanes := b.lanes
	b.turn++
	from := b.turn
	b.mu.Unlock()
	for i := range lanes {
		if o := lanes[(from+i)%len(lanes)]; o != s && o.yield != nil && o.yield() {
			return true
		}
	}
	return false
}

// Leave ends the calls of wake and yield; one may still be under way. Places taken stay taken until
// they are given.
func (s *Share) Leave() {
	same := func(o *Share) bool { return o == s }
	s.b.mu.Lock()
	s.queued = false
	s.b.hungry = slices.DeleteFunc(s.b.hungry, same)
	s.b.lanes = slices.DeleteFunc(slices.Clone(s.b.lanes), same) // Reclaim may be going through it
	s.b.mu.Unlock()
	// A wake meant for this share must not be lost to the others.
	s.b.feed()
}

// feed wakes lanes while places are free. Each turn takes one off the queue, and one
// can only come back while no place is free: so it ends.
func (b *Budget) feed() {
	for {
		b.mu.Lock()
		if len(b.hungry) == 0 || b.used >= b.max {
			b.mu.Unlock()
			return
		}
		s := b.hungry[0]
		b.hungry[0] = nil
		b.hungry = b.hungry[1:]
		s.queued = false
		b.mu.Unlock()
		s.wake()
	}
}
