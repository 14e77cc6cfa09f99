package pool

import "time"

// Stat is a snapshot of a pool. Open = Idle + InUse, and Open + Dialing + Closing
// never exceeds Max, except after Resize has lowered it.
type Stat struct {
	Size, Max int // as configured; Max = Size + Overflow

	Open    int // conns made and not being closed
	Idle    int // of these, free
	InUse   int // of these, leased, or under a check
	Dialing int // dials under way
	Closing int // Close has not yet returned
	Waiting int // callers in the queue

	Generation uint64 // times Clear was called

	// Counters since the pool was made.
	Acquires   uint64        // leases given
	Waits      uint64        // calls that entered the queue
	WaitTime   time.Duration // time in the queue, of all that left it
	Timeouts   uint64        // waits ended by a deadline or AcquireTimeout
	Canceled   uint64        // waits ended by a canceled context
	Shed       uint64        // waits ended by CoDel
	Rejected   uint64        // refused for MaxWaiters or by EarlyReject
	Refused    uint64        // failed because the endpoint was down
	Dials      uint64        // dials started
	DialErrors uint64        // dials failed; those given up by Clear or Close do not count
	Opened     uint64        // dials that gave a conn
	Pings      uint64        // background pings sent
	Leaks      uint64        // leases reported or reclaimed by leak detection

	closed [reasonCount]uint64

	// LastDialError is the last dial error if no dial has succeeded since, else nil.
	LastDialError error
}

// Closed returns how many conns were closed, or are closing, for reason r.
func (s Stat) Closed(r Reason) uint64 {
	if r >= reasonCount {
		return 0
	}
	return s.closed[r]
}

// ClosedTotal returns how many conns were closed, or are closing.
func (s Stat) ClosedTotal() uint64 {
	var n uint64
	for _, c := range s.closed {
		n += c
	}
	return n
}

// Stat returns a snapshot. It may be called at any time, also after Close.
func (p *Pool[T]) Stat() Stat {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.snapshot()
}

func (p *Pool[T]) snapshot() Stat {
	s := p.st
	s.Size, s.Max = p.size, p.max
	s.Open = len(p.all)
	s.Idle = len(p.idle)
	s.InUse = s.Open - s.Idle
	s.Dialing = p.dialing
	s.Closing = p.closing
	s.Waiting = p.queue.n
	s.Generation = p.gen
	return s
}
