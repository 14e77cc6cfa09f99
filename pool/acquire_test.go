package pool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAcquireErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(1, 0)
		cfg.AcquireTimeout = 100 * time.Millisecond
		p := mustNew(t, cfg)
		held := mustAcquire(t, p)
		past, cancelPast := context.WithTimeout(t.Context(), time.Second)
		defer cancelPast()
		time.Sleep(time.Second)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		cause := errors.New("shutting down")
		withCause, cancelCause := context.WithCancelCause(t.Context())

		for name, c := range map[string]struct {
			ctx    context.Context
			waits  time.Duration
			is     []error
			not    []error
			during func()
		}{
			"deadline past":   {ctx: past, is: []error{ErrDeadlineTooShort, context.DeadlineExceeded}, not: []error{ErrAcquireTimeout}},
			"canceled before": {ctx: canceled, is: []error{context.Canceled}, not: []error{ErrAcquireTimeout, ErrDeadlineTooShort}},
			"context ends":    {waits: 10 * time.Millisecond, is: []error{ErrAcquireTimeout, context.DeadlineExceeded}},
			"acquire timeout": {ctx: t.Context(), waits: 100 * time.Millisecond, is: []error{ErrAcquireTimeout}, not: []error{context.DeadlineExceeded}},
			"canceled in the queue": {ctx: withCause, waits: 20 * time.Millisecond, is: []error{context.Canceled, cause}, not: []error{ErrAcquireTimeout}, during: func() {
				time.Sleep(20 * time.Millisecond)
				cancelCause(cause)
			}},
		} {
			if c.during != nil {
				go c.during()
			}
			ctx := c.ctx
			if ctx == nil {
				soon, cancel := context.WithTimeout(t.Context(), c.waits)
				defer cancel()
				ctx = soon
			}
			start := time.Now()
			_, err := p.Acquire(ctx)
			waited := time.Since(start)
			for _, want := range c.is {
				if !errors.Is(err, want) {
					t.Errorf("%s: %v is not %v", name, err, want)
				}
			}
			for _, not := range c.not {
				if errors.Is(err, not) {
					t.Errorf("%s: %v is %v", name, err, not)
				}
			}
			var e *AcquireError
			if !errors.As(err, &e) {
				t.Fatalf("%s: %T", name, err)
			}
			if waited != c.waits || e.Waited != waited {
				t.Errorf("%s: waited %v, says %v, want %v", name, waited, e.Waited, c.waits)
			}
			if e.Stat.Open != 1 || e.Stat.InUse != 1 || e.Stat.Max != 1 {
				t.Errorf("%s: snapshot %+v", name, e.Stat)
			}
			if e.Timeout() == errors.Is(err, context.Canceled) {
				t.Errorf("%s: Timeout() = %v", name, e.Timeout())
			}
		}
		if s := p.Stat(); s.Waiting != 0 || s.Timeouts != 3 || s.Canceled != 2 {
			t.Errorf("%+v", s)
		}
		mustRelease(t, held)
		if _, err := p.Acquire(canceled); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that has ended got an idle conn: %v", err)
		}
		shut(t, p, w)
		if _, err := p.Acquire(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if _, ok := p.TryAcquire(); ok {
			t.Error("TryAcquire after Close")
		}
	})
}

func TestQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(1, 0)
		cfg.MaxWaiters = 5
		p := mustNew(t, cfg)
		held := mustAcquire(t, p)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { mustRelease(t, mustAcquire(t, p)) })
		}
		synctest.Wait()
		if _, err := p.Acquire(t.Context()); !errors.Is(err, ErrQueueFull) {
			t.Errorf("the sixth waiter: %v", err)
		}
		mustRelease(t, held)
		wg.Wait()
		if s := p.Stat(); s.Rejected != 1 {
			t.Errorf("%d rejected", s.Rejected)
		}
		shut(t, p, w)
	})
}

// Below twice the conns nobody is rejected, from four times on everybody.
func TestEarlyReject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(50, 0)
		cfg.EarlyReject = true
		p := mustNew(t, cfg)
		held := make([]Lease[*conn], 50)
		for i := range held {
			held[i] = mustAcquire(t, p)
		}
		var refused atomic.Int64
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				l, err := p.Acquire(t.Context())
				if err == nil {
					mustRelease(t, l)
					return
				}
				refused.Add(1)
			})
			synctest.Wait()
			if i == 99 && refused.Load() > 0 {
				t.Errorf("%d rejected below twice the conns", refused.Load())
			}
		}
		if n := p.Stat().Waiting; n < 120 || n > 200 {
			t.Errorf("%d wait", n)
		}
		for _, l := range held {
			mustRelease(t, l)
		}
		wg.Wait()
		shut(t, p, w)
	})
}

// 200 callers on 20 conns and 250 on 10 are normal use: all are served.
func TestNormalUseShedsNothing(t *testing.T) {
	for _, c := range []struct{ callers, conns int }{{200, 20}, {250, 10}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.dialTime = 5 * time.Millisecond
			p := mustNew(t, w.config(c.conns, 0))
			var wg sync.WaitGroup
			for range c.callers {
				wg.Go(func() {
					for range 20 {
						ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
						l, err := p.Acquire(ctx)
						cancel()
						if err != nil {
							t.Error(err)
							return
						}
						<-time.After(time.Millisecond)
						mustRelease(t, l)
					}
				})
			}
			wg.Wait()
			shut(t, p, w)
		})
	}
}

// Under lasting overload CoDel sheds the old and serves the new: those served are served
// soon, and the conns stay busy. When the load ends nothing is shed any more.
func TestCoDel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(10, 0)
		cfg.CoDel.Enabled = true
		p := mustNew(t, cfg)
		fillTogether(t, p, 10)
		var served, shed, slow atomic.Int64
		var wg sync.WaitGroup
		call := func() {
			start := time.Now()
			l, err := p.Acquire(t.Context())
			if err != nil {
				if !errors.Is(err, ErrShed) {
					t.Error(err)
				}
				shed.Add(1)
				return
			}
			if time.Since(start) > 20*time.Millisecond {
				slow.Add(1)
			}
			served.Add(1)
			<-time.After(2 * time.Millisecond)
			mustRelease(t, l)
		}
		// Capacity is 5 a millisecond; 15 come.
		for range 2000 {
			for range 15 {
				wg.Go(call)
			}
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		if n := served.Load(); n < 9000 {
			t.Errorf("%d served of 10,000 possible", n)
		}
		if n := slow.Load(); n > 2000 {
			t.Errorf("%d of %d served later than 20 ms", n, served.Load())
		}
		if shed.Load() == 0 || p.Stat().Shed != uint64(shed.Load()) {
			t.Errorf("%d shed, counted %d", shed.Load(), p.Stat().Shed)
		}
		before := shed.Load()
		time.Sleep(time.Second)
		for range 1000 { // 4 a millisecond
			for range 4 {
				wg.Go(call)
			}
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		if shed.Load() != before {
			t.Errorf("%d shed below capacity", shed.Load()-before)
		}
		shut(t, p, w)
	})
}

// With no conn released at all, CoDel still sheds, within two intervals.
func TestCoDelWithoutReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config(1, 0)
		cfg.CoDel.Enabled = true
		p := mustNew(t, cfg)
		held := mustAcquire(t, p)
		start := time.Now()
		if _, err := p.Acquire(t.Context()); !errors.Is(err, ErrShed) {
			t.Error(err)
		}
		if d := time.Since(start); d > 210*time.Millisecond {
			t.Errorf("shed after %v", d)
		}
		mustRelease(t, held)
		shut(t, p, w)
	})
}

// A caller that takes and gives the only conn in a loop does not keep a waiter from it,
// even if it never blocks.
func TestBargingDoesNotStarveWaiters(t *testing.T) {
	w := newWorld()
	p := mustNew(t, w.config(1, 0))
	fill(t, p, 1)
	stop := make(chan struct{})
	var loop sync.WaitGroup
	for range 4 {
		loop.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				mustRelease(t, mustAcquire(t, p))
			}
		})
	}
	for range 100 {
		l := mustAcquire(t, p) // hangs for good if it is starved
		mustRelease(t, l)
	}
	close(stop)
	loop.Wait()
	shut(t, p, w)
}

// Ten thousand waiters that leave at once leave nothing behind.
func TestManyWaitersCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := mustNew(t, w.config(1, 0))
		held := mustAcquire(t, p)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 10_000 {
			wg.Go(func() {
				if _, err := p.Acquire(ctx); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		time.Sleep(2 * time.Second)
		p.mu.Lock()
		if p.queue.n != 0 || p.queue.spares != 0 || p.queue.spare != nil {
			t.Errorf("%d in the queue, %d spare", p.queue.n, p.queue.spares)
		}
		p.mu.Unlock()
		mustRelease(t, held)
		shut(t, p, w)
	})
}

func TestTryAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := mustNew(t, w.config(1, 0))
		if _, ok := p.TryAcquire(); ok {
			t.Error("a conn out of nothing")
		}
		if s := p.Stat(); s.Dials != 0 {
			t.Error("TryAcquire dialed")
		}
		fill(t, p, 1)
		l, ok := p.TryAcquire()
		if !ok {
			t.Fatal("the idle conn was not given")
		}
		if _, ok := p.TryAcquire(); ok {
			t.Error("the conn was given twice")
		}
		mustRelease(t, l)
		shut(t, p, w)
	})
}

func TestLeaseEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := mustNew(t, w.config(1, 0))
		l := mustAcquire(t, p)
		copied := l
		mustRelease(t, l)
		for name, err := range map[string]error{
			"release again": l.Release(), "release a copy": copied.Release(), "discard": l.Discard(ReasonError),
			"zero lease": Lease[*conn]{}.Release(), "zero lease discard": Lease[*conn]{}.Discard(ReasonError),
		} {
			if !errors.Is(err, ErrReleased) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if (Lease[*conn]{}).Value() != nil {
			t.Error("the zero lease has a conn")
		}
		next := mustAcquire(t, p)
		if err := l.Release(); !errors.Is(err, ErrReleased) {
			t.Errorf("an old lease released another's conn: %v", err)
		}
		if err := next.Discard(ReasonUnknown); err != nil {
			t.Error(err)
		}
		if err := next.Release(); !errors.Is(err, ErrReleased) {
			t.Errorf("release after discard: %v", err)
		}
		synctest.Wait()
		if s := p.Stat(); s.Open != 0 || s.Closed(ReasonError) != 1 || s.ClosedTotal() != 1 {
			t.Errorf("%+v", s)
		}
		shut(t, p, w)
	})
}

// Until the oldest waiter has waited 1 ms, whoever runs may take a conn just released;
// from then on it is the waiter's. In a bubble the waiter's own wake-up is the only one.
func TestHandOverAfterAMillisecond(t *testing.T) {
	for name, prepare := range map[string]func(*Pool[*conn]){
		"the waiter looked and found nothing": func(p *Pool[*conn]) {
			p.mu.Lock()
			w := p.queue.head
			p.mu.Unlock()
			w.signal()
			synctest.Wait()
		},
		"the releaser looked at the clock": func(p *Pool[*conn]) {
			p.mu.Lock()
			p.ops = 2*checkHeadEvery - 1
			p.mu.Unlock()
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			p := mustNew(t, w.config(1, 0))
			held := mustAcquire(t, p)
			got := make(chan Lease[*conn], 1)
			go func() { got <- mustAcquire(t, p) }()
			synctest.Wait()
			time.Sleep(2 * time.Millisecond)
			prepare(p)
			mustRelease(t, held)
			// The waiter has it already, whether or not it has run.
			if s := p.Stat(); s.InUse != 1 || s.Waiting != 0 {
				t.Errorf("%s: %+v", name, s)
			}
			if _, ok := p.TryAcquire(); ok {
				t.Errorf("%s: a running caller took the conn", name)
			}
			mustRelease(t, <-got)
			p.mu.Lock()
			if p.slow&slowStarving != 0 {
				t.Errorf("%s: still handing over", name)
			}
			p.mu.Unlock()
			shut(t, p, w)
		})
	}
}

// A waiter that was woken for an idle conn, and gets another one before it has looked, must
// not take the wake-up with it.
func TestWakeUpIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := mustNew(t, w.config(2, 0))
		a, b := mustAcquire(t, p), mustAcquire(t, p)
		got := make(chan Lease[*conn])
		for range 2 {
			go func() { got <- mustAcquire(t, p) }()
			synctest.Wait()
		}
		p.mu.Lock()
		first := p.queue.head
		p.endLease(a.e)
		p.putIdle(a.e)
		first.woken = true // a was released; its token is on its way
		p.endLease(b.e)
		p.serve(first, b.e)
		p.mu.Unlock()
		first.signal()
		for range 2 {
			mustRelease(t, <-got) // hangs if nobody takes a
		}
		shut(t, p, w)
	})
}
