package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/report"
)

const (
	// idleName is what CLIENT LIST shows of the conns.
	idleName = "evenkeel-idle"
	// idleLook is how often the server's memory is looked at until it is settled.
	idleLook = 500 * time.Millisecond
	// idleSteady is how long it must have been the same.
	idleSteady = 2 * time.Second
	// idlePing is the rest between two PINGs beside conns at rest.
	idlePing = 20 * time.Millisecond
)

// Idle opens many conns that then do nothing, and measures what they cost: the time
// to open them, the server's memory and CPU, this process's memory, and the time of
// a PING beside them. Cancelled, it returns what it has together with the context's
// error. Errors are an [OptionError], a [RefusedError], a [CapacityError], or say why
// the server could not be used.
func Idle(ctx context.Context, o IdleOptions) (*IdleResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := openServer(ctx, o.Target, wants{plan: o.Plan(), cluster: true, disturb: o.Disturb, progress: o.Progress})
	if err != nil {
		return nil, err
	}
	if err := s.fits(ctx, o.Conns); err != nil {
		return nil, errors.Join(err, s.close())
	}
	run := idleRun{server: s, options: o, result: NewIdleResult(s.env, o), dials: NewLatency()}
	err = run.run(ctx)
	run.result.Interrupted = ctx.Err() != nil
	return run.result, errors.Join(err, run.close(), s.close())
}

// idleRun is one run of Idle.
type idleRun struct {
	server  *server
	options IdleOptions
	result  *IdleResult
	opening time.Duration // without the looks

	mu    sync.Mutex
	conns []*evenkeel.Conn
	dials *Latency
	hurt  int // failures in a row
}

func (r *idleRun) run(ctx context.Context) (err error) {
	o := r.options
	heap, goroutines := footprint()
	if r.result.Without, err = r.rest(ctx, "at rest, without them"); err != nil {
		return err
	}
	if err := r.look(ctx, 0); err != nil {
		return err
	}
	before := r.result.Steps[0]
	for wanted := 0; wanted < o.Conns; {
		step := min(o.Step, o.Conns-wanted)
		wanted += step
		rate, goOn := r.open(ctx, step)
		if err := r.look(ctx, rate); err != nil {
			return err
		}
		o.Progress.Send(Event{Phase: "opening", Elapsed: time.Duration(wanted) * time.Millisecond, Total: time.Duration(o.Conns) * time.Millisecond})
		if !goOn {
			break
		}
	}
	r.sum()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(r.conns) == 0 {
		return fmt.Errorf("no connection could be opened: %s", r.result.FirstError)
	}
	r.settle(ctx)
	if r.result.With, err = r.rest(ctx, "at rest, with them"); err != nil {
		return err
	}
	r.result.PerConn, err = r.perConn(ctx, before)
	if err == nil {
		heapNow, goroutinesNow := footprint()
		n := float64(len(r.conns))
		r.result.PerConn.HereBytes = max(heapNow-heap, 0) / n
		r.result.PerConn.Goroutines = max(goroutinesNow-goroutines, 0) / n
	}
	return err
}

// footprint is the memory of this process that is in use, and its goroutines.
func footprint() (bytes, goroutines float64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse), float64(runtime.NumGoroutine())
}

// open opens n more conns and returns the rate. It reports false when there is no use
// in trying for more.
func (r *idleRun) open(ctx context.Context, n int) (rate float64, goOn bool) {
	cfg := r.server.config(false, false)
	cfg.ClientName = idleName
	lanes(&cfg, 1, 0, 0)
	before := len(r.conns)
	todo := make(chan struct{}, n)
	for range n {
		todo <- struct{}{}
	}
	close(todo)
	start := time.Now()
	var dialers sync.WaitGroup
	for range min(r.options.Dialers, n) {
		dialers.Go(func() {
			for range todo {
				if ctx.Err() != nil || !r.dial(ctx, cfg) {
					return
				}
			}
		})
	}
	dialers.Wait()
	elapsed := time.Since(start)
	r.opening += elapsed
	return float64(len(r.conns)-before) / elapsed.Seconds(), ctx.Err() == nil && r.hurt < hopeless
}

// dial opens one, and reports false when too many have failed in a row.
func (r *idleRun) dial(ctx context.Context, cfg evenkeel.Config) bool {
	begin := time.Now()
	conn, err := evenkeel.Dial(ctx, cfg)
	elapsed := time.Since(begin)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.conns = append(r.conns, conn)
		r.dials.Record(elapsed)
		r.hurt = 0
	case ctx.Err() != nil:
	default:
		if r.result.FirstError == "" {
			r.result.FirstError = err.Error()
		}
		if r.hurt++; turnedAway(err) {
			r.result.Refused++
		} else {
			r.result.Failed++
		}
	}
	return r.hurt < hopeless
}

// turnedAway reports whether a server had no room for a conn.
func turnedAway(err error) bool {
	return err != nil && strings.Contains(err.Error(), "max number of clients")
}

func (r *idleRun) sum() {
	res := r.result
	res.Opened, res.OpenS = len(r.conns), r.opening.Seconds()
	if res.OpenS > 0 {
		res.OpenPerS = float64(res.Opened) / res.OpenS
	}
	res.DialP50Us, res.DialP99Us = r.dials.QuantileUs(0.5), r.dials.QuantileUs(0.99)
	if res.Refused+res.Failed > 0 {
		r.options.Progress.Send(Event{Note: fmt.Sprintf("%s refused for want of room, %s failed otherwise; the first: %s",
			report.Int(res.Refused), report.Int(res.Failed), res.FirstError)})
	}
}

// look adds a step.
func (r *idleRun) look(ctx context.Context, rate float64) error {
	ctx, cancel := lastLook(ctx)
	defer cancel()
	m, err := r.server.watch.memory(ctx)
	if err != nil {
		return err
	}
	pings := NewLatency()
	for range r.options.Pings {
		if err := r.server.watch.ping(ctx, pings); err != nil {
			return err
		}
	}
	r.result.Steps = append(r.result.Steps, IdleStep{
		Conns: len(r.conns), OpenPerS: rate, ClientsBytes: m.clients, UsedBytes: m.used, RSSBytes: m.rss,
		PingP50Us: pings.QuantileUs(0.5), PingP99Us: pings.QuantileUs(0.99),
	})
	return nil
}

// settle waits until the server's count of its clients' memory stands still.
func (r *idleRun) settle(ctx context.Context) {
	const phase = "letting the server's buffers shrink"
	total := r.options.Settle
	start, since, last := time.Now(), time.Now(), int64(0)
	r.options.Progress.Send(Event{Phase: phase, Total: total})
	for time.Since(start) < total && pause(ctx, min(idleLook, total-time.Since(start))) {
		m, err := r.server.watch.memory(ctx)
		if err != nil {
			return
		}
		now := m.used
		if m.clients != nil {
			now = *m.clients
		}
		if d := now - last; d > last/100 || -d > last/100 {
			last, since = now, time.Now()
		} else if time.Since(since) >= idleSteady {
			return
		}
		r.options.Progress.Send(Event{Phase: phase, Elapsed: time.Since(start), Total: total})
	}
}

// rest watches the server for Hold.
func (r *idleRun) rest(ctx context.Context, phase string) (*IdleRest, error) {
	o, w := r.options, r.server.watch
	cpu, err := w.cpu(ctx)
	if err != nil {
		return nil, err
	}
	pings := NewLatency()
	start := time.Now()
	o.Progress.Send(Event{Phase: phase, Total: o.Hold})
	for time.Since(start) < o.Hold && pause(ctx, idlePing) {
		if err := w.ping(ctx, pings); err != nil {
			return nil, err
		}
		o.Progress.Send(Event{Phase: phase, Elapsed: time.Since(start), Total: o.Hold})
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	rest := &IdleRest{PingP50Us: pings.QuantileUs(0.5), PingP99Us: pings.QuantileUs(0.99)}
	now, err := w.cpu(ctx)
	if err == nil && cpu != nil && now != nil {
		share := (*now - *cpu) / time.Since(start).Seconds()
		rest.CPUShare = &share
	}
	return rest, err
}

// perConn divides what has grown among the conns.
func (r *idleRun) perConn(ctx context.Context, before IdleStep) (*IdlePerConn, error) {
	m, err := r.server.watch.memory(ctx)
	if err != nil {
		return nil, err
	}
	n := float64(len(r.conns))
	p := &IdlePerConn{
		UsedBytes: float64(m.used-before.UsedBytes) / n,
		RSSBytes:  float64(m.rss-before.RSSBytes) / n,
	}
	if m.clients != nil && before.ClientsBytes != nil {
		each := float64(*m.clients-*before.ClientsBytes) / n
		p.ClientsBytes = &each
	}
	// A server that forbids the list is measured without it.
	if list, err := r.server.watch.clients(ctx); err == nil {
		var sizes []int64
		for _, fields := range list {
			size, err := strconv.ParseInt(fields["tot-mem"], 10, 64)
			if err == nil && fields["name"] == idleName {
				sizes = append(sizes, size)
			}
		}
		if len(sizes) > 0 {
			slices.Sort(sizes)
			p.ListBytes = &sizes[len(sizes)/2]
		}
	}
	return p, nil
}

// close closes all conns.
func (r *idleRun) close() error {
	var errs []error
	for _, conn := range r.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}
