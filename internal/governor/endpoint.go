package governor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// Defaults of [EndpointConfig].
const (
	DefaultMaxPending     = 2
	DefaultFirstDelayMax  = time.Second
	DefaultCreateBurst    = 10
	DefaultCreateInterval = 100 * time.Millisecond
)

// Explicit values for settings whose zero means the default.
const (
	// NoBurst, as CreateBurst, grants no overflow dial in advance.
	NoBurst = -1
	// Unlimited, as CreateInterval, switches the creation limit off.
	Unlimited time.Duration = -1
	// NoDelay, as FirstDelayMax, lets all dials follow a mass disconnect at once.
	NoDelay time.Duration = -1
)

// unprovenFor is how long after the last dial the loss of a conn on which no command
// has succeeded counts as a failed dial. What is lost later was a conn that nobody
// needed, closed by an idle limit on the other side.
const unprovenFor = time.Second

// massLoss is how many conns, lost within FirstDelayMax, make a mass disconnect.
const massLoss = 2

// ErrLostUnproven is the cause that a failing endpoint reports when its conns
// were made but lost before any command had succeeded on it, as behind a proxy
// that accepts and then resets.
var ErrLostUnproven = errors.New("governor: connection lost before any command succeeded")

// ErrGivenUp is passed to [Endpoint.Done] for a dial that our own side canceled.
var ErrGivenUp = errors.New("governor: dial given up")

// EndpointConfig sets up an [Endpoint]. Zero values mean the defaults.
type EndpointConfig struct {
	// Name is for people: the address without secrets.
	Name string
	// MaxPending caps the dials under way: default 2. While the endpoint fails it
	// is 1, whatever is set here.
	MaxPending int
	// BackoffBase and BackoffCap bound the delay after a failed dial: defaults
	// 100 ms and 10 s. A fleet of N clients makes 1.5·N/BackoffCap attempts a second
	// on a server that is down; recovery takes up to BackoffCap. A cap below the
	// base counts as the base.
	BackoffBase, BackoffCap time.Duration
	// YoungCap takes the place of BackoffCap while an outage is young: until a
	// fifteenth of the outage is longer, which is the cap then, up to BackoffCap. With
	// 1 s, a server that was away for 30 s is found again within 2 s, at the price of
	// more attempts in the first 150 s. Zero: BackoffCap from the start.
	YoungCap time.Duration
	// FirstDelayMax: after a mass disconnect, all dials but the first are held back
	// by U(0, FirstDelayMax), default 1 s. NoDelay switches that off.
	FirstDelayMax time.Duration
	// CreateBurst overflow dials may start at once, then one per CreateInterval:
	// defaults 10 and 100 ms. NoBurst and Unlimited are the explicit zeros.
	CreateBurst    int
	CreateInterval time.Duration
	// Rand returns U[0,1); nil means math/rand/v2. It is called under the
	// Governor's lock, so it need not be safe for concurrent use.
	Rand func() float64
}

func (c EndpointConfig) withDefaults() EndpointConfig {
	if c.MaxPending <= 0 {
		c.MaxPending = DefaultMaxPending
	}
	if c.BackoffBase <= 0 {
		c.BackoffBase = DefaultBackoffBase
	}
	if c.BackoffCap <= 0 {
		c.BackoffCap = DefaultBackoffCap
	}
	c.BackoffCap = max(c.BackoffCap, c.BackoffBase)
	if c.FirstDelayMax == 0 {
		c.FirstDelayMax = DefaultFirstDelayMax
	}
	if c.CreateBurst == 0 {
		c.CreateBurst = DefaultCreateBurst
	}
	if c.CreateInterval == 0 {
		c.CreateInterval = DefaultCreateInterval
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	return c
}

// State is a snapshot of an [Endpoint].
type State struct {
	Name    string
	Failing bool
	// NextAttempt is when a dial may start again; zero when nothing forbids one now
	// or when that depends on a pending dial.
	NextAttempt time.Time
	// LastError is the last dial error; nil again once a command has succeeded.
	LastError error
	Pending   int // dials under way now

	// Counters since the endpoint was made.
	Started      uint64 // dials that were allowed to start
	Failed       uint64 // dials that ended with an error
	Lost         uint64 // conns reported by Lost
	Denied       uint64 // refusals, for whatever reason
	DeniedTokens uint64 // refusals for want of an overflow token
	Resets       uint64 // times a success ended the failing state
}

type listener struct{ wake func() }

// Endpoint governs the dials to one server address. Get it from
// [Governor.Endpoint]; it is safe for concurrent use.
type Endpoint struct {
	g   *Governor
	cfg EndpointConfig

	// unproven is set while no command has succeeded since the last dial or
	// failure: the only field read without the lock.
	unproven atomic.Bool

	// All below is guarded by g.mu.
	bucket  bucket
	backoff backoff
	delay   time.Duration // the last drawn one
	failing bool
	since   time.Time // when it began to fail
	nextAt  time.Time // while failing
	pending int
	stale   int // pending dials that began before the failing state did
	fresh   int // dials that succeeded since the last command did
	freshAt time.Time

	holdUntil time.Time // after a mass disconnect; dials but the first wait for it
	holdFirst bool      // that first one is still to come
	scouting  bool      // no dial has come through since: one at a time
	lossFrom  time.Time
	lossCount int

	listeners []*listener // copied on write
	turn      int         // whose turn it is to be called first
	wanted    bool        // somebody was denied since the last call
	hungry    bool        // is in g.hungry

	st State
}

// Endpoint returns a new endpoint. Share one among all that dial the same
// server: two endpoints for one server have two caps and two backoffs.
func (g *Governor) Endpoint(cfg EndpointConfig) *Endpoint {
	cfg = cfg.withDefaults()
	return &Endpoint{
		g:       g,
		cfg:     cfg,
		bucket:  newBucket(time.Now(), cfg.CreateBurst, max(cfg.CreateInterval, 0)),
		backoff: backoff{base: cfg.BackoffBase, ceil: cfg.BackoffCap, young: cfg.YoungCap},
		st:      State{Name: cfg.Name},
	}
}

// TryStart asks for a dial. overflow says that the dial goes above the size of
// its pool, and needs a token. Whoever gets ok must call [Endpoint.Done] when
// the attempt has ended.
//
// Denied, a zero retryAt means "when a pending dial ends", of which listeners are
// told; otherwise it is the time when asking again makes sense. While the
// endpoint fails, cause is its last error; in all other cases it is nil.
func (e *Endpoint) TryStart(overflow bool) (ok bool, retryAt time.Time, cause error) {
	now := time.Now()
	e.g.mu.Lock()
	defer e.g.mu.Unlock()
	ok, retryAt = e.admit(now, overflow)
	if !ok {
		e.wanted = true
		e.st.Denied++
		if e.failing {
			cause = e.st.LastError
		}
		return false, retryAt, cause
	}
	if overflow {
		e.bucket.take(now)
	}
	e.holdFirst = false
	e.pending++
	e.g.pending++
	e.st.Started++
	return true, time.Time{}, nil
}

// admit decides, and books nothing but the place in the process-wide queue.
func (e *Endpoint) admit(now time.Time, overflow bool) (ok bool, retryAt time.Time) {
	limit := e.cfg.MaxPending
	if e.failing {
		limit = 1
	}
	if e.pending >= limit {
		return false, time.Time{}
	}
	if e.failing && now.Before(e.nextAt) {
		return false, e.nextAt
	}
	if now.Before(e.holdUntil) && !e.holdFirst {
		return false, e.holdUntil
	}
	if e.scouting && e.pending > 0 {
		return false, time.Time{}
	}
	if overflow {
		if at := e.bucket.ready(now); now.Before(at) {
			e.st.DeniedTokens++
			return false, at
		}
	}
	if e.g.pending >= e.g.max {
		if !e.hungry {
			e.hungry = true
			e.g.hungry = append(e.g.hungry, e)
		}
		return false, time.Time{}
	}
	return true, time.Time{}
}

// Done reports the end of a dial that TryStart allowed: nil, or its error. An
// error makes the endpoint fail, and the next delay counts from now. A nil one
// does not end that state; only Succeeded does. ErrGivenUp says nothing of the
// endpoint.
func (e *Endpoint) Done(err error) {
	now := time.Now()
	e.g.mu.Lock()
	e.pending--
	e.g.pending--
	wasStale := e.stale > 0
	if wasStale {
		e.stale--
	}
	if err == nil {
		e.fresh++
		e.freshAt = now
		e.scouting = false
	}
	switch {
	case errors.Is(err, ErrGivenUp):
	case err != nil:
		e.st.Failed++
		e.fail(now, err, wasStale)
	case e.failing:
		// The conn may still be cut before its first reply: until one has come, the
		// next attempt keeps the same distance.
		e.nextAt = now.Add(e.delay)
	}
	e.unproven.Store(e.failing || e.fresh > 0)
	listeners := e.takeListeners()
	e.g.mu.Unlock()
	// Those who waited for a place in the process go first, else an endpoint that
	// dials all the time would take its own place again for ever.
	e.g.feed()
	call(listeners)
}

// fail enters or prolongs the failing state. Dials that ran side by side when it
// began count as one failure.
func (e *Endpoint) fail(now time.Time, err error, stale bool) {
	e.st.LastError = err
	if !e.failing {
		e.failing = true
		e.since = now
		e.stale = e.pending
		stale = false
	}
	if !stale {
		e.delay = e.backoff.next(e.cfg.Rand, now.Sub(e.since))
	}
	e.nextAt = now.Add(e.delay)
}

// Succeeded reports that a command succeeded on a conn of this endpoint. It ends
// the failing state and resets the backoff. Call it for every success: unless
// there is something to end it is one atomic load.
func (e *Endpoint) Succeeded() {
	if !e.unproven.Load() {
		return
	}
	e.g.mu.Lock()
	e.unproven.Store(false)
	e.fresh = 0
	if !e.failing {
		e.g.mu.Unlock()
		return
	}
	e.failing = false
	e.stale = 0
	e.st.LastError = nil
	e.st.Resets++
	e.backoff.reset()
	listeners := e.takeListeners()
	e.g.mu.Unlock()
	call(listeners)
}

// Lost reports that n established conns were lost; what was closed on purpose
// does not count. Several within FirstDelayMax are a mass disconnect: the next
// dial may start at once and all others only after U(0, FirstDelayMax), so that a
// fleet does not come back in one wave, and one at a time until one has come
// through. When no command has succeeded since the last dial, which was less than a
// second ago, the loss counts as a failed dial; cause says why it was lost and may be nil.
func (e *Endpoint) Lost(n int, cause error) {
	if n <= 0 {
		return
	}
	now := time.Now()
	e.g.mu.Lock()
	e.st.Lost += uint64(n)
	if window := e.cfg.FirstDelayMax; window > 0 {
		if e.lossCount == 0 || now.Sub(e.lossFrom) >= window {
			e.lossFrom, e.lossCount = now, 0
		}
		before := e.lossCount
		e.lossCount += n
		if before < massLoss && e.lossCount >= massLoss {
			e.holdUntil = now.Add(time.Duration(e.cfg.Rand() * float64(window)))
			e.holdFirst = e.pending == 0
			e.scouting = true
		}
	}
	var listeners []*listener
	if e.fresh > 0 && now.Sub(e.freshAt) < unprovenFor {
		e.fresh = 0
		err := ErrLostUnproven
		if cause != nil {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		e.fail(now, err, false)
		listeners = e.takeListeners()
	}
	e.g.mu.Unlock()
	call(listeners)
}

// State returns a snapshot.
func (e *Endpoint) State() State {
	now := time.Now()
	e.g.mu.Lock()
	defer e.g.mu.Unlock()
	st := e.st
	st.Failing = e.failing
	st.Pending = e.pending
	switch {
	case e.failing && e.pending == 0 && now.Before(e.nextAt):
		st.NextAttempt = e.nextAt
	case now.Before(e.holdUntil) && !e.holdFirst:
		st.NextAttempt = e.holdUntil
	}
	return st
}

// Subscribe registers wake, which is called, outside all locks, when somebody who
// was denied should ask again: a pending dial has ended, here or (for one denied
// the process-wide cap) elsewhere, or the backoff was reset or prolonged. The
// listeners take turns in being called first. wake must not block; it may call
// TryStart. One call may still be under way when cancel returns.
func (e *Endpoint) Subscribe(wake func()) (cancel func()) {
	l := &listener{wake: wake}
	e.g.mu.Lock()
	e.listeners = append(slices.Clip(e.listeners), l)
	e.g.mu.Unlock()
	return func() {
		e.g.mu.Lock()
		defer e.g.mu.Unlock()
		kept := make([]*listener, 0, len(e.listeners))
		for _, other := range e.listeners {
			if other != l {
				kept = append(kept, other)
			}
		}
		e.listeners = kept
	}
}

// takeListeners returns whom to call, the one whose turn it is first, or nil when
// nobody was denied since the last time.
func (e *Endpoint) takeListeners() []*listener {
	if !e.wanted || len(e.listeners) == 0 {
		return nil
	}
	e.wanted = false
	n := len(e.listeners)
	e.turn = (e.turn + 1) % n
	order := make([]*listener, 0, n)
	order = append(order, e.listeners[e.turn:]...)
	return append(order, e.listeners[:e.turn]...)
}

func call(listeners []*listener) {
	for _, l := range listeners {
		l.wake()
	}
}
