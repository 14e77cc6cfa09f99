package pool

import "time"

// retire takes e, which is in nobody's hands and not in idle, out of the pool and
// closes it on another goroutine. It goes on counting until that has ended.
func (p *Pool[T]) retire(e *entry[T], reason Reason) {
	last := len(p.all) - 1
	p.all[e.index] = p.all[last]
	p.all[e.index].index = e.index
	p.all[last] = nil
	p.all = p.all[:last]
	e.state = stateClosing
	e.seq++
	p.closing++
	p.st.closed[reason]++
	if reason == ReasonLifetime {
		p.retiring = true
	}
	p.note(Event{Kind: EventClosed, Reason: reason, Elapsed: time.Duration(p.now - e.born)})
	go p.close(e, reason)
}

// retireIdle retires the idle conn at index i; 0 is the one idle for longest.
func (p *Pool[T]) retireIdle(i int, reason Reason) {
	e := p.idle[i]
	copy(p.idle[i:], p.idle[i+1:])
	p.idle[len(p.idle)-1] = nil
	p.idle = p.idle[:len(p.idle)-1]
	p.retire(e, reason)
}

func (p *Pool[T]) close(e *entry[T], reason Reason) {
	p.cfg.Close(e.value, reason)
	p.mu.Lock()
	p.now = int64(time.Since(p.base))
	p.closing--
	if p.slow&slowShrink != 0 {
		p.shrinkCheck()
	}
	if p.share != nil {
		p.owed++
	}
	if reason == ReasonLifetime {
		p.retiring = false
	}
	p.maybeDial()
	p.finish()
	p.unlock()
}

// yield is called by the budget when another lane needs a place: it gives up the conn
// that has been idle for longest, if it was for a tick at least, so that lanes in
// use do not take conns from each other in turns.
func (p *Pool[T]) yield() bool {
	p.mu.Lock()
	p.now = int64(time.Since(p.base))
	ok := !p.closed && p.queue.n == 0 && len(p.idle) > min(p.cfg.MinIdleConns, p.size) &&
		p.now-p.idle[0].idleSince >= p.tick
	if ok {
		p.retireIdle(0, ReasonYield)
	}
	p.unlock()
	return ok
}
