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

// Join returns a share in the budget for one lane. wake is called, without any lock,
// when a lane that was denied should ask again; the lanes are woken in the order in
// which they were denied. It must not block; it may call Take. A [Pool] joins by itself.
func (b *Budget) Join(wake func()) *Share { return &Share{b: b, wake: wake} }

// Share is one lane's access to a [Budget].
type Share struct {
	b     *Budget
	wake  func()
	queue bool // is in b.hungry
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
	if !s.queue {
		s.queue = true
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

// Leave ends the wake calls; one may still be under way. Places taken stay taken until
// they are given.
func (s *Share) Leave() {
	s.b.mu.Lock()
	if s.queue {
		s.queue = false
		s.b.hungry = slices.DeleteFunc(s.b.hungry, func(o *Share) bool { return o == s })
	}
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
		s.queue = false
		b.mu.Unlock()
		s.wake()
	}
}
