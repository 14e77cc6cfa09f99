package raw

import (
	"context"
	"runtime/debug"
	"time"
)

// watch looks after a run from outside of the workers: it collects what they counted,
// interval by interval, and ends what they cannot end.
type watch struct {
	run     *run
	engines []engine
	done    chan struct{} // one for each worker that has returned
	running int

	total  *Counts   // of the measured part
	spares []*Counts // what each worker goes on with when it hands over

	begun     bool // the measured part has
	gc        debug.GCStats
	last      int64 // the end of the last interval
	goneAt    int64 // since when no conn is open, or 0
	cancelled error
	cancelAt  int64
}

func newWatch(r *run, engines []engine) *watch {
	w := &watch{
		run: r, engines: engines, done: make(chan struct{}, len(engines)), running: len(engines),
		total: newCounts(&r.cfg), gc: readGC(),
	}
	for range engines {
		w.spares = append(w.spares, newCounts(&r.cfg))
	}
	return w
}

// loop returns when all workers are done, or have to be ended.
func (w *watch) loop(ctx context.Context) {
	r := w.run
	ticker := time.NewTicker(w.pulse())
	defer ticker.Stop()
	for w.running > 0 {
		select {
		case <-w.done:
			w.running--
		case <-r.stop:
			return
		case <-ctx.Done():
			w.cancelled, w.cancelAt = ctx.Err(), r.now()
			return
		case <-ticker.C:
			if !w.tick(r.now()) {
				return
			}
		}
	}
}

// pulse is how often tick is called.
func (w *watch) pulse() time.Duration {
	cfg := &w.run.cfg
	if cfg.OnInterval != nil && cfg.Interval > 0 {
		return min(max(cfg.Interval/4, time.Millisecond), pulse)
	}
	return pulse
}

// tick reports whether the run goes on.
func (w *watch) tick(now int64) bool {
	r := w.run
	if !w.begun && now >= r.warmEnd {
		w.begun = true
		w.gc = readGC()
	}
	if r.cfg.OnInterval != nil && r.cfg.Interval > 0 && now-w.last >= int64(r.cfg.Interval) {
		w.interval()
	}
	if r.cfg.GiveUp > 0 && w.gone(now) >= r.cfg.GiveUp {
		r.mu.Lock()
		last := r.lastMiss
		r.mu.Unlock()
		r.fail(&GoneError{For: w.gone(now), Last: last})
		return false
	}
	if now >= r.deadline {
		for _, e := range w.engines {
			e.kick()
		}
	}
	// Workers look at the clock themselves; this is for one that does not come to it.
	return now-r.deadline < int64(drainTime+pulse)
}

// gone is for how long there has been no conn.
func (w *watch) gone(now int64) time.Duration {
	if w.run.open.Load() > 0 {
		w.goneAt = 0
		return 0
	}
	if w.goneAt == 0 {
		w.goneAt = now
	}
	return nanos(now - w.goneAt)
}

// interval collects what was counted since the last one, and hands it on.
func (w *watch) interval() {
	var waiting []int
	for i, e := range w.engines {
		if e.worker().asked(w.spares[i]) {
			waiting = append(waiting, i)
			e.kick()
		}
	}
	sum := newSums(&w.run.cfg)
	for _, i := range waiting {
		h := <-w.engines[i].worker().got // at the latest when the worker finishes
		sum.add(&h)
		h.counts.reset()
		w.spares[i] = h.counts
	}
	// Later than when they were asked: what a worker counts meanwhile may be of the measured
	// part already, and must not come before it.
	w.emit(sum, w.run.now())
}

// emit hands on what was collected, in the parts before and after the warm-up's end.
func (w *watch) emit(sum *sums, now int64) {
	r := w.run
	w.total.Merge(sum.measured)
	last := w.last
	w.last = now
	if r.cfg.OnInterval == nil || r.cfg.Interval <= 0 {
		return
	}
	open := int(r.open.Load())
	if r.cfg.Caller != nil {
		open = r.cfg.Caller.Open()
	}
	if last < r.warmEnd {
		end := min(now, r.warmEnd)
		r.cfg.OnInterval(&Interval{Counts: *sum.warm, Begin: nanos(last), Elapsed: nanos(end - last), Warmup: true, Open: open, Backlog: sum.overdue})
		last = end
	}
	if now > last {
		r.cfg.OnInterval(&Interval{Counts: *sum.measured, Begin: nanos(last), Elapsed: nanos(now - last), Open: open, Backlog: sum.overdue})
	}
}

// sums are what several workers handed over.
type sums struct {
	warm, measured *Counts
	overdue        int64
}

func newSums(cfg *Config) *sums { return &sums{warm: newCounts(cfg), measured: newCounts(cfg)} }

func (s *sums) add(h *handed) {
	if h.warm != nil {
		s.warm.Merge(h.warm)
	}
	if h.measured {
		s.measured.Merge(h.counts)
	} else {
		s.warm.Merge(h.counts)
	}
	s.overdue += h.overdue
}

// result sums up. All workers have returned.
func (w *watch) result(first []opened) *Result {
	r := w.run
	now := r.now()
	res := &Result{Begin: r.base.Add(nanos(r.warmEnd))}
	res.Engine, res.Timer = w.engines[0].names()
	until := min(r.deadline, now)
	if w.cancelled != nil {
		until = min(until, w.cancelAt)
	}
	end := int64(0)
	if w.cancelled != nil || r.failure() != nil || r.cfg.Duration > 0 {
		end = until
	}
	sum := newSums(&r.cfg)
	for _, e := range w.engines {
		k := e.worker()
		e.leave(now, res)
		sum.add(&handed{warm: k.warm, counts: k.live, measured: k.measuring})
		backlog := k.backlog(until)
		res.Backlog += backlog
		if r.cfg.Rate > 0 {
			res.Scheduled += k.sent + backlog
		}
		end = max(end, k.last)
		user, system := e.used()
		res.Workers = append(res.Workers, WorkerResult{Requests: k.answered, User: user, System: system})
	}
	w.emit(sum, now)
	for _, o := range first {
		w.total.Connect.Record(o.took)
		w.total.Opened++
	}
	res.Counts = *w.total
	res.Elapsed = max(0, nanos(end-r.warmEnd))
	for i := range res.Workers {
		res.Workers[i].Elapsed = max(0, nanos(now-r.warmEnd))
	}
	after := readGC()
	res.GC = gcSince(&w.gc, &after)
	res.judge(&r.cfg)
	return res
}
