package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// meterShards bounds the memory of a meter: about 13 MiB however many callers.
const meterShards = 64

// meter records the times and errors of many callers. Callers that share a shard
// take turns on it; the sampler takes the same short locks.
type meter struct {
	shards []meterShard
	off    atomic.Bool // what comes while it is set is not recorded
}

type meterShard struct {
	mu     sync.Mutex
	times  *Latency
	failed int64
	first  error    // that failed
	_      [64]byte // shards on lines of their own: they are all hot
}

func newMeter(callers int) *meter {
	m := &meter{shards: make([]meterShard, min(callers, meterShards))}
	for i := range m.shards {
		m.shards[i].times = NewLatency()
	}
	return m
}

// record adds one call; only one that succeeded has a time.
func (m *meter) record(caller int, d time.Duration, err error) {
	if m.off.Load() {
		return
	}
	s := &m.shards[caller%len(m.shards)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.times.Record(d)
		return
	}
	s.failed++
	if s.first == nil {
		s.first = err
	}
}

// tally is what a meter has recorded so far.
type tally struct {
	count  int64
	sum    time.Duration
	failed int64
	first  error
}

func (m *meter) tally() tally {
	var t tally
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		t.count += s.times.count
		t.sum += s.times.sum
		t.failed += s.failed
		if t.first == nil {
			t.first = s.first
		}
		s.mu.Unlock()
	}
	return t
}

// times merges the shards.
func (m *meter) times() *Latency {
	all := NewLatency()
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		all.Merge(s.times)
		s.mu.Unlock()
	}
	return all
}

// crew is the callers of a load.
type crew struct {
	quit chan struct{}
	wg   sync.WaitGroup
}

// muster starts n callers, each of which calls again and again, resting in between,
// until the crew is dismissed or ctx ends. A call under way is never cut short by
// dismiss.
func muster(ctx context.Context, n int, rest time.Duration, call func(ctx context.Context, caller int)) *crew {
	if rest == 0 {
		return musterResting(ctx, n, nil, call)
	}
	return musterResting(ctx, n, func() time.Duration { return rest }, call)
}

// musterResting is muster with rests that differ; nil for none.
func musterResting(ctx context.Context, n int, rest func() time.Duration, call func(ctx context.Context, caller int)) *crew {
	c := &crew{quit: make(chan struct{})}
	for i := range n {
		c.wg.Go(func() { c.work(ctx, rest, func() { call(ctx, i) }) })
	}
	return c
}

func (c *crew) work(ctx context.Context, rest func() time.Duration, call func()) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-c.quit:
			return
		case <-ctx.Done():
			return
		default:
		}
		call()
		if rest == nil {
			continue
		}
		timer.Reset(rest())
		select {
		case <-timer.C:
		case <-c.quit:
			return
		case <-ctx.Done():
			return
		}
	}
}

// dismiss ends the calling, and waits for the calls under way.
func (c *crew) dismiss() {
	close(c.quit)
	c.wg.Wait()
}

// pause waits for d, and reports whether ctx let it.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// wait shows progress until the time is up or ctx ends.
func wait(ctx context.Context, p Progress, phase string, total time.Duration) {
	start := time.Now()
	p.Send(Event{Phase: phase, Total: total})
	for {
		left := total - time.Since(start)
		if left <= 0 || !pause(ctx, min(left, 100*time.Millisecond)) {
			return
		}
		p.Send(Event{Phase: phase, Elapsed: time.Since(start), Total: total})
	}
}
