package pool

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

const leakStackDepth = 24

// leakRecord is what leak detection keeps of a lease.
type leakRecord struct {
	pcs      [leakStackDepth]uintptr
	depth    int
	since    int64
	reported bool
	cleanup  runtime.Cleanup
}

// leakTag is held by the copies of a lease and by nothing else, so that the garbage
// collector tells when the last is gone. The pointer keeps it out of the allocator for
// tiny objects, where a cleanup may never run.
type leakTag struct{ rec *leakRecord }

// lostLease is what the cleanup of a tag needs to know.
type lostLease[T any] struct {
	e   *entry[T]
	seq uint64
}

// watched starts to watch l, if leak detection is on. It runs on the goroutine that
// gets the lease, whose stack it takes.
func (p *Pool[T]) watched(l Lease[T]) Lease[T] {
	e := l.e
	if p.slow&slowLeaks == 0 || e.seq != l.seq { // the latter: Close has cut it already
		return l
	}
	rec := &leakRecord{since: p.now}
	rec.depth = runtime.Callers(2, rec.pcs[:])
	e.leak = rec
	l.tag = &leakTag{rec: rec}
	rec.cleanup = runtime.AddCleanup(l.tag, reclaim[T], lostLease[T]{e: e, seq: e.seq})
	p.arm(p.now + int64(p.cfg.LeakThreshold))
	return l
}

// endTrack ends the watch, if there is one.
func (p *Pool[T]) endTrack(e *entry[T]) {
	if e.leak == nil {
		return
	}
	e.leak.cleanup.Stop()
	e.leak = nil
}

// reclaim closes the conn of a lease that nobody can give back any more. What state
// the conn is in is unknown, so it is not used again.
func reclaim[T any](lost lostLease[T]) {
	e := lost.e
	p := e.p
	p.mu.Lock()
	if e.seq != lost.seq {
		p.mu.Unlock()
		return
	}
	p.now = int64(time.Since(p.base))
	report := p.reportLeak(e)
	e.leak = nil
	p.ops++
	p.retire(e, ReasonLeak)
	p.maybeDial()
	p.unlock()
	report()
}

// reportLeak counts e's lease as leaked and returns what tells the user, to be called
// without the lock.
func (p *Pool[T]) reportLeak(e *entry[T]) func() {
	rec := e.leak
	if rec == nil || rec.reported {
		return func() {}
	}
	rec.reported = true
	p.st.Leaks++
	held := time.Duration(p.now - rec.since)
	p.note(Event{Kind: EventLeak, Elapsed: held})
	if p.cfg.OnLeak == nil {
		return func() {}
	}
	return func() { p.cfg.OnLeak(rec.stack(), held) }
}

// leaks reports the leases held for too long and returns when to look again, or 0.
func (p *Pool[T]) leaks() (reports []func(), next int64) {
	if p.slow&slowLeaks == 0 {
		return nil, 0
	}
	for _, e := range p.all {
		if e.leak == nil || e.leak.reported {
			continue
		}
		at := e.leak.since + int64(p.cfg.LeakThreshold)
		if p.now >= at {
			reports = append(reports, p.reportLeak(e))
		} else {
			next = sooner(next, at)
		}
	}
	return reports, next
}

func (r *leakRecord) stack() string {
	var b strings.Builder
	frames := runtime.CallersFrames(r.pcs[:r.depth])
	for {
		f, more := frames.Next()
		fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		if !more {
			return b.String()
		}
	}
}
