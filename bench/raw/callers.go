package raw

import (
	"context"
	"sync"
	"time"
)

// Caller is a client under load: instead of writing to conns of its own, a run hands it
// each request, as an application does. Its methods are called from many goroutines.
type Caller interface {
	// Call sends one encoded request and waits for its reply. It has to obey its context,
	// and must not keep the request.
	Call(ctx context.Context, request []byte) Answer
	// Open is how many conns the client has open.
	Open() int
	// CPU is the CPU time of the process so far; zero where the system does not say.
	CPU() (user, system time.Duration)
}

// Answer is what came of a request that a Caller was given.
type Answer struct {
	// Failure names why it failed, coarsely enough to be counted; empty when it did not.
	Failure string
	// Lost is why there was no word of the server; nil when there was. Its goroutine then
	// pauses before the next call, for a server that is away would be asked in a busy loop.
	Lost error
	// Null says that the reply was one.
	Null bool
	// Size is the length of the reply in bytes.
	Size int
}

// lostPause is how long a goroutine waits after a call that was lost.
const lostPause = 10 * time.Millisecond

// callers are the goroutines that share one worker: each has one request under way, and
// the next one only when it is answered. They share the worker under one lock.
type callers struct {
	mu     sync.Mutex
	w      *worker
	client Caller
	places []*place

	// CPU of the process when the measured part began.
	user, system time.Duration
}

// place is one goroutine's.
type place struct {
	window
	request []byte
	away    bool // its last call was lost
}

// callers makes the engines of a run that has a Caller.
func (r *run) callers() []engine {
	made := make([]engine, r.cfg.Workers)
	for i := range made {
		e := &callers{w: newWorker(r, i), client: r.cfg.Caller}
		for n := i; n < r.cfg.Conns; n += len(made) {
			e.places = append(e.places, &place{})
		}
		e.user, e.system = e.client.CPU()
		made[i] = e
	}
	return made
}

func (e *callers) worker() *worker { return e.w }

func (e *callers) names() (engine, timer string) { return "client", "the runtime's" }

// used is a share of the process's time: its goroutines belong to no thread.
func (e *callers) used() (user, system time.Duration) {
	n := time.Duration(e.w.run.cfg.Workers)
	user, system = e.client.CPU()
	return (user - e.user) / n, (system - e.system) / n
}

func (e *callers) kick() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.checkpoint(e.w.run.now())
}

// checkpoint is the worker's; under the lock.
func (e *callers) checkpoint(now int64) {
	if e.w.checkpoint(now) {
		e.user, e.system = e.client.CPU()
	}
}

func (e *callers) work() {
	var group sync.WaitGroup
	for _, p := range e.places {
		group.Go(func() { e.keep(p) })
	}
	group.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.w.finish(e.w.run.now())
}

func (e *callers) leave(now int64, r *Result) {
	for _, p := range e.places {
		e.w.abandon(&p.window, now, r)
	}
}

// keep calls until nothing more is to be sent.
func (e *callers) keep(p *place) {
	r := e.w.run
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	pause := func(d time.Duration) (goOn bool) {
		timer.Reset(d)
		select {
		case <-timer.C:
			return true
		case <-r.stop:
			return false
		}
	}
	for e.prepare(p, pause) {
		answer := e.client.Call(r.ctx, p.request)
		if r.stopped.Load() {
			return // leave counts it as unanswered: it may have been cut short
		}
		e.answered(p, &answer)
		if p.away && !pause(lostPause) {
			return
		}
	}
}

// prepare waits until a request is to be sent and puts it into p. It returns false when
// there will be none.
func (e *callers) prepare(p *place, pause func(time.Duration) bool) bool {
	w := e.w
	free := w.run.now() // since when this goroutine can take a request
	for {
		now := w.run.now()
		e.mu.Lock()
		e.checkpoint(now)
		if w.run.stopped.Load() || w.spent(now) {
			e.mu.Unlock()
			return false
		}
		if w.plan == nil {
			p.request = append(p.request[:0], w.take(&p.window, 1, now, now)...)
			e.mu.Unlock()
			return len(p.request) > 0
		}
		due, ok := w.claim()
		e.mu.Unlock()
		switch {
		case !ok: // all that is left is under way, and may yet come back
			if !pause(pulse) {
				return false
			}
			continue
		case due > now && !pause(nanos(due-now)):
			e.mu.Lock()
			w.unclaim(due)
			e.mu.Unlock()
			return false
		}
		e.mu.Lock()
		now = w.run.now()
		e.checkpoint(now)
		p.request = append(p.request[:0], w.takeClaimed(&p.window, due, now, free)...)
		e.mu.Unlock()
		return len(p.request) > 0
	}
}

// answered counts what came of the request of p.
func (e *callers) answered(p *place, a *Answer) {
	r := e.w.run
	now := r.now()
	e.mu.Lock()
	e.checkpoint(now)
	if a.Failure != "" {
		e.w.failed(&p.window, []byte(a.Failure), now)
	} else {
		nulls := 0
		if a.Null {
			nulls = 1
		}
		e.w.succeeded(&p.window, 1, nulls, a.Size, now)
	}
	e.mu.Unlock()
	if away := a.Lost != nil; away != p.away {
		p.away = away
		if away {
			r.open.Add(-1)
		} else {
			r.open.Add(1)
		}
	}
	if a.Lost != nil {
		r.missed(a.Lost)
	}
}
