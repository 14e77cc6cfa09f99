package raw

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// portable moves a worker's bytes over net.Conn, with two goroutines for each conn: one
// writes, one reads. They share the worker under one lock, which is held for counting and
// encoding and never across I/O.
type portable struct {
	mu    sync.Mutex
	w     *worker
	conns []*line
	spent chan struct{} // closed when nothing more is to be sent
	once  sync.Once
}

// line is one conn's place, whichever conn fills it at the moment.
type line struct {
	window
	conn net.Conn // guarded by the lock, for closing at the end
	room chan struct{}
	out  []byte // what the writer is writing

	claim   int64 // in open loop: the arrival that this conn will send
	since   int64 // since when the conn had room for it
	claimed bool
}

func newPortable(w *worker, conns []opened) *portable {
	e := &portable{w: w, spent: make(chan struct{})}
	for _, o := range conns {
		e.conns = append(e.conns, &line{conn: o.conn, room: make(chan struct{}, 1)})
	}
	return e
}

func (e *portable) worker() *worker { return e.w }

func (e *portable) names() (engine, timer string) { return "portable", "the runtime's" }

func (e *portable) used() (user, system time.Duration) { return 0, 0 }

func (e *portable) kick() {
	now := e.w.run.now()
	e.mu.Lock()
	e.w.checkpoint(now)
	if e.w.spent(now) {
		e.once.Do(func() { close(e.spent) })
	}
	var open []net.Conn
	if e.w.run.stopped.Load() {
		for _, l := range e.conns {
			if l.conn != nil {
				open = append(open, l.conn)
			}
		}
	}
	e.mu.Unlock()
	for _, conn := range open {
		_ = conn.SetDeadline(time.Unix(1, 0)) // the reader and the writer return
	}
}

func (e *portable) work() {
	var group sync.WaitGroup
	for _, l := range e.conns {
		group.Go(func() { e.keep(l) })
	}
	group.Wait()
	e.mu.Lock()
	e.w.finish(e.w.run.now())
	e.mu.Unlock()
}

func (e *portable) leave(now int64, r *Result) {
	for _, l := range e.conns {
		e.w.abandon(&l.window, now, r)
		if l.conn != nil {
			_ = l.conn.Close()
		}
	}
}

// keep keeps one place filled until nothing more is to be done there.
func (e *portable) keep(l *line) {
	r := e.w.run
	began := int64(-1) // when the dial of a conn that was reopened on purpose began
	for {
		again, err := e.serve(l, l.conn, began)
		if r.stopped.Load() {
			return // leave counts what is in flight, and closes
		}
		conn := l.conn
		e.mu.Lock()
		if err != nil {
			e.w.lose(&l.window, err, r.now())
		} else {
			l.reset()
		}
		if l.claimed {
			l.claimed = false
			e.w.unclaim(l.claim)
		}
		l.conn = nil
		e.mu.Unlock()
		_ = conn.Close()
		r.open.Add(-1)
		if err != nil && fatal(err) {
			r.fail(err)
		}
		if !again && err == nil {
			return
		}
		if began = e.fill(l, again); l.conn == nil {
			return
		}
	}
}

// fill opens a conn in the place of one that is gone, at once when it was closed on
// purpose. It returns when its dial began, or -1 when nobody waits for it.
func (e *portable) fill(l *line, onPurpose bool) (began int64) {
	r := e.w.run
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	go func() {
		select {
		case <-e.spent:
			cancel()
		case <-ctx.Done():
		}
	}()
	missed := func(err error) {
		r.missed(err)
		e.mu.Lock()
		defer e.mu.Unlock()
		count(e.w.live.Failures, []byte(dialLossOf(err)))
	}
	var o opened
	var err error
	if began = r.now(); onPurpose {
		if o, err = r.connect(ctx); err != nil && ctx.Err() == nil {
			missed(err)
		}
	}
	if !onPurpose || err != nil {
		began = -1
		o, err = r.reconnect(ctx, missed)
	}
	if err != nil {
		return -1
	}
	r.open.Add(1)
	e.mu.Lock()
	defer e.mu.Unlock()
	l.conn = o.conn
	e.w.live.Opened++
	e.w.live.Connect.Record(o.took)
	return began
}

// How the writer of a conn ended.
type ending int

const (
	finished ending = iota // nothing more to send, and nothing in flight
	reopen                 // the conn has served its number of requests
	broken                 // the reader ended first
	halted                 // the run has ended
)

// serve uses one conn until it breaks, the run ends, or it has served its number of
// requests: then again is true.
func (e *portable) serve(l *line, conn net.Conn, began int64) (again bool, err error) {
	over := make(chan struct{})
	var readErr error
	go func() {
		defer close(over)
		readErr = e.read(l, conn)
	}()
	end, err := e.write(l, conn, began, over)
	if err != nil {
		// The reader soon sees it too, and what came before it, such as why.
		timer := time.AfterFunc(time.Second, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
		<-over
		timer.Stop()
		if readErr == nil || errors.Is(readErr, os.ErrDeadlineExceeded) {
			return false, err
		}
		return false, readErr
	}
	if end == finished || end == reopen {
		_ = conn.SetDeadline(time.Unix(1, 0)) // the reader returns
	}
	<-over
	if end == broken {
		return false, readErr
	}
	return end == reopen, nil
}

// read takes in replies until the conn ends.
func (e *portable) read(l *line, conn net.Conn) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buf)
		if n > 0 {
			if err := e.received(l, buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

func (e *portable) received(l *line, b []byte) error {
	now := e.w.run.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.w.checkpoint(now)
	if err := e.w.replies(&l.window, b, now); err != nil {
		return err
	}
	select {
	case l.room <- struct{}{}:
	default: // the writer has been told already
	}
	return nil
}

// write sends requests until there are no more for this conn.
func (e *portable) write(l *line, conn net.Conn, began int64, over <-chan struct{}) (ending, error) {
	r := e.w.run
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next := e.prepare(l, began)
		if next.over {
			return next.end, nil
		}
		if len(next.out) > 0 {
			began = -1
			if _, err := conn.Write(next.out); err != nil {
				return broken, err
			}
			continue
		}
		timer.Reset(next.pause)
		select {
		case <-l.room:
		case <-timer.C:
		case <-over:
			return broken, nil
		case <-r.stop:
			return halted, nil
		}
	}
}

// move is what a writer does next: write out, end, or wait for room and at most for pause.
type move struct {
	out   []byte
	pause time.Duration
	over  bool
	end   ending
}

// prepare decides what the writer of a conn does next.
func (e *portable) prepare(l *line, began int64) move {
	w, cfg := e.w, &e.w.run.cfg
	now := w.run.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	w.checkpoint(now)
	wait := move{pause: pulse}
	every := cfg.ReconnectEvery
	room := cfg.Depth - l.inflight
	if w.plan == nil && !cfg.Sliding && l.inflight > 0 {
		room = 0
	}
	if every > 0 {
		room = min(room, every-l.served)
	}
	switch {
	case w.spent(now):
		e.once.Do(func() { close(e.spent) })
		return move{over: l.inflight == 0, end: finished, pause: pulse}
	case every > 0 && l.served >= every && l.inflight == 0:
		return move{over: true, end: reopen}
	case room <= 0:
		return wait
	case w.plan == nil:
		at := now
		if began >= 0 {
			at = began
		}
		l.out = append(l.out[:0], w.take(&l.window, room, at, at)...)
		return move{out: l.out, pause: time.Nanosecond} // without out: look again, the stream has ended
	}
	if !l.claimed {
		if l.claim, l.claimed = w.claim(); !l.claimed {
			return wait
		}
		l.since = now
	}
	if l.claim > now {
		return move{pause: min(nanos(l.claim-now), pulse)}
	}
	l.claimed = false
	l.out = append(l.out[:0], w.takeClaimed(&l.window, l.claim, now, l.since)...)
	return move{out: l.out, pause: time.Nanosecond}
}
