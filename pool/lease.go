package pool

import (
	"runtime"
	"time"
)

// checkHeadEvery: while running callers may take conns from under the waiters, one in
// so many releases looks at the clock, for the case that the woken waiter does not
// get to run at all.
const checkHeadEvery = 16

// Lease is the right to use a conn, once. It is a small value; copies of it are the
// same right. The zero Lease is one already released. Give it back with exactly one of
// Release and Discard: what comes later returns ErrReleased and does nothing.
type Lease[T any] struct {
	e   *entry[T]
	seq uint64
	tag *leakTag // not nil with leak detection only
}

// Value returns the conn. It is meaningless to use it after the lease has ended.
func (l Lease[T]) Value() T {
	if l.e == nil {
		var none T
		return none
	}
	return l.e.value
}

// Release gives the conn back as good.
func (l Lease[T]) Release() error {
	e := l.e
	if e == nil {
		return ErrReleased
	}
	p := e.p
	p.mu.Lock()
	if e.seq != l.seq {
		p.mu.Unlock()
		return ErrReleased
	}
	e.seq++
	p.ops++
	if p.slow == 0 && p.now < e.expires && e.gen == p.gen {
		e.idleSince = p.now
		e.state = stateIdle
		if p.queue.n == 0 {
			p.idle = append(p.idle, e)
			p.mu.Unlock()
		} else {
			p.releaseToWaiters(e)
		}
	} else {
		p.releaseSlow(e)
	}
	if p.ownEndpoint {
		p.ep.Succeeded()
	}
	runtime.KeepAlive(l.tag)
	return nil
}

// releaseToWaiters makes e idle and wakes the waiter whose turn it is, which competes
// for it with whoever runs.
func (p *Pool[T]) releaseToWaiters(e *entry[T]) {
	w := p.first()
	if p.ops%checkHeadEvery == 0 && int64(time.Since(p.base))-w.since >= handOverAfter {
		p.setStarving(true)
		p.handOver(e)
		return
	}
	p.idle = append(p.idle, e)
	if w.woken {
		p.mu.Unlock()
		return
	}
	w.woken = true
	p.mu.Unlock()
	w.signal()
}

// handOver leases e to the waiter whose turn it is, and yields: the waiter stands next
// in line on this processor, and would else wait until this goroutine blocks.
func (p *Pool[T]) handOver(e *entry[T]) {
	p.now = int64(time.Since(p.base))
	w := p.first()
	if p.now-w.since < handOverAfter {
		p.setStarving(false)
	}
	p.serve(w, e)
	p.unlock()
	w.signal()
	runtime.Gosched()
}

func (p *Pool[T]) releaseSlow(e *entry[T]) {
	p.windUp()
	p.endTrack(e)
	switch reason := p.unfit(e); {
	case reason != ReasonUnknown:
		p.retire(e, reason)
		p.maybeDial()
		p.unlock()
	case p.queue.n == 0:
		p.putIdle(e)
		p.unlock()
	case p.slow&slowStarving != 0:
		p.handOver(e)
	default:
		e.idleSince = p.now
		e.state = stateIdle
		p.releaseToWaiters(e)
	}
}

// putIdle adds e, which has just been used or made, to the idle ones.
func (p *Pool[T]) putIdle(e *entry[T]) {
	e.idleSince = p.now
	e.state = stateIdle
	p.idle = append(p.idle, e)
}

// unfit says why e must not be used again, if it must not.
func (p *Pool[T]) unfit(e *entry[T]) Reason {
	switch {
	case p.closed:
		return ReasonShutdown
	case e.gen != p.gen:
		return ReasonGeneration
	case len(p.all)+p.dialing > p.max:
		return ReasonResize
	case p.now >= e.expires && !p.retiring:
		return ReasonLifetime
	}
	return ReasonUnknown
}

// Discard gives the conn back to be closed, on another goroutine. A reason of
// ReasonUnknown counts as ReasonError.
func (l Lease[T]) Discard(reason Reason) error {
	if reason == ReasonUnknown || reason >= reasonCount {
		reason = ReasonError
	}
	e := l.e
	if e == nil {
		return ErrReleased
	}
	p := e.p
	p.mu.Lock()
	if e.seq != l.seq {
		p.mu.Unlock()
		return ErrReleased
	}
	p.now = int64(time.Since(p.base))
	p.endLease(e)
	p.retire(e, reason)
	p.mu.Unlock()
	// Before the next dial is asked for, so that it is the one that may start at once.
	if reason.lost() {
		p.ep.Lost(1, p.why(e))
	}
	p.mu.Lock()
	p.maybeDial()
	p.unlock()
	runtime.KeepAlive(l.tag)
	return nil
}

// why is what broke a conn, as far as it is known.
func (p *Pool[T]) why(e *entry[T]) error {
	if p.cfg.Err == nil {
		return nil
	}
	return p.cfg.Err(e.value)
}

// endLease makes every copy of e's lease void.
func (p *Pool[T]) endLease(e *entry[T]) {
	e.seq++
	p.ops++
	p.endTrack(e)
}
