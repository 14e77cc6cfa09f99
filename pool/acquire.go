package pool

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Acquire leases a conn: an idle one, the one released last first, or else whichever
// comes first of a conn that others release and a new one. It returns by ctx's deadline
// or after AcquireTimeout with an [*AcquireError]; a ctx that has ended is refused
// even if a conn is idle. A caller that leaves gives up its place in the queue and
// nothing else. Idle, it allocates nothing.
func (p *Pool[T]) Acquire(ctx context.Context) (Lease[T], error) {
	if ctx.Err() != nil {
		return Lease[T]{}, p.refuse(ctx)
	}
	p.mu.Lock()
	if n := len(p.idle); n > 0 && p.slow == 0 {
		e := p.idle[n-1]
		if p.now-e.idleSince <= p.freshFor {
			p.idle[n-1] = nil
			p.idle = p.idle[:n-1]
			e.seq++
			e.state = stateLeased
			p.st.Acquires++
			l := Lease[T]{e: e, seq: e.seq}
			p.mu.Unlock()
			return l, nil
		}
	}
	p.mu.Unlock()
	return p.acquireSlow(ctx)
}

// TryAcquire leases an idle conn if there is one that no waiter has a claim to. It
// never waits and never causes a dial.
func (p *Pool[T]) TryAcquire() (Lease[T], bool) {
	p.mu.Lock()
	p.windUp()
	l, ok := p.takeChecked()
	if ok {
		l = p.watched(l)
	}
	p.unlock()
	return l, ok
}

func (p *Pool[T]) popIdle() *entry[T] {
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	e := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	return e
}

// takeChecked leases an idle conn that passes its check. It is called and returns with
// the lock held, but lets go of it during a check.
func (p *Pool[T]) takeChecked() (Lease[T], bool) {
	for !p.closed && p.slow&slowStarving == 0 {
		e := p.popIdle()
		if e == nil {
			break
		}
		stale := p.now-e.idleSince > p.freshFor
		e.state = stateLeased
		if !stale || p.passes(e) {
			return p.lease(e), true
		}
	}
	return Lease[T]{}, false
}

// passes runs Check on e, which the caller has taken out, without the lock. When it
// fails the conn is retired; when the pool was closed by force meanwhile it is gone.
func (p *Pool[T]) passes(e *entry[T]) bool {
	p.unlock()
	ok := p.cfg.Check(e.value)
	if !ok {
		p.ep.Lost(1, p.why(e))
	}
	p.mu.Lock()
	if e.state != stateLeased {
		return false
	}
	if ok && e.gen == p.gen {
		return true
	}
	reason := ReasonValidation
	if ok {
		reason = ReasonGeneration
	}
	p.retire(e, reason)
	return false
}

// lease hands e to a caller.
func (p *Pool[T]) lease(e *entry[T]) Lease[T] {
	e.seq++
	e.state = stateLeased
	p.st.Acquires++
	return Lease[T]{e: e, seq: e.seq}
}

func (p *Pool[T]) acquireSlow(ctx context.Context) (Lease[T], error) {
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return Lease[T]{}, p.refuse(ctx)
	}
	p.mu.Lock()
	p.windUp()
	if l, ok := p.takeChecked(); ok {
		l = p.watched(l)
		p.unlock()
		return l, nil
	}
	if err := p.admit(); err != nil {
		return Lease[T]{}, p.giveUp(&AcquireError{Err: err})
	}
	w := p.queue.get()
	w.since = p.now
	p.queue.pushBack(w)
	p.st.Waits++
	p.overload.joined(p.now, p.queue.n == 1)
	p.maybeDial()
	p.unlock()
	return p.wait(ctx, w)
}

// admit says whether one more caller may wait.
func (p *Pool[T]) admit() error {
	if p.closed {
		return ErrClosed
	}
	n := p.queue.n
	full := n >= p.cfg.MaxWaiters
	if over := n - 2*p.max; p.cfg.EarlyReject && over >= 0 {
		full = full || rand.Float64() < float64(over)/float64(2*p.max)
	}
	if full {
		p.st.Rejected++
		return ErrQueueFull
	}
	return nil
}

// wait is the caller's part of the queue: it looks again whenever it has a token, and
// leaves when its time is up.
func (p *Pool[T]) wait(ctx context.Context, w *waiter[T]) (Lease[T], error) {
	var timeout <-chan time.Time
	if d := p.cfg.AcquireTimeout; d > 0 {
		if w.timer == nil {
			w.timer = time.NewTimer(d)
		} else {
			w.timer.Reset(d)
		}
		timeout = w.timer.C
	}
	done := ctx.Done()
	for {
		var leaving error
		if done == nil && timeout == nil {
			<-w.ch
		} else {
			select {
			case <-w.ch:
			case <-done:
				leaving = refusal(ctx.Err(), ErrAcquireTimeout)
			case <-timeout:
				leaving = ErrAcquireTimeout
			}
		}
		p.mu.Lock()
		p.now = int64(time.Since(p.base))
		if w.state == waiting && leaving == nil {
			p.compete(w)
		}
		switch {
		case w.state == served:
			return p.leaveServed(w), nil
		case w.state == failed:
			return Lease[T]{}, p.leaveFailed(ctx, w, w.err)
		case leaving != nil:
			p.unqueue(w)
			return Lease[T]{}, p.leaveFailed(ctx, w, leaving)
		}
		p.mu.Unlock()
	}
}

// compete lets a woken waiter take an idle conn. If others were faster it keeps its
// place, and from a certain age on it is owed the next conn.
func (p *Pool[T]) compete(w *waiter[T]) {
	w.woken = false
	for w.state == waiting {
		e := p.popIdle()
		if e == nil {
			if p.now-w.since >= handOverAfter && w == p.first() {
				p.setStarving(true)
			}
			return
		}
		if p.now-e.idleSince <= p.freshFor {
			p.serve(w, e)
			p.passOn()
			return
		}
		e.state = stateLeased
		p.unqueue(w) // nobody else may serve it during the check
		ok := p.passes(e)
		switch {
		case ok:
			w.lease, w.state = p.lease(e), served
		case p.closed:
			w.err, w.state = ErrClosed, failed
		default:
			p.queue.pushFront(w)
			p.maybeDial()
		}
	}
}

func (p *Pool[T]) leaveServed(w *waiter[T]) Lease[T] {
	p.sampleServed(w.since)
	l := p.watched(w.lease)
	waited := p.leave(w)
	p.note(Event{Kind: EventWaited, Elapsed: waited})
	p.unlock()
	return l
}

func (p *Pool[T]) leaveFailed(ctx context.Context, w *waiter[T], err error) error {
	waited := p.leave(w)
	e := &AcquireError{Err: err, Waited: waited}
	switch {
	case errors.Is(err, context.Canceled):
		e.Context = contextError(ctx)
		p.st.Canceled++
	case errors.Is(err, ErrAcquireTimeout):
		e.Context = contextError(ctx)
		p.st.Timeouts++
	case errors.Is(err, ErrShed):
		p.st.Shed++
	case errors.Is(err, ErrEndpointDown):
		p.st.Refused++
	}
	return p.giveUp(e)
}

// leave ends w's time as a waiter and returns how long it was.
func (p *Pool[T]) leave(w *waiter[T]) time.Duration {
	waited := time.Duration(p.now - w.since)
	p.st.WaitTime += waited
	if w.timer != nil {
		w.timer.Stop() // before another caller can get w
	}
	p.queue.put(w)
	return waited
}

// refuse is Acquire for a context that has ended.
func (p *Pool[T]) refuse(ctx context.Context) error {
	err := contextError(ctx)
	if err == nil { // the deadline has passed, its timer has not yet fired
		err = context.DeadlineExceeded
	}
	p.mu.Lock()
	if p.closed {
		return p.giveUp(&AcquireError{Err: ErrClosed, Context: err})
	}
	e := &AcquireError{Err: refusal(err, ErrDeadlineTooShort), Context: err}
	if errors.Is(err, context.DeadlineExceeded) {
		p.st.Timeouts++
	} else {
		p.st.Canceled++
	}
	return p.giveUp(e)
}

// giveUp completes e with the pool's state, frees the lock and returns e.
func (p *Pool[T]) giveUp(e *AcquireError) error {
	e.Stat = p.snapshot()
	e.Cause = e.Stat.LastDialError
	p.note(Event{Kind: EventRefused, Err: e, Elapsed: e.Waited})
	p.unlock()
	return e
}
