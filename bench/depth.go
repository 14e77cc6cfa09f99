package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/report"
)

// Depth sends batches of GET and SET, deeper and deeper, and finds where a deeper
// one stops to pay. Cancelled, it returns what it has together with the context's
// error. Errors are an [OptionError], a [RefusedError], or say why the server could
// not be used.
func Depth(ctx context.Context, o DepthOptions) (*DepthResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := openServer(ctx, o.Target, wants{plan: o.Plan(), disturb: o.Disturb, progress: o.Progress})
	if err != nil {
		return nil, err
	}
	r, err := depthOn(ctx, s, o)
	return r, errors.Join(err, s.close())
}

func depthOn(ctx context.Context, s *server, o DepthOptions) (r *DepthResult, err error) {
	r = NewDepthResult(s.env, o)
	run := depthRun{options: o, value: bytes.Repeat([]byte("x"), o.ValueSize)}
	for caller := range o.Conns {
		run.keys = append(run.keys, KeyPrefix+"depth:"+rand.Text()+":"+strconv.Itoa(caller))
	}
	defer func() {
		closing, cancel := afterwards(ctx)
		defer cancel()
		err = errors.Join(err, run.close(), s.watch.remove(closing, run.keys))
	}()
	cfg := s.config(false, false)
	lanes(&cfg, 1, 0, 0)
	for range o.Conns {
		conn, err := evenkeel.Dial(ctx, cfg)
		if err != nil {
			return r, err
		}
		run.conns = append(run.conns, conn)
	}
	for _, depth := range o.Depths {
		point, err := run.point(ctx, depth)
		if point != nil {
			r.Points = append(r.Points, *point)
			r.FindKnee()
		}
		if ctx.Err() != nil {
			r.Interrupted = true
			return r, ctx.Err()
		}
		if err != nil {
			return r, fmt.Errorf("depth %d: %w", depth, err)
		}
		if last := r.Points[len(r.Points)-1]; last.Short {
			o.Progress.Send(Event{Note: fmt.Sprintf("depth %s: only %s, fewer than %d full batches for each connection: too short to count",
				report.Int(depth), report.Plural(last.Commands, "command", "commands"), depthFull)})
		}
	}
	return r, nil
}

// depthRun is one run of Depth: each caller has a conn of its own.
type depthRun struct {
	options DepthOptions
	keys    []string
	value   []byte
	conns   []*evenkeel.Conn
}

func (d *depthRun) close() error {
	var errs []error
	for _, conn := range d.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

func (d *depthRun) point(ctx context.Context, depth int) (*DepthPoint, error) {
	o := d.options
	m := newMeter(o.Conns)
	batches := make([]*evenkeel.Pipeline, o.Conns)
	for caller, conn := range d.conns {
		batches[caller] = conn.Pipeline()
	}
	start := time.Now()
	callers := muster(ctx, o.Conns, 0, func(ctx context.Context, caller int) {
		begin := time.Now()
		err := d.batch(ctx, batches[caller], caller, depth)
		if err == nil || ctx.Err() == nil {
			m.record(caller, time.Since(begin), err)
		}
	})
	wait(ctx, o.Progress, "depth "+report.Int(depth), o.Duration)
	callers.dismiss()
	elapsed := time.Since(start)

	calls, times := m.tally(), m.times()
	if calls.count == 0 {
		return nil, errors.Join(ctx.Err(), calls.first)
	}
	p := &DepthPoint{
		Depth: depth, Commands: calls.count * int64(depth), Errors: calls.failed * int64(depth),
		AvgUs: times.MeanUs(), P50Us: times.QuantileUs(0.5), P99Us: times.QuantileUs(0.99),
	}
	p.OpsPerS = float64(p.Commands) / elapsed.Seconds()
	return p, nil
}

// batch sends one batch, made anew as a program would. One failed command fails it
// whole: its time would mislead.
func (d *depthRun) batch(ctx context.Context, p *evenkeel.Pipeline, caller, depth int) error {
	p.Reset()
	for n := range depth {
		if n%2 == 0 {
			p.Do("SET", d.keys[caller], d.value, "EX", keyTTL)
		} else {
			p.Do("GET", d.keys[caller])
		}
	}
	_, err := p.Exec(ctx)
	return err
}
