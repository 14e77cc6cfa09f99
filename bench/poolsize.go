package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/report"
)

// fillTimeout bounds the wait for a pool to be full before it is measured.
const fillTimeout = 2 * time.Second

// PoolSize has many callers share pools of more and more conns, and finds where
// more stop to pay. Cancelled, it returns what it has together with the context's
// error. Errors are an [OptionError], a [RefusedError], or say why the server could
// not be used.
func PoolSize(ctx context.Context, o PoolSizeOptions) (*PoolSizeResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := openServer(ctx, o.Target, wants{plan: o.Plan(), disturb: o.Disturb, progress: o.Progress})
	if err != nil {
		return nil, err
	}
	r, err := poolSizeOn(ctx, s, o)
	return r, errors.Join(err, s.close())
}

func poolSizeOn(ctx context.Context, s *server, o PoolSizeOptions) (r *PoolSizeResult, err error) {
	r = NewPoolSizeResult(s.env, o)
	key := KeyPrefix + "poolsize:" + rand.Text()
	if _, err := s.watch.do(ctx, "SET", key, bytes.Repeat([]byte("x"), 100), "PX", (o.Plan().Length + keyTTL*time.Second).Milliseconds()); err != nil {
		return r, err
	}
	defer func() {
		closing, cancel := afterwards(ctx)
		defer cancel()
		err = errors.Join(err, s.watch.remove(closing, []string{key}))
	}()
	for _, size := range o.Sizes {
		s.watch.settle(ctx)
		point, err := poolSizePoint(ctx, s, o, size, key)
		if point != nil {
			r.Points = append(r.Points, *point)
			r.FindKnee()
		}
		if ctx.Err() != nil {
			r.Interrupted = true
			return r, ctx.Err()
		}
		if err != nil {
			return r, fmt.Errorf("size %d: %w", size, err)
		}
	}
	return r, nil
}

func poolSizePoint(ctx context.Context, s *server, o PoolSizeOptions, size int, key string) (_ *PoolSizePoint, err error) {
	cfg := s.config(false, false)
	lanes(&cfg, 1, size, 0)
	cfg.MinIdleConns, cfg.MaxWaiters = size, o.Callers
	client, err := evenkeel.New(cfg)
	if err != nil {
		return nil, err
	}
	defer func() {
		closing, cancel := afterwards(ctx)
		defer cancel()
		err = errors.Join(err, client.Close(closing))
	}()
	m := newMeter(o.Callers)
	m.off.Store(true)
	callers := muster(ctx, o.Callers, 0, func(ctx context.Context, caller int) {
		begin := time.Now()
		err := client.DoExclusive(ctx, "GET", key).Err()
		if err == nil || ctx.Err() == nil {
			m.record(caller, time.Since(begin), err)
		}
	})
	fill(ctx, client, size)
	m.off.Store(false)
	start := time.Now()
	wait(ctx, o.Progress, report.Plural(size, "connection", "connections"), o.Duration)
	callers.dismiss()
	elapsed := time.Since(start)

	calls, times := m.tally(), m.times()
	if calls.count == 0 {
		return nil, errors.Join(ctx.Err(), calls.first)
	}
	return &PoolSizePoint{
		Size: size, OpsPerS: float64(calls.count) / elapsed.Seconds(),
		P50Us: times.QuantileUs(0.5), P99Us: times.QuantileUs(0.99), Errors: calls.failed,
	}, nil
}

// fill waits until the pool has all its conns, so that what it costs to open them is
// not in the rate. A server that is slow to accept them is measured all the same.
func fill(ctx context.Context, client *evenkeel.Client, size int) {
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	for client.Stats().Exclusive.Open < size && pause(ctx, time.Millisecond) {
		continue
	}
}
