package pool

import "time"

// Defaults of [CoDel].
const (
	DefaultCoDelTarget   = 5 * time.Millisecond
	DefaultCoDelInterval = 100 * time.Millisecond
)

// CoDel sheds waiters under lasting overload. In each Interval the shortest wait is
// noted; if even that was above Target, the pool is overloaded: it fails callers that
// have waited for more than twice Target with ErrShed, and while more than High wait it
// serves the newest first, since the oldest would time out anyway. It returns to oldest
// first at Low.
type CoDel struct {
	// Enabled switches it on.
	Enabled bool
	// Target is the acceptable wait: 0 means 5 ms. It should be above the time that
	// conns are usually held for.
	Target time.Duration
	// Interval is how long the wait must be above Target: 0 means 100 ms.
	Interval time.Duration
	// High and Low are numbers of waiters: 0 means once and three quarters of Max.
	High, Low int
}

func (c *CoDel) setDefaults(limit int) {
	if c.Target == 0 {
		c.Target = DefaultCoDelTarget
	}
	if c.Interval == 0 {
		c.Interval = DefaultCoDelInterval
	}
	if c.High <= 0 {
		c.High = limit
	}
	if c.Low <= 0 {
		c.Low = c.High * 3 / 4
	}
}

// codel is the state of CoDel, guarded by the pool's lock. Its timer runs only while
// somebody waits: with no conn released at all, nothing else would shed.
type codel struct {
	cfg         CoDel
	timer       *time.Timer
	running     bool
	overloaded  bool
	newestFirst bool
	from        int64 // start of the interval
	least       int64 // shortest wait sampled in it
	any         bool  // one was
}

func (c *codel) init(cfg CoDel, shed func()) {
	c.cfg = cfg
	if cfg.Enabled {
		c.timer = time.AfterFunc(time.Hour, shed)
		c.timer.Stop()
	}
}

func (c *codel) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
}

// joined is called when a caller begins to wait; alone says that nobody else does.
func (c *codel) joined(now int64, alone bool) {
	if c.timer == nil {
		return
	}
	if alone { // whoever came just before would not have waited
		c.overloaded, c.newestFirst = false, false
		c.from, c.any = now, false
	}
	if !c.running {
		c.running = true
		c.timer.Reset(c.cfg.Target)
	}
}

// sample notes how long a caller that came as early as possible has waited by now. The
// oldest counts, also while the newest are served: their waits say nothing.
func (c *codel) sample(wait int64) {
	if !c.any || wait < c.least {
		c.least, c.any = wait, true
	}
}

// sampleServed is called when a waiter that came at since has got a conn.
func (p *Pool[T]) sampleServed(since int64) {
	if p.overload.timer == nil {
		return
	}
	if p.queue.head != nil {
		since = min(since, p.queue.head.since)
	}
	p.overload.sample(p.now - since)
}

// shed runs every Target while callers wait.
func (p *Pool[T]) shed() {
	p.mu.Lock()
	c := &p.overload
	p.now = int64(time.Since(p.base))
	if p.closed || p.queue.n == 0 {
		c.running = false
		p.mu.Unlock()
		return
	}
	c.sample(p.now - p.queue.head.since)
	if p.now-c.from >= int64(c.cfg.Interval) {
		c.overloaded = c.least > int64(c.cfg.Target)
		c.from, c.any = p.now, false
	}
	if c.overloaded {
		for w := p.queue.head; w != nil && p.now-w.since > 2*int64(c.cfg.Target); w = p.queue.head {
			p.fail(w, ErrShed)
		}
	}
	switch {
	case !c.overloaded || p.queue.n <= c.cfg.Low:
		c.newestFirst = false
	case p.queue.n > c.cfg.High:
		c.newestFirst = true
	}
	c.timer.Reset(c.cfg.Target)
	p.passOn()
	p.unlock()
}
