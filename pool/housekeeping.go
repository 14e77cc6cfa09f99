package pool

import (
	"math/rand/v2"
	"slices"
	"time"
)

// housekeep does what time brings. It runs on a timer: every tick while leases come
// and go, which keeps the coarse clock right, and else only when something is due.
func (p *Pool[T]) housekeep() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.timerAt = 0
	p.now = int64(time.Since(p.base))
	reports, next := p.leaks()
	next = sooner(next, p.expire())
	next = sooner(next, p.drain())
	next = sooner(next, p.ping())
	if p.closed { // ping lets go of the lock
		p.unlock()
		return
	}
	p.maybeDial()
	if p.parked && p.noPlace && p.needsDial() {
		p.reclaim = true // what others could not spare a tick ago they may by now
	}
	if p.parked && p.retryAt > p.now && p.needsDial() {
		next = sooner(next, p.retryAt)
	}
	if p.ops != p.lastOps || p.queue.n > 0 {
		p.lastOps = p.ops
		next = sooner(next, p.now+p.tick)
	} else {
		p.slow |= slowUnwound
		p.queue.spare, p.queue.spares = nil, 0
	}
	if next != 0 {
		p.arm(next)
	}
	p.unlock()
	for _, report := range reports {
		report()
	}
}

// sooner returns the earlier of two times, where 0 is none.
func sooner(a, b int64) int64 {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// expire closes idle conns that were idle, or have lived, too long, and returns when
// the next will be due.
func (p *Pool[T]) expire() (next int64) {
	if d := int64(p.cfg.MaxConnIdleTime); d > 0 {
		keep := 0
		if p.cfg.PingInterval > 0 {
			keep = min(p.cfg.MinIdleConns, p.size)
		}
		for len(p.idle) > keep && p.now-p.idle[0].idleSince >= d {
			p.retireIdle(0, ReasonIdle)
		}
		if len(p.idle) > keep {
			next = p.idle[0].idleSince + d
		}
	}
	if p.cfg.MaxConnLifetime == 0 {
		return next
	}
	for i, e := range p.idle {
		switch {
		case p.now < e.expires:
			next = sooner(next, e.expires)
		case !p.retiring:
			p.retireIdle(i, ReasonLifetime)
			return sooner(next, p.now+p.tick)
		default:
			return sooner(next, p.now+p.tick)
		}
	}
	return next
}

// noteSurplus sets the pace of the drain: after a burst of K conns above Size, one
// leaves every OverflowDrain/K.
func (p *Pool[T]) noteSurplus() {
	surplus := len(p.all) - p.size
	if p.cfg.OverflowDrain == 0 || surplus <= 0 {
		return
	}
	if surplus <= p.drainPeak {
		return
	}
	p.drainPeak = surplus
	if at := p.now + p.drainGap(); p.drainAt == 0 || at < p.drainAt {
		p.drainAt = at
		p.arm(at)
	}
}

// drainGap draws the time to the next departure: U(0.5, 1.5) of the mean.
func (p *Pool[T]) drainGap() int64 {
	mean := float64(p.cfg.OverflowDrain) / float64(max(p.drainPeak, 1))
	return max(int64(mean*(0.5+rand.Float64())), 1)
}

// drain lets conns above Size leave, the one idle for longest first, at the pace set
// by noteSurplus. A conn that was leased within half the gap was needed, and stays; so
// do all while anybody waits. It returns when to look again.
func (p *Pool[T]) drain() (next int64) {
	if p.drainAt == 0 {
		return 0
	}
	gap := int64(p.cfg.OverflowDrain) / int64(max(p.drainPeak, 1))
	if p.now-p.drainAt > 2*max(gap, p.tick) {
		p.drainAt = p.now // turns that were missed are not made up for
	}
	for len(p.all) > p.size && p.drainAt <= p.now {
		if p.queue.n == 0 && len(p.idle) > 0 && p.now-p.idle[0].idleSince >= gap/2 {
			p.retireIdle(0, ReasonDrain)
		}
		p.drainAt += p.drainGap()
	}
	if len(p.all) <= p.size {
		p.drainPeak, p.drainAt = 0, 0
		return 0
	}
	return p.drainAt
}

// ping pings the idle conns that are due and returns when the next is. Each is out of
// the pool for the moment of its ping, during which the lock is free.
func (p *Pool[T]) ping() (next int64) {
	if p.cfg.PingInterval == 0 {
		return 0
	}
	start := p.now
	for !p.closed {
		due := -1
		next = 0
		for i, e := range p.idle {
			at := max(e.pingAt, e.idleSince+int64(p.cfg.PingInterval))
			if at <= start {
				due = i
				break
			}
			next = sooner(next, at)
		}
		if due < 0 {
			return next
		}
		p.pingOne(due)
	}
	return 0
}

func (p *Pool[T]) pingOne(i int) {
	e := p.idle[i]
	p.idle = slices.Delete(p.idle, i, i+1)
	e.state = stateChecking
	e.seq++
	p.checking++
	p.st.Pings++
	p.unlock()
	ok := p.cfg.Ping(e.value)
	if !ok {
		p.ep.Lost(1, p.why(e))
	}
	p.mu.Lock()
	p.now = int64(time.Since(p.base))
	p.checking--
	e.pingAt = p.now + jitter(p.cfg.PingInterval*11/10, 2.0/11)
	reason := p.unfit(e)
	if !ok {
		reason = ReasonValidation
	}
	if reason != ReasonUnknown {
		p.retire(e, reason)
		p.maybeDial()
		return
	}
	// Back to where its idle time puts it.
	at, _ := slices.BinarySearchFunc(p.idle, e.idleSince, func(o *entry[T], since int64) int {
		return int(min(max(o.idleSince-since, -1), 1))
	})
	e.state = stateIdle
	p.idle = slices.Insert(p.idle, at, e)
	p.passOn()
}
