package raw

import (
	"context"
	"math"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// drainTime is how long replies under way may still come when the Duration is over.
const drainTime = time.Second

// pulse is how often a run looks after what no worker does: conns that are all gone, and the
// end of a Duration that a worker fails to notice.
const pulse = 50 * time.Millisecond

// noEnd is a deadline that never comes.
const noEnd = math.MaxInt64

// run is one call of Run.
type run struct {
	cfg  Config
	base time.Time // the beginning; all int64 times count from it, in nanoseconds

	warmEnd, deadline int64 // the measured part; deadline is MaxInt64 without a Duration

	ctx     context.Context // ends when nothing more is needed; for dials
	cancel  context.CancelFunc
	stopped atomic.Bool   // workers return at once
	stop    chan struct{} // closed when stopped is set
	once    sync.Once

	open atomic.Int64 // conns; with a Caller, goroutines whose last call had a reply

	mu       sync.Mutex
	err      error // why the run had to end
	lastMiss error // the last failed dial
}

// engine moves the bytes of one worker.
type engine interface {
	// work runs until the worker is done: all sent and answered, or stopped.
	work()
	// kick makes the engine see soon what has changed: a checkpoint, or the end.
	kick()
	// worker is the one whose bytes it moves.
	worker() *worker
	// leave counts what is still in flight and closes what is open. work has returned, or
	// never was called.
	leave(now int64, r *Result)
	// names are the engine's, and that of the timer of open loop.
	names() (engine, timer string)
	// used is the CPU time of the worker in the measured part.
	used() (user, system time.Duration)
}

// Run opens the conns, runs the load, and returns what was measured. It returns when
// the Requests are done, the Duration is over or the streams have ended; when ctx is
// cancelled it stops at once and returns what there is, together with ctx's error.
//
// The error is a *ConfigError or *OpenError when the run did not begin, and the result
// nil then. A *HelloError or *GoneError in the middle comes with the result so far.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &run{cfg: cfg, base: time.Now(), warmEnd: int64(cfg.Warmup), deadline: noEnd, stop: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer r.cancel()
	var conns []opened
	var engines []engine
	if cfg.Caller != nil {
		engines = r.callers()
	} else {
		var err error
		if conns, err = r.openAll(ctx); err != nil {
			if cause := ctx.Err(); cause != nil {
				err = cause
			}
			return nil, err
		}
		if engines, err = r.engines(conns); err != nil {
			return nil, err
		}
	}
	if cfg.Ready != nil {
		if err := cfg.Ready(ctx); err != nil {
			abandon(engines)
			return nil, err
		}
	}
	return r.measure(ctx, engines, conns)
}

// abandon closes the conns of engines that have not worked.
func abandon(engines []engine) {
	for _, e := range engines {
		e.leave(0, &Result{})
	}
}

// now is the time since the run's beginning.
func (r *run) now() int64 { return int64(time.Since(r.base)) }

// end stops all workers.
func (r *run) end() {
	r.once.Do(func() {
		r.stopped.Store(true)
		close(r.stop)
		r.cancel()
	})
}

// fail ends the run with an error; the first one counts.
func (r *run) fail(err error) {
	r.mu.Lock()
	if r.err == nil {
		r.err = err
	}
	r.mu.Unlock()
	r.end()
}

func (r *run) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// missed remembers why a dial failed.
func (r *run) missed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastMiss = err
}

// measure runs the engines over conns that are open, or over a client.
func (r *run) measure(ctx context.Context, engines []engine, conns []opened) (*Result, error) {
	cfg := &r.cfg
	r.open.Store(int64(cfg.Conns))
	r.base = time.Now()
	if cfg.Duration > 0 {
		r.deadline = r.warmEnd + int64(cfg.Duration)
	}
	watch := newWatch(r, engines)
	var group sync.WaitGroup
	for _, e := range engines {
		group.Go(func() {
			e.work()
			watch.done <- struct{}{} // has room for all
		})
	}
	watch.loop(ctx)
	r.end()
	for _, e := range engines {
		e.kick()
	}
	group.Wait()
	result := watch.result(conns)
	if err := r.failure(); err != nil {
		return result, err
	}
	return result, watch.cancelled
}

// engines makes an engine for each worker, with its share of the conns.
func (r *run) engines(conns []opened) ([]engine, error) {
	shares := make([][]opened, r.cfg.Workers)
	for i, c := range conns {
		at := i % len(shares)
		shares[at] = append(shares[at], c)
	}
	made := make([]engine, 0, len(shares))
	for i, share := range shares {
		e, err := r.newEngine(newWorker(r, i), share)
		if err != nil {
			abandon(made)
			for _, c := range conns {
				_ = c.conn.Close()
			}
			return nil, err
		}
		made = append(made, e)
	}
	return made, nil
}

func readGC() debug.GCStats {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	return s
}

func gcSince(before, after *debug.GCStats) GC {
	g := GC{Collections: after.NumGC - before.NumGC, Pauses: after.PauseTotal - before.PauseTotal}
	for i := range min(int(g.Collections), len(after.Pause)) {
		g.Longest = max(g.Longest, after.Pause[i])
	}
	return g
}

// isPlain reports whether a conn's descriptor can be used directly.
func isPlain(c net.Conn) bool {
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	default:
		return false
	}
}
