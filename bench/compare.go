package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Compare loads two sides by turns and says how their figures differ, if they do: first A
// against itself, which shows how much two turns of the same differ here, then A and B,
// in pairs whose order alternates (ABBA), so that what drifts or slows the machine for a
// while is in both. A difference is called only where the interval of the pairs' ratios
// excludes 1 and their median lies beyond what A against itself shows.
//
// Cancelled, it returns what it has together with the context's error. Errors are as
// those of [Run].
func Compare(ctx context.Context, o CompareOptions) (*CompareResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := &comparison{options: o}
	err := c.open(ctx)
	if err == nil {
		err = c.measure(ctx)
	}
	err = errors.Join(err, c.close(ctx))
	if c.result == nil {
		return nil, err
	}
	c.result.Interrupted = ctx.Err() != nil
	c.result.Judge()
	return c.result, err
}

// comparison is one run of Compare.
type comparison struct {
	options CompareOptions
	a, b    *runRun
	result  *CompareResult // nil before there is something to compare
	begin   time.Time
	turns   int // done
}

// open opens the server or servers, and writes both sides' keys.
func (c *comparison) open(ctx context.Context) (err error) {
	o := c.options
	a, b := o.turn(o.A), o.turn(o.B)
	a.Progress, b.Progress = o.Progress, o.Progress
	if c.a, err = openRun(ctx, a); err != nil {
		return fmt.Errorf("side A: %w", err)
	}
	if o.sameServer() {
		plan, err := b.compile()
		if err != nil {
			return fmt.Errorf("side B: %w", err)
		}
		c.b = newRun(c.a.server, b, plan)
		c.b.nodes = c.a.nodes
	} else if c.b, err = openRun(ctx, b); err != nil {
		return fmt.Errorf("side B: %w", err)
	}
	for i, r := range []*runRun{c.a, c.b} {
		if err := r.prepare(ctx); err != nil {
			return fmt.Errorf("side %c: %w", "AB"[i], err)
		}
	}
	for i, r := range []*runRun{c.a, c.b} {
		if i == 1 && o.sameKeys() {
			continue
		}
		if err := r.preload(ctx); err != nil {
			return fmt.Errorf("side %c: %w", "AB"[i], err)
		}
	}
	return nil
}

func (c *comparison) close(ctx context.Context) error {
	var err error
	if c.b != nil {
		if c.b.server == c.a.server {
			err = c.b.clean(ctx)
		} else {
			err = c.b.close(ctx)
		}
	}
	if c.a != nil {
		err = errors.Join(err, c.a.close(ctx))
	}
	return err
}

func (c *comparison) measure(ctx context.Context) error {
	side := func(r *runRun) CompareSide {
		return CompareSide{
			Environment: r.server.env, Params: r.result.Params, Workload: r.options.Workload, ServerConfig: r.options.ServerConfig, Errors: map[string]int64{},
		}
	}
	o := c.options
	r := &CompareResult{
		Schema: CompareSchema, Paired: true, A: side(c.a), B: side(c.b), PairsWanted: o.Pairs, SlotS: o.Slot.Seconds(),
		Metrics: []CompareMetric{}, Noise: []ComparePair{}, Pairs: []ComparePair{},
	}
	r.Differences = differences(&r.A, &r.B)
	c.result, c.begin = r, time.Now()
	for n := range 2 * o.Pairs {
		first, second := c.a, c.a
		sides := [2]*CompareSide{&r.A, &r.A}
		pairs := &r.Noise
		if n >= o.Pairs {
			second, sides[1], pairs = c.b, &r.B, &r.Pairs
		}
		pair, err := c.pair(ctx, [2]*runRun{first, second}, sides, n%2 == 1)
		if err != nil {
			return err
		}
		*pairs = append(*pairs, pair)
	}
	return nil
}

// pair is one turn of each of two sides, in their order or backwards.
func (c *comparison) pair(ctx context.Context, runs [2]*runRun, sides [2]*CompareSide, backwards bool) (ComparePair, error) {
	var turns [2]CompareTurn
	var results [2]*RunResult
	for i := range 2 {
		at := i
		if backwards {
			at = 1 - i
		}
		var err error
		if results[at], turns[at], err = c.turn(ctx, runs[at]); err != nil {
			return ComparePair{}, fmt.Errorf("side %c: %w", "AB"[at], err)
		}
	}
	for i, r := range results { // a pair counts for both sides or for none
		sides[i].add(r)
	}
	return ComparePair{A: turns[0], B: turns[1]}, nil
}

func (c *comparison) turn(ctx context.Context, r *runRun) (*RunResult, CompareTurn, error) {
	if err := r.drain(ctx); err != nil {
		return nil, CompareTurn{}, err
	}
	o := r.options
	name := "A"
	switch {
	case r == c.b:
		name = "B"
	case c.turns < 2*c.options.Pairs:
		name = "A against itself"
	}
	o.Progress = func(e Event) {
		e.Phase, e.Elapsed, e.Total = "by turns", time.Since(c.begin), c.length()
		if e.Status != "" {
			e.Status = name + ": " + e.Status
		}
		c.options.Progress.Send(e)
	}
	res, err := r.again(ctx, o)
	if err != nil {
		return nil, CompareTurn{}, err
	}
	c.turns++
	if res.OK == 0 {
		return nil, CompareTurn{}, errors.New("no request was answered without an error: " + res.troubles())
	}
	h := res.Total.Times().Histogram
	return res, CompareTurn{OKPerS: res.OKPerS, P50Us: micros(h.Quantile(0.5)), P99Us: micros(h.Quantile(0.99))}, nil
}

// length is about how long all turns take.
func (c *comparison) length() time.Duration {
	return time.Duration(4*c.options.Pairs) * (c.options.Slot + c.a.options.Warmup)
}
