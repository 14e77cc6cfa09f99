package pool

import (
	"context"
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/governor"
)

// patience is how long the oldest waiter waits, while conns are open that may come
// back, before a second dial starts beside a first: so a short spike that the open
// conns can serve costs one conn, not two.
const patience = int64(25 * time.Millisecond)

// maybeDial starts the dials that are needed and allowed. It is called whenever
// something it depends on has changed, with p.now set.
func (p *Pool[T]) maybeDial() {
	for !p.closed && p.needsDial() {
		total := p.total()
		if total >= p.max {
			return
		}
		if p.parked && (p.retryAt == 0 || p.now < p.retryAt) {
			p.failSurplus()
			return
		}
		if p.share != nil && !p.share.Take() {
			p.park(time.Time{}, nil)
			p.noPlace, p.reclaim = true, true
			return
		}
		ok, at, cause := p.ep.TryStart(total >= p.size)
		if !ok {
			if p.share != nil {
				p.owed++
			}
			p.park(at, cause)
			p.failSurplus()
			return
		}
		p.parked = false
		p.dialing++
		p.st.Dials++
		go p.dial(p.dialCtx, p.gen)
	}
}

// needsDial says whether one more dial would be of use now.
func (p *Pool[T]) needsDial() bool {
	coming := len(p.idle) + p.checking + p.dialing
	if p.queue.n > coming {
		if p.dialing == 0 || len(p.all) == 0 {
			return true
		}
		second := p.queue.head.since + patience
		if p.now >= second {
			return true
		}
		p.arm(second)
		return false
	}
	if p.dialing > 0 && len(p.all) > 0 {
		return false
	}
	return coming-p.queue.n < p.cfg.MinIdleConns && p.total() < p.size
}

// park remembers a refusal, so that not every caller asks again.
func (p *Pool[T]) park(at time.Time, cause error) {
	p.parked, p.noPlace = true, false
	p.downCause, p.downUntil = cause, at
	p.retryAt = 0
	if !at.IsZero() {
		p.retryAt = int64(at.Sub(p.base))
		p.arm(p.retryAt)
	}
}

// failSurplus fails waiters, newest first, while the endpoint refuses and nothing is
// open that could come back: all but one for each dial under way.
func (p *Pool[T]) failSurplus() {
	if p.downCause == nil || p.cfg.WaitWhileFailing || len(p.all) > 0 {
		return
	}
	for p.queue.n > p.dialing {
		p.fail(p.queue.tail, &EndpointDownError{Cause: p.downCause, NextAttempt: p.downUntil})
	}
}

// dial runs on its own goroutine. gen is the generation for which it was started.
func (p *Pool[T]) dial(parent context.Context, gen uint64) {
	ctx, cancel := parent, context.CancelFunc(func() {})
	if p.cfg.DialTimeout > 0 {
		ctx, cancel = context.WithTimeout(parent, p.cfg.DialTimeout)
	}
	start := time.Now()
	value, err := p.cfg.Dial(ctx)
	cancel()
	took := time.Since(start)
	givenUp := err != nil && parent.Err() != nil
	if givenUp {
		p.ep.Done(governor.ErrGivenUp)
	} else {
		p.ep.Done(err)
	}

	p.mu.Lock()
	p.windUp()
	p.dialing--
	if err != nil {
		if p.share != nil {
			p.owed++
		}
		if !givenUp {
			p.st.DialErrors++
			p.st.LastDialError = err
			p.note(Event{Kind: EventDialFailed, Err: err, Elapsed: took})
		}
		if p.slow&slowShrink != 0 {
			p.shrinkCheck()
		}
		p.finish()
	} else {
		p.st.Opened++
		p.st.LastDialError = nil
		p.note(Event{Kind: EventOpened, Elapsed: took})
		p.add(value, gen)
	}
	p.maybeDial()
	p.unlock()
}

// add takes a new conn in, or closes it if it comes too late.
func (p *Pool[T]) add(value T, gen uint64) {
	e := &entry[T]{value: value, p: p, gen: gen, born: p.now, expires: math.MaxInt64, index: len(p.all)}
	if d := p.cfg.MaxConnLifetime; d > 0 {
		e.expires = p.now + jitter(d, 0.1)
	}
	p.all = append(p.all, e)
	switch reason := p.unfit(e); reason {
	case ReasonUnknown:
	case ReasonShutdown:
		p.retire(e, ReasonDialLate)
		return
	default:
		p.retire(e, reason)
		return
	}
	p.noteSurplus()
	e.idleSince = p.now
	if w := p.first(); w != nil {
		p.serve(w, e)
		w.signal()
		return
	}
	p.putIdle(e)
}
