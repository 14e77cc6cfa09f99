package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/report"
)

// fillDepth and fillConns are how keys are written and removed: enough to hide the round
// trips.
const (
	fillDepth = 64
	fillConns = 8
)

// admitKeys refuses to write among the keys of others.
func (r *runRun) admitKeys(ctx context.Context) error {
	if r.mine = r.server.target.Private() || r.plan.KeysBegin(KeyPrefix); r.mine {
		return nil
	}
	n, err := r.countKeys(ctx)
	switch {
	case err == nil && n == 0:
		r.mine = true
		return nil
	case r.options.Disturb:
		if !r.options.Keep {
			r.options.Progress.Send(Event{Note: "the database has keys that may be others': none will be removed at the end"})
		}
		return nil
	case err != nil:
		return fmt.Errorf("the server does not say whether the database is empty (--disturb goes on without): %w", err)
	}
	return &RefusedError{Reasons: []string{fmt.Sprintf(
		"database %d has %s, and the workload's keys do not begin with %s: give an empty database, or a workload whose keys do",
		r.server.target.DB, report.Plural(n, "key", "keys"), KeyPrefix)}}
}

// countKeys is how many keys the database has, over all nodes.
func (r *runRun) countKeys(ctx context.Context) (sum int64, err error) {
	for _, s := range r.servers() {
		reply, err := s.watch.do(ctx, "DBSIZE")
		if err != nil {
			return 0, err
		}
		n, err := reply.Int()
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// preload writes each key once.
func (r *runRun) preload(ctx context.Context) error {
	o := r.options
	if o.SkipPreload || !r.plan.CanPreload() || r.plan.Keys() == 0 || r.keysAreThere() {
		return nil
	}
	from := min(o.PreloadFrom, r.plan.Keys())
	r.dirty = true
	begin := time.Now()
	done, err := r.fill(ctx, "preload", r.plan.Keys()-from, r.plan.PreloadPerKey(), func(s workload.Slice, n *clusterNode) raw.Stream {
		if n != nil {
			return r.plan.PreloadForSlots(s, from, n.slots.has)
		}
		return r.plan.Preload(s, from)
	})
	r.result.Preload = &RunPreload{Keys: done, From: from, TookS: time.Since(begin).Seconds()}
	if took := r.result.Preload.TookS; took > 0 {
		r.result.Preload.KeysPer = float64(done) / took
	}
	if err != nil {
		// The nodes of a cluster come forward each at its own pace.
		if sure := from + max(done-fillConns*fillDepth, 0); sure > from && o.Keep && r.nodes == nil {
			return fmt.Errorf("%w; to go on there: --preload-from %d", err, sure)
		}
		return err
	}
	return nil
}

// fill sends a finite stream with so many requests for each key, and returns how many
// keys were done. All must succeed.
func (r *runRun) fill(ctx context.Context, phase string, keys int64, perKey int, stream func(workload.Slice, *clusterNode) raw.Stream) (int64, error) {
	cfg := r.config()
	cfg.Classes = []workload.Class{{Name: phase, Write: true}}
	// One worker (on each node of a cluster): then what is done is the beginning of the key space, up to what is
	// under way, and an interrupted preload can go on.
	cfg.Workers, cfg.Conns, cfg.Depth, cfg.Sliding = 1, min(fillConns, r.options.Conns), fillDepth, true
	cfg.Requests, cfg.Duration, cfg.Warmup, cfg.Rate, cfg.Poisson, cfg.ReconnectEvery, cfg.Verify, cfg.Ready = 0, 0, 0, 0, false, 0, false, nil
	var answered int64
	begin := time.Now()
	cfg.Interval = 250 * time.Millisecond
	cfg.OnInterval = func(i *raw.Interval) {
		answered += i.OK()
		done, elapsed := answered/int64(perKey), time.Since(begin)
		r.options.Progress.Send(Event{
			Phase: phase, Elapsed: elapsed, Total: time.Duration(float64(elapsed) * float64(keys) / float64(max(done, 1))),
			Status: fmt.Sprintf("%s of %s", report.Int(done), report.Plural(keys, "key", "keys")),
		})
	}
	r.options.Progress.Send(Event{Phase: phase})
	res, err := r.send(ctx, cfg, stream)
	done := answered / int64(perKey)
	switch {
	case err != nil:
		return done, fmt.Errorf("%s, after %s: %w", phase, report.Plural(done, "key", "keys"), err)
	case res.Failed() > 0:
		return done, fmt.Errorf("%s: %s failed: %s", phase, report.Plural(res.Failed(), "request", "requests"), sayCounts(res.Errors))
	case res.Unanswered > 0:
		return done, fmt.Errorf("%s: %s had no answer", phase, report.Plural(res.Unanswered, "request", "requests"))
	}
	return done, nil
}

// clean removes the keys that the run may have written.
func (r *runRun) clean(ctx context.Context) error {
	if !r.dirty || !r.mine || r.options.Keep || r.server.target.Private() {
		return nil
	}
	// A run that was cancelled still owes it, but not for ever.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout(r.plan.Keys()))
	defer cancel()
	if keys := r.plan.LiteralKeys(); len(keys) > 0 {
		if err := r.remove(ctx, keys); err != nil {
			return err
		}
	}
	if r.plan.Keys() == 0 || r.plan.CleanupPerKey() == 0 {
		return nil
	}
	_, err := r.fill(ctx, "removing the keys", r.plan.Keys(), r.plan.CleanupPerKey(), func(s workload.Slice, n *clusterNode) raw.Stream {
		if n != nil {
			return r.plan.CleanupForSlots(s, 0, n.slots.has)
		}
		return r.plan.Cleanup(s, 0)
	})
	return err
}

// cleanTimeout bounds the removal of so many keys.
func cleanTimeout(keys int64) time.Duration {
	const rate = 20_000 // a second, on a slow server
	return 10*time.Second + time.Duration(keys/rate)*time.Second
}
