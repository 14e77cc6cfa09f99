package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

const (
	// churnLook is how often the server is asked for its open conns, for the peak.
	churnLook = 50 * time.Millisecond
	// shortSecond is the least that a last, cut-off second must have lasted to stand
	// in the result.
	shortSecond = 50 * time.Millisecond
	// drainBurst bounds the second burst, whose drain is watched.
	drainBurst = time.Second
)

// Churn lets many callers ping through a pool that is too small for them, in one
// mode after the other, and counts what conns that costs. Cancelled, it returns
// what it has together with the context's error. Errors are an [OptionError], a
// [RefusedError], or say why the server could not be used.
func Churn(ctx context.Context, o ChurnOptions) (*ChurnResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := openServer(ctx, o.Target, wants{plan: o.Plan(), cluster: true, disturb: o.Disturb, progress: o.Progress})
	if err != nil {
		return nil, err
	}
	r, err := churnOn(ctx, s, o, true)
	return r, errors.Join(err, s.close())
}

// churnOn runs the modes; live says each second's numbers as they come.
func churnOn(ctx context.Context, s *server, o ChurnOptions, live bool) (*ChurnResult, error) {
	r := NewChurnResult(s.env, o)
	for _, mode := range o.Modes {
		s.watch.settle(ctx)
		run := churnRun{server: s, options: o, mode: mode, live: live}
		m, err := run.run(ctx)
		if m != nil {
			r.Modes = append(r.Modes, *m)
		}
		if ctx.Err() != nil {
			r.Interrupted = true
			return r, ctx.Err()
		}
		if err != nil {
			return r, fmt.Errorf("mode %s: %w", mode, err)
		}
	}
	return r, nil
}

// churnRun is one mode's run.
type churnRun struct {
	server  *server
	options ChurnOptions
	mode    ChurnMode
	live    bool

	pinger  pinger
	meter   *meter
	start   time.Time // of the load
	result  ChurnModeResult
	last    churnCount
	openMax int // as the server counts
}

// churnCount is what had been counted at a time of the run.
type churnCount struct {
	at       time.Duration
	accepted int64
	calls    tally
}

func (c *churnRun) run(ctx context.Context) (*ChurnModeResult, error) {
	c.result = ChurnModeResult{Mode: c.mode, Seconds: []ChurnSecond{}}
	before, err := c.server.watch.counts(ctx)
	if err != nil {
		return nil, err
	}
	if c.pinger, err = newPinger(c.server, c.options, c.mode); err != nil {
		return nil, err
	}
	c.meter = newMeter(c.options.Parallel)
	c.last.accepted = before.accepted

	c.options.Progress.Send(Event{Phase: string(c.mode), Total: c.options.Duration})
	c.start = time.Now()
	callers := c.callers(ctx)
	c.follow(ctx)
	callers.dismiss()

	calls := c.meter.tally()
	c.result.Summarise(c.meter.times(), c.openMax, calls.failed)
	err = c.release(ctx)
	if err == nil && c.mode == ChurnOverflow && c.options.DrainWatch > 0 && ctx.Err() == nil {
		err = c.drain(ctx)
	}
	if ctx.Err() == nil && calls.first != nil {
		c.options.Progress.Send(Event{Note: fmt.Sprintf("%s: %s failed, the first with: %v", c.mode, report.Plural(calls.failed, "ping", "pings"), calls.first)})
		if calls.count == 0 {
			return nil, errors.Join(calls.first, err)
		}
	}
	return &c.result, err
}

// callers begins the load.
func (c *churnRun) callers(ctx context.Context) *crew {
	return muster(ctx, c.options.Parallel, c.options.Interval, func(ctx context.Context, caller int) {
		begin := time.Now()
		err := c.pinger.ping(ctx)
		if err == nil || ctx.Err() == nil {
			c.meter.record(caller, time.Since(begin), err)
		}
	})
}

// release closes the pinger and its conns, also when ctx has ended.
func (c *churnRun) release(ctx context.Context) error {
	closing, cancel := afterwards(ctx)
	defer cancel()
	return c.pinger.close(closing)
}

// follow counts until the load's time is up.
func (c *churnRun) follow(ctx context.Context) {
	nextSecond, nextLook := min(time.Second, c.options.Duration), churnLook
	for {
		more := pause(ctx, time.Until(c.start.Add(min(nextSecond, nextLook))))
		elapsed := time.Since(c.start)
		if !more {
			if elapsed-c.last.at >= shortSecond {
				closing, cancel := afterwards(ctx)
				c.second(closing)
				cancel()
			}
			return
		}
		if elapsed >= nextSecond {
			c.second(ctx)
			if elapsed >= c.options.Duration {
				return
			}
			nextSecond = min(nextSecond+time.Second, c.options.Duration)
		} else if open, err := c.server.watch.open(ctx); err == nil {
			c.openMax = max(c.openMax, open)
		}
		nextLook = time.Since(c.start) + churnLook
		c.options.Progress.Send(Event{Phase: string(c.mode), Elapsed: elapsed, Total: c.options.Duration})
	}
}

// second adds a row. A server that does not answer in time loses it its row, whose
// counts the next one then has.
func (c *churnRun) second(ctx context.Context) {
	now, err := c.server.watch.counts(ctx)
	if err != nil {
		return
	}
	at, calls := time.Since(c.start), c.meter.tally()
	row := ChurnSecond{T: at.Seconds(), New: int(now.accepted - c.last.accepted), Pings: calls.count - c.last.calls.count}
	row.Open, row.Available = c.pinger.conns()
	if row.Pings > 0 {
		row.MeanUs = micros(calls.sum-c.last.calls.sum) / float64(row.Pings)
	}
	c.result.Seconds = append(c.result.Seconds, row)
	c.openMax = max(c.openMax, now.open)
	if c.live {
		c.options.Progress.Send(Event{Note: fmt.Sprintf("%s, %.0f s: %s open, %s new, %s available, %s pings, %s on average",
			c.mode, row.T, report.Int(row.Open), report.Int(row.New), report.Int(row.Available), report.Int(row.Pings), report.Micros(row.MeanUs))})
	}
	c.last = churnCount{at: at, accepted: now.accepted, calls: calls}
}

// drain makes the burst once more, with a drain that is short enough to be watched,
// and follows the overflow as it leaves, beside the line that it should follow.
func (c *churnRun) drain(ctx context.Context) (err error) {
	o := c.options
	o.OverflowDrain = min(o.OverflowDrain, o.DrainWatch)
	c.server.watch.settle(ctx)
	if c.pinger, err = newPinger(c.server, o, c.mode); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.release(ctx)) }()
	line := drainLine{size: o.Size, peak: c.burst(ctx), drain: o.OverflowDrain}
	ended := time.Now()
	every := min(max(o.DrainWatch/20, 100*time.Millisecond), time.Second)
	phase := string(c.mode) + ", draining"
	o.Progress.Send(Event{Phase: phase, Total: o.DrainWatch})
	for next := time.Duration(0); pause(ctx, time.Until(ended.Add(next))); next += every {
		open, err := c.server.watch.open(ctx)
		t := time.Since(ended)
		o.Progress.Send(Event{Phase: phase, Elapsed: t, Total: o.DrainWatch})
		if err == nil {
			if len(c.result.Drain) == 0 {
				line.from = open
			}
			c.result.Drain = append(c.result.Drain, ChurnDrain{T: t.Seconds(), Open: open, Expected: line.at(t)})
		}
		// The last conn may leave half a turn late.
		if t >= o.DrainWatch+every {
			break
		}
	}
	return nil
}

// burst loads the pinger until it has as many conns as the first time, but not for
// long, and returns the most that it had.
func (c *churnRun) burst(ctx context.Context) (peak int) {
	callers := c.callers(ctx)
	defer callers.dismiss()
	begin := time.Now()
	for peak < c.result.Summary.OpenMax && time.Since(begin) < drainBurst && pause(ctx, 5*time.Millisecond) {
		open, _ := c.pinger.conns()
		peak = max(peak, open)
	}
	return peak
}

// drainLine is the even drain of a pool: of a burst that left peak conns open, one
// above size leaves every drain/(peak-size).
type drainLine struct {
	from, size, peak int
	drain            time.Duration
}

func (l drainLine) at(t time.Duration) float64 {
	gone := float64(max(l.peak-l.size, 0)) * float64(t) / float64(l.drain)
	return max(float64(l.from)-gone, float64(min(l.size, l.from)))
}
