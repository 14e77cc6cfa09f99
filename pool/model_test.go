package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// op is one step of a random history.
type op struct {
	kind  int
	n     int
	delay time.Duration
}

const (
	opAcquire    = iota // n+1 callers come, each with a deadline of delay
	opPass              // delay passes
	opRelease           // holder n, if there is one, releases
	opReleaseAll        // all holders release at once
	opDiscard           // holder n discards
	opFail              // the server refuses, or accepts again
	opKill              // n idle conns die
	opClear
	opResize
	opSlow // dials and closes take delay
	opSucceed
	opKinds
)

var opGen = rapid.Custom(func(t *rapid.T) op {
	return op{
		kind:  rapid.IntRange(0, opKinds-1).Draw(t, "kind"),
		n:     rapid.IntRange(0, 7).Draw(t, "n"),
		delay: time.Duration(rapid.IntRange(0, 400).Draw(t, "ms")) * time.Millisecond,
	}
})

// history is what rapid draws outside the bubble, where it may not be called.
type history struct {
	size, overflow, minIdle int
	wait, leaks, codel      bool
	ops                     []op
}

var historyGen = rapid.Custom(func(t *rapid.T) history {
	size := rapid.IntRange(0, 4).Draw(t, "size")
	return history{
		size:     size,
		overflow: rapid.IntRange(max(0, 1-size), 4).Draw(t, "overflow"),
		minIdle:  rapid.IntRange(0, size).Draw(t, "minIdle"),
		wait:     rapid.Bool().Draw(t, "wait"),
		leaks:    rapid.Bool().Draw(t, "leaks"),
		codel:    rapid.Bool().Draw(t, "codel"),
		ops:      rapid.SliceOfN(opGen, 1, 60).Draw(t, "ops"),
	}
})

// TestModel plays random histories in virtual time and checks the invariants after every
// step, and at the end that everything has come back.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := historyGen.Draw(rt, "history")
		var err error
		synctest.Test(t, func(t *testing.T) { err = h.play(t.Context()) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// player is a history under way.
type player struct {
	w    *world
	p    *Pool[*conn]
	max  int // as resized
	mu   sync.Mutex
	held []Lease[*conn]
	errs []error
	wg   sync.WaitGroup
}

func (h history) play(ctx context.Context) (err error) {
	w := newWorld()
	cfg := w.config(h.size, h.overflow)
	cfg.MinIdleConns = h.minIdle
	cfg.WaitWhileFailing = h.wait
	cfg.CoDel.Enabled = h.codel
	cfg.OverflowDrain = 2 * time.Second
	cfg.MaxConnIdleTime = 3 * time.Second
	cfg.MaxConnLifetime = 5 * time.Second
	cfg.PingInterval = 700 * time.Millisecond
	cfg.Ping = (*conn).alive
	cfg.Budget = NewBudget(7)
	if h.leaks {
		cfg.LeakThreshold = 300 * time.Millisecond
	}
	p, err := New(cfg)
	if err != nil {
		return err
	}
	pl := &player{w: w, p: p, max: h.size + h.overflow}
	defer func() { // whatever was found, leave nothing behind: it would hide the finding
		pl.wg.Wait()
		now, cancel := context.WithCancel(ctx)
		cancel()
		if p.Close(now) != nil {
			err = errors.Join(err, p.Close(ctx))
		}
	}()
	for i, o := range h.ops {
		pl.step(ctx, o)
		synctest.Wait()
		if err := pl.check(h.minIdle); err != nil {
			return fmt.Errorf("after step %d, %+v: %w", i, o, err)
		}
	}
	return pl.finish(ctx, cfg.Budget)
}

func (pl *player) step(ctx context.Context, o op) {
	switch o.kind {
	case opAcquire:
		for range o.n + 1 {
			pl.wg.Go(func() { pl.acquire(ctx, o.delay) })
		}
	case opPass:
		time.Sleep(o.delay)
	case opRelease:
		if l, ok := pl.take(o.n); ok {
			pl.end(l, Lease[*conn].Release)
		}
	case opReleaseAll:
		for l, ok := pl.take(0); ok; l, ok = pl.take(0) {
			pl.end(l, Lease[*conn].Release)
		}
	case opDiscard:
		if l, ok := pl.take(o.n); ok {
			pl.end(l, func(l Lease[*conn]) error { return l.Discard(ReasonError) })
		}
	case opFail:
		pl.w.set(func(w *world) {
			w.dialErr = nil
			if o.n < 4 {
				w.dialErr = errRefused
			}
		})
	case opKill:
		for i, c := range pl.w.look().conns {
			if i%8 == o.n {
				c.die()
			}
		}
	case opClear:
		pl.p.Clear()
	case opResize:
		if pl.p.Resize(o.n/2, 1+o.n%3) == nil {
			pl.max = o.n/2 + 1 + o.n%3
		}
	case opSlow:
		pl.w.set(func(w *world) { w.dialTime, w.closeTime, w.deaf = o.delay, o.delay/2, o.n == 0 })
	case opSucceed:
		pl.p.ep.Succeeded()
	}
}

// acquire is a caller. It must be back by its deadline.
func (pl *player) acquire(ctx context.Context, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start := time.Now()
	l, err := pl.p.Acquire(ctx)
	if late := time.Since(start) - patience; late > time.Millisecond {
		pl.report(fmt.Errorf("a caller came back %v after its deadline: %w", late, err))
	}
	var e *AcquireError
	switch {
	case err == nil:
		if err := l.Value().use(); err != nil {
			pl.report(err)
		}
		pl.mu.Lock()
		pl.held = append(pl.held, l)
		pl.mu.Unlock()
	case !errors.As(err, &e):
		pl.report(fmt.Errorf("error of type %T: %w", err, err))
	case !errors.Is(err, ErrAcquireTimeout) && !errors.Is(err, ErrDeadlineTooShort) && !errors.Is(err, ErrEndpointDown) && !errors.Is(err, ErrShed):
		pl.report(err)
	}
}

func (pl *player) report(err error) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.errs = append(pl.errs, err)
}

func (pl *player) take(n int) (Lease[*conn], bool) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if len(pl.held) == 0 {
		return Lease[*conn]{}, false
	}
	i := n % len(pl.held)
	l := pl.held[i]
	pl.held = append(pl.held[:i], pl.held[i+1:]...)
	return l, true
}

// end gives l back with f, and then once more, which must do nothing.
func (pl *player) end(l Lease[*conn], f func(Lease[*conn]) error) {
	l.Value().unuse()
	if err := f(l); err != nil {
		pl.report(err)
	}
	if err := l.Release(); !errors.Is(err, ErrReleased) {
		pl.report(fmt.Errorf("second release: %w", err))
	}
}

// check holds at every moment when all goroutines are blocked.
func (pl *player) check(minIdle int) error {
	if err := pl.p.verify(); err != nil {
		return err
	}
	s := pl.p.Stat()
	_, seen, maxSeen, maxDialing := pl.w.counts()
	pl.mu.Lock()
	held, errs := len(pl.held), errors.Join(pl.errs...)
	pl.mu.Unlock()
	state := pl.p.ep.State()
	switch {
	case errs != nil:
		return errs
	case s.Open+s.Dialing+s.Closing != seen:
		return fmt.Errorf("the server sees %d conns: %+v", seen, s)
	case maxSeen > 8 || maxDialing > 2: // at most 4 + 4, and Resize stays below
		return fmt.Errorf("the server saw %d conns and %d dials at once", maxSeen, maxDialing)
	case s.InUse != held:
		return fmt.Errorf("%d in use, %d leases", s.InUse, held)
	case s.Waiting > 0 && s.Idle > 0:
		return fmt.Errorf("%d wait while %d are idle", s.Waiting, s.Idle)
	case state.Pending != s.Dialing:
		return fmt.Errorf("%d pending, %d dialing", state.Pending, s.Dialing)
	case minIdle == 0 && s.Dials > 0 && s.Opened+s.DialErrors > s.Dials:
		return fmt.Errorf("more dials ended than began: %+v", s)
	case s.Opened != uint64(s.Open)+s.ClosedTotal():
		return fmt.Errorf("conns lost count of: %+v", s)
	}
	return nil
}

// finish lets the server be well again: all that wait are served or leave, all slots come
// back, and the pool can use its whole size once more.
func (pl *player) finish(ctx context.Context, budget *Budget) error {
	pl.wg.Wait()
	pl.step(ctx, op{kind: opReleaseAll})
	pl.w.set(func(w *world) { w.dialErr, w.dialTime, w.closeTime, w.deaf = nil, time.Millisecond, 0, false })
	time.Sleep(time.Minute) // beyond any backoff
	pl.p.ep.Succeeded()
	n := min(pl.max, budget.Max())
	leases := make([]Lease[*conn], n)
	for i := range leases {
		long, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		l, err := pl.p.Acquire(long)
		if err != nil {
			return fmt.Errorf("conn %d of %d did not come back: %w", i, n, err)
		}
		pl.p.ep.Succeeded()
		leases[i] = l
	}
	for _, l := range leases {
		if err := l.Release(); err != nil {
			return err
		}
	}
	if err := pl.p.Close(ctx); err != nil {
		return err
	}
	if _, seen, _, _ := pl.w.counts(); seen != 0 || budget.Used() != 0 {
		return fmt.Errorf("%d conns, %s of the budget left after Close", seen, budget)
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return errors.Join(pl.errs...)
}
