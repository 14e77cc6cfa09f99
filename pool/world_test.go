package pool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/governor"
)

var errRefused = errors.New("connection refused")

// conn is what the tests pool.
type conn struct {
	id     int
	mu     sync.Mutex
	dead   bool // Check and Ping will find it dead
	inUse  bool
	closed bool
	reason Reason
}

// use marks the conn as one caller's own, and reports when it already is another's.
func (c *conn) use() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inUse || c.closed {
		return fmt.Errorf("conn %d handed out while in use=%v closed=%v", c.id, c.inUse, c.closed)
	}
	c.inUse = true
	return nil
}

func (c *conn) unuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inUse = false
}

func (c *conn) die() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
}

func (c *conn) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.dead
}

// world is the other side: it counts as a server would, with a conn on it from the
// start of its dial to the end of its close.
type world struct {
	mu         sync.Mutex
	dialTime   time.Duration
	closeTime  time.Duration
	dialErr    error
	deaf       bool // dials ignore their context
	start      time.Time
	dialing    int
	maxDialing int
	seen       int // open + dialing + closing
	maxSeen    int
	dials      []time.Duration // start times
	conns      []*conn
	closes     map[Reason]int
	closedAt   []time.Duration
	pings      int
	checks     int
}

func newWorld() *world { return &world{start: time.Now(), closes: map[Reason]int{}} }

func (w *world) set(f func(*world)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w)
}

func (w *world) dial(ctx context.Context) (*conn, error) {
	w.mu.Lock()
	w.dialing++
	w.maxDialing = max(w.maxDialing, w.dialing)
	w.seen++
	w.maxSeen = max(w.maxSeen, w.seen)
	w.dials = append(w.dials, time.Since(w.start))
	delay, deaf := w.dialTime, w.deaf
	w.mu.Unlock()

	var err error
	if delay > 0 {
		t := time.NewTimer(delay)
		defer t.Stop()
		if deaf {
			<-t.C
		} else {
			select {
			case <-t.C:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialing--
	if err == nil {
		err = w.dialErr
	}
	if err != nil {
		w.seen--
		return nil, err
	}
	c := &conn{id: len(w.conns)}
	w.conns = append(w.conns, c)
	return c, nil
}

func (w *world) close(c *conn, r Reason) {
	w.mu.Lock()
	delay := w.closeTime
	w.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
	c.mu.Lock()
	c.closed, c.reason = true, r
	c.mu.Unlock()
	w.mu.Lock()
	w.seen--
	w.closes[r]++
	w.closedAt = append(w.closedAt, time.Since(w.start))
	w.mu.Unlock()
}

func (w *world) counts() (dials, seen, maxSeen, maxDialing int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.dials), w.seen, w.maxSeen, w.maxDialing
}

// seenSoFar is a copy of what a world has counted.
type seenSoFar struct {
	dials, closedAt []time.Duration
	closes          map[Reason]int
	conns           []*conn
	pings, checks   int
}

func (w *world) look() seenSoFar {
	w.mu.Lock()
	defer w.mu.Unlock()
	return seenSoFar{slices.Clone(w.dials), slices.Clone(w.closedAt), maps.Clone(w.closes), slices.Clone(w.conns), w.pings, w.checks}
}

// config is a pool on w with everything that closes conns by itself switched off.
func (w *world) config(size, overflow int) Config[*conn] {
	return Config[*conn]{
		Dial: w.dial, Close: w.close, Size: size, Overflow: overflow, DialTimeout: 2 * time.Second,
		Check: func(c *conn) bool {
			w.set(func(w *world) { w.checks++ })
			return c.alive()
		},
	}
}

// ungoverned returns an endpoint whose dials are limited by the pending cap alone.
func ungoverned() *governor.Endpoint {
	return governor.New(governor.Config{}).Endpoint(governor.EndpointConfig{
		Name: "test", CreateInterval: governor.Unlimited, FirstDelayMax: governor.NoDelay,
	})
}

func mustNew(tb testing.TB, cfg Config[*conn]) *Pool[*conn] {
	tb.Helper()
	p, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func mustAcquire(tb testing.TB, p *Pool[*conn]) Lease[*conn] {
	tb.Helper()
	l, err := p.Acquire(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func mustRelease(tb testing.TB, l Lease[*conn]) {
	tb.Helper()
	if err := l.Release(); err != nil {
		tb.Fatal(err)
	}
}

// fill opens n conns and makes them idle.
func fill(tb testing.TB, p *Pool[*conn], n int) {
	tb.Helper()
	leases := make([]Lease[*conn], n)
	for i := range leases {
		leases[i] = mustAcquire(tb, p)
	}
	for _, l := range leases {
		mustRelease(tb, l)
	}
}

// shut closes p and checks that nothing is left of it.
func shut(tb testing.TB, p *Pool[*conn], w *world) {
	tb.Helper()
	if err := p.Close(context.Background()); err != nil {
		tb.Errorf("Close: %v", err)
	}
	if _, seen, _, _ := w.counts(); seen != 0 {
		tb.Errorf("the server still sees %d conns after Close", seen)
	}
	s := p.Stat()
	if s.Open+s.Dialing+s.Closing+s.Waiting != 0 {
		tb.Errorf("after Close: %+v", s)
	}
}

// verify checks the invariants that hold at any moment.
func (p *Pool[T]) verify() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total() > p.max && p.slow&slowShrink == 0 {
		return fmt.Errorf("%d open + %d dialing + %d closing > max %d", len(p.all), p.dialing, p.closing, p.max)
	}
	idle, checking := 0, 0
	for i, e := range p.all {
		if e.index != i {
			return fmt.Errorf("entry %d has index %d", i, e.index)
		}
		switch e.state {
		case stateIdle:
			idle++
		case stateChecking:
			checking++
		case stateClosing:
			return errors.New("a closing conn among the open ones")
		case stateLeased:
		}
	}
	if idle != len(p.idle) || checking != p.checking {
		return fmt.Errorf("%d idle states for %d idle conns, %d checking for %d", idle, len(p.idle), checking, p.checking)
	}
	n := 0
	var last *waiter[T]
	for w := p.queue.head; w != nil; w = w.next {
		if w.prev != last || w.state != waiting {
			return errors.New("broken queue")
		}
		last = w
		n++
	}
	if n != p.queue.n || last != p.queue.tail {
		return fmt.Errorf("%d in the queue, counted %d", n, p.queue.n)
	}
	if n == 0 && p.slow&slowStarving != 0 {
		return errors.New("starving without waiters")
	}
	return nil
}
