package pool

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/governor"
)

// Bits of Pool.slow: why Acquire and Release must leave their short way.
const (
	slowClosed   = 1 << iota // the pool is closed
	slowUnwound              // the coarse clock stands still
	slowStarving             // the oldest waiter is owed the next conn
	slowLeaks                // leak detection is on
	slowShrink               // more conns than Resize allows
)

// Pool is a bounded pool of conns of type T. Make it with [New]; all its methods are
// safe for concurrent use.
type Pool[T any] struct {
	mu sync.Mutex

	// What Acquire and Release touch comes first. slow is 0 while the short way may
	// be taken.
	slow     uint8
	now      int64 // coarse clock: ns since base, at most a tick old unless slowUnwound
	freshFor int64 // idle time up to which a conn needs no check
	gen      uint64
	ops      uint64 // leases ended, so that the housekeeper sees activity
	lastOps  uint64
	idle     []*entry[T]
	queue    queue[T]

	all      []*entry[T] // open: idle, leased or under a check
	checking int         // of all, taken out by the housekeeper for a moment
	dialing  int
	closing  int

	size, max int
	parked    bool  // the governor or the budget said no; wake or retryAt ends it
	noPlace   bool  // it was the budget
	retryAt   int64 // when to ask again, 0: wake will tell
	downCause error // not nil: the endpoint was failing when asked
	downUntil time.Time
	retiring  bool  // a lifetime retirement is in flight
	drainPeak int   // most conns above size since there were none
	drainAt   int64 // when the next of them may leave, 0: none
	overload  codel

	timer   *time.Timer
	timerAt int64 // when it fires, 0: not armed
	tick    int64

	dialCtx    context.Context // of the current generation's dials
	dialCancel context.CancelFunc

	closed bool
	done   chan struct{} // closed once the pool is closed and nothing is left

	// Collected under the lock, acted upon by unlock.
	owed     int  // places to give back to the budget
	reclaim  bool // ask the other lanes of the budget for a place
	events   []Event
	settling int // calls of unlock under way that Close must wait for

	st Stat

	// Never changed after New.
	cfg         Config[T]
	base        time.Time
	ep          *governor.Endpoint
	ownEndpoint bool
	unsubscribe func()
	share       *Share
}

// entry is a conn and what the pool knows of it.
type entry[T any] struct {
	value     T
	p         *Pool[T]
	seq       uint64 // changes at every change of hands
	gen       uint64
	idleSince int64 // coarse, and never later than the truth
	expires   int64 // math.MaxInt64: never
	pingAt    int64
	born      int64
	index     int // in Pool.all
	state     entryState
	leak      *leakRecord
}

type entryState uint8

const (
	stateLeased entryState = iota
	stateIdle
	stateChecking
	stateClosing
)

// New returns a pool, or an error that names each setting that is wrong. It opens
// nothing unless MinIdleConns asks for it.
func New[T any](cfg Config[T]) (*Pool[T], error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	p := &Pool[T]{
		cfg:  cfg,
		base: time.Now(),
		ep:   cfg.Endpoint,
		size: cfg.Size,
		max:  cfg.Size + cfg.Overflow,
		done: make(chan struct{}),
		slow: slowUnwound,
		tick: int64(min(max(cfg.ValidateAfter/4, time.Millisecond), 250*time.Millisecond)),
	}
	if p.ep == nil {
		p.ownEndpoint = true
		p.ep = governor.New(governor.Config{}).Endpoint(governor.EndpointConfig{Name: "pool"})
	}
	p.freshFor = math.MaxInt64
	if cfg.Check != nil {
		p.freshFor = int64(cfg.ValidateAfter) - p.tick
	}
	if cfg.LeakThreshold > 0 {
		p.slow |= slowLeaks
	}
	p.dialCtx, p.dialCancel = context.WithCancel(context.Background())
	p.timer = time.AfterFunc(time.Hour, p.housekeep)
	p.timer.Stop()
	p.overload.init(cfg.CoDel, p.shed)
	p.unsubscribe = p.ep.Subscribe(p.wake)
	if cfg.Budget != nil {
		p.share = cfg.Budget.Join(p.wake, p.yield)
	}
	p.mu.Lock()
	p.windUp()
	p.maybeDial()
	p.unlock()
	return p, nil
}

// unlock ends a critical section that may have left something to do outside it.
func (p *Pool[T]) unlock() {
	owed, events, reclaim := p.owed, p.events, p.reclaim
	p.owed, p.events, p.reclaim = 0, nil, false
	settle := owed > 0 || (p.closed && len(events) > 0)
	if settle {
		p.settling++
	}
	p.mu.Unlock()
	for range owed {
		p.share.Give()
	}
	if reclaim {
		p.share.Reclaim()
	}
	for _, ev := range events {
		p.cfg.OnEvent(ev)
	}
	if settle {
		p.mu.Lock()
		p.settling--
		p.finish()
		p.mu.Unlock()
	}
}

// windUp sets the coarse clock and sees to it that it goes on.
func (p *Pool[T]) windUp() {
	p.now = int64(time.Since(p.base))
	if p.slow&(slowUnwound|slowClosed) == slowUnwound {
		p.slow &^= slowUnwound
		p.arm(p.now + p.tick)
	}
}

// arm makes the housekeeper run at the time given, or before.
func (p *Pool[T]) arm(at int64) {
	if p.closed || (p.timerAt != 0 && p.timerAt <= at) {
		return
	}
	p.timerAt = at
	p.timer.Reset(time.Duration(max(at-p.now, 0)))
}

func (p *Pool[T]) total() int { return len(p.all) + p.dialing + p.closing }

// wake is called by the governor and by the budget when an earlier no may be a yes.
func (p *Pool[T]) wake() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.parked = false
	p.now = int64(time.Since(p.base))
	p.maybeDial()
	p.unlock()
}

// Clear starts a new generation: no conn made before will be leased again. Idle ones
// are closed now and leased ones when they are released; dials under way are canceled,
// and discarded if they end well all the same. Waiters stay, and get new conns, which
// come at the governor's pace.
func (p *Pool[T]) Clear() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.gen++
	p.now = int64(time.Since(p.base))
	for len(p.idle) > 0 {
		p.retire(p.popIdle(), ReasonGeneration)
	}
	p.dialCancel()
	p.dialCtx, p.dialCancel = context.WithCancel(context.Background())
	p.note(Event{Kind: EventCleared})
	p.maybeDial()
	p.unlock()
}

// Resize changes Size and Overflow. Conns above the new maximum are closed, idle ones
// now and leased ones when they are released. MinIdleConns is cut to Size.
func (p *Pool[T]) Resize(size, overflow int) error {
	if err := validateSize(size, overflow); err != nil {
		return err
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	p.windUp()
	p.size, p.max = size, size+overflow
	p.parked = false
	p.noteSurplus()
	for len(p.idle) > 0 && len(p.all)+p.dialing > p.max {
		p.retireIdle(0, ReasonResize)
	}
	p.shrinkCheck()
	p.maybeDial()
	p.unlock()
	return nil
}

// shrinkCheck notes whether more conns count than a Resize allows.
func (p *Pool[T]) shrinkCheck() {
	if p.total() > p.max {
		p.slow |= slowShrink
	} else {
		p.slow &^= slowShrink
	}
}

// Close ends the pool: Acquire fails from now on with ErrClosed, so do the callers that
// wait; idle conns are closed, and dials under way canceled. It then waits until all
// leases have been given back and all conns are closed. If ctx ends first, it takes
// the conns away from their leases, closes them, and returns an error; what Close and
// Dial functions still run then ends on its own. Calling it again waits again.
func (p *Pool[T]) Close(ctx context.Context) error {
	p.mu.Lock()
	first := !p.closed
	if first {
		p.closed = true
		p.slow |= slowClosed
		p.dialCancel()
		p.timer.Stop()
		p.overload.stop()
		for w := p.queue.head; w != nil; w = p.queue.head {
			p.fail(w, ErrClosed)
		}
		for len(p.idle) > 0 {
			p.retire(p.popIdle(), ReasonShutdown)
		}
		p.finish()
	}
	p.unlock()
	if first {
		p.unsubscribe()
		if p.share != nil {
			p.share.Leave()
		}
	}
	select {
	case <-p.done:
		return nil
	default:
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	cut := 0
	for _, e := range slices.Clone(p.all) { // retire changes the order
		if e.state == stateLeased {
			p.endLease(e)
			p.retire(e, ReasonShutdown)
			cut++
		}
	}
	dialing, closing := p.dialing, p.closing
	p.unlock()
	return fmt.Errorf("pool: close: %d leases cut, %d dials and %d closes still to end: %w",
		cut, dialing, closing, ctx.Err())
}

// finish closes done once nothing is left of a closed pool.
func (p *Pool[T]) finish() {
	if !p.closed || p.total()+p.owed+p.settling+len(p.events) > 0 {
		return
	}
	select {
	case <-p.done:
	default:
		close(p.done)
	}
}

// jitter returns d less a random part of up to share of it.
func jitter(d time.Duration, share float64) int64 {
	return int64(d) - int64(rand.Float64()*share*float64(d))
}
