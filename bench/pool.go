package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/internal/resp"
	"github.com/evenkeel-go/evenkeel/report"
)

// Pool measures how many connections a number of callers need: they share pools of
// different sizes, and once the shared lane, in interleaved rounds. It measures the
// client along with the server, as a program would. Cancelled, it returns what it has
// together with the context's error. Errors are an [OptionError], a [RefusedError] or
// [CapacityError], or say why the server could not be used. Calls that fail are counted
// in the result; only a turn in which all of them do is an error.
func Pool(ctx context.Context, o PoolOptions) (*PoolResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := openServer(ctx, o.Target, wants{plan: o.Plan(), disturb: o.Disturb, progress: o.Progress})
	if err != nil {
		return nil, err
	}
	r, err := poolOn(ctx, s, o)
	return r, errors.Join(err, s.close())
}

func poolOn(ctx context.Context, s *server, o PoolOptions) (*PoolResult, error) {
	if err := s.fits(ctx, o.Plan().Conns-1); err != nil {
		return nil, err
	}
	load, err := sweepLoad(s, sweepWorkload(o.Keys, o.ValueSize, o.Command), o.Seed, o.Disturb, o.Progress)
	if err != nil {
		return nil, err
	}
	load.options.Conns = o.Sizes[len(o.Sizes)-1] // no more than the plan has
	if err := load.admitKeys(ctx); err != nil {
		return nil, err
	}
	p := &poolRun{server: s, options: o}
	if p.requests, err = someRequests(load.plan, o); err != nil {
		return nil, err
	}
	for _, size := range o.Sizes {
		p.points = append(p.points, newPoolPoint(PoolPoint{Size: size}))
	}
	if !o.SkipShared {
		p.shared = newPoolPoint(PoolPoint{Size: evenkeel.DefaultSharedConns})
		p.points = append(p.points, p.shared)
	}
	r := NewPoolResult(s.env, o)
	err = load.preload(ctx)
	if err == nil {
		load.dirty = true
		err = p.rounds(ctx)
	}
	r.Interrupted = ctx.Err() != nil
	for _, at := range p.points {
		switch {
		case len(at.point.Rounds) == 0:
		case at == p.shared:
			shared := at.result()
			r.Shared = &shared
		default:
			r.Points = append(r.Points, at.result())
		}
	}
	r.FindSizes()
	return r, errors.Join(err, load.clean(ctx))
}

const (
	// poolRequests is how many requests are made beforehand; callers go through them again
	// and again.
	poolRequests = 4096
	// poolRequestBytes bounds what they may take.
	poolRequestBytes = 64 << 20
)

// someRequests makes requests of the command, as arguments for a client.
func someRequests(plan *workload.Plan, o PoolOptions) ([][]any, error) {
	stream := plan.Stream(workload.Slice{Seed: o.Seed, Index: 0, Count: 1})
	var out [][]any
	parser := resp.NewParser(resp.Limits{MaxBulk: poolRequestBytes, MaxTotal: 2 * poolRequestBytes})
	for size := 0; len(out) < poolRequests && size < poolRequestBytes; {
		encoded, _ := stream.Batch(1)
		size += len(encoded)
		for len(encoded) > 0 {
			var v resp.Value
			n, done, err := parser.Next(encoded, &v)
			if err != nil || !done || len(v.Elems) == 0 {
				return nil, &OptionError{Option: "command", Problem: fmt.Sprintf("%q is no command that a client can send", o.Command)}
			}
			encoded = encoded[n:]
			args := make([]any, len(v.Elems))
			for i := range v.Elems {
				args[i] = v.Elems[i].Str
			}
			out = append(out, args)
		}
	}
	return out, nil
}

// poolRun is one run of Pool.
type poolRun struct {
	server   *server
	options  PoolOptions
	requests [][]any
	points   []*poolPoint
	shared   *poolPoint // one of the points; nil: left out
}

// poolPoint is one size with what was measured of it.
type poolPoint struct {
	point       PoolPoint
	times       *Latency
	server, own cpuSum
	elapsed     time.Duration
	waited      time.Duration
	leases      uint64
}

func newPoolPoint(p PoolPoint) *poolPoint { return &poolPoint{point: p, times: NewLatency()} }

// rounds gives each its turns. The first round only brings all to the speed that they then
// keep.
func (p *poolRun) rounds(ctx context.Context) error {
	const phase = "sizes by turns"
	o := p.options
	total := time.Duration(o.Rounds*len(p.points)) * o.Slot
	o.Progress.Send(Event{Phase: phase, Total: total})
	order := turns(len(p.points), o.Seed)
	for n := -1; n < o.Rounds; n++ {
		round := make([]*poolTurn, len(p.points))
		for i, at := range order() {
			turn, err := p.turn(ctx, p.points[at])
			if ctx.Err() != nil {
				return errors.Join(ctx.Err(), err)
			}
			name := p.name(p.points[at])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			round[at] = turn
			if n >= 0 {
				o.Progress.Send(Event{
					Phase: phase, Elapsed: time.Duration(n*len(p.points)+i+1) * o.Slot, Total: total,
					Status: fmt.Sprintf("%s: %s/s", name, report.Short(turn.rate())),
				})
			}
		}
		if n < 0 {
			continue
		}
		// A round counts for all or for none, so that they can be compared.
		for i, turn := range round {
			p.points[i].add(turn)
		}
	}
	return nil
}

func (p *poolRun) name(at *poolPoint) string {
	if at == p.shared {
		return "the shared lane"
	}
	return "a pool of " + report.Int(at.point.Size)
}

// poolTurn is one turn of one point.
type poolTurn struct {
	calls         tally
	times         *Latency
	elapsed       time.Duration
	before, after *float64      // the server's CPU time
	own           time.Duration // this process's
	ownKnown      bool
	waited        time.Duration
	leases        uint64
}

func (t *poolTurn) rate() float64 { return float64(t.calls.count) / max(t.elapsed.Seconds(), 1e-9) }

// turn opens a client, has the callers call for a slot, and closes it.
func (p *poolRun) turn(ctx context.Context, at *poolPoint) (_ *poolTurn, err error) {
	o, shared := p.options, at == p.shared
	cfg := p.server.config(false, false)
	if shared {
		lanes(&cfg, at.point.Size, 0, 0)
	} else {
		lanes(&cfg, 1, at.point.Size, 0)
		cfg.MinIdleConns, cfg.MaxWaiters = at.point.Size, o.Callers
	}
	client, err := evenkeel.New(cfg)
	if err != nil {
		return nil, err
	}
	defer func() {
		closing, cancel := afterwards(ctx)
		defer cancel()
		err = errors.Join(err, client.Close(closing))
	}()
	do := client.Do
	if !shared {
		do = client.DoExclusive
		fill(ctx, client, at.point.Size) // before the load, which would slow it
	}
	m := newMeter(o.Callers)
	m.off.Store(true)
	next := make([]int, o.Callers) // each caller's own
	callers := musterResting(ctx, o.Callers, p.rest(), func(ctx context.Context, caller int) {
		args := p.requests[(caller*poolStride+next[caller])%len(p.requests)]
		next[caller]++
		begin := time.Now()
		err := do(ctx, args...).Err()
		if err == nil || ctx.Err() == nil {
			m.record(caller, time.Since(begin), err)
		}
	})
	pause(ctx, max(o.Think, poolSettle/6)) // until their calls have parted
	t, err := p.measure(ctx, client, m, callers)
	if err != nil {
		return nil, err
	}
	if t.calls.count == 0 && t.calls.first != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("every call failed, the first with: %w", t.calls.first)
	}
	return t, nil
}

// poolStride is how far from each other callers begin in the list of requests.
const poolStride = 61

// rest gives the callers' rests; nil for none.
func (p *poolRun) rest() func() time.Duration {
	think := p.options.Think
	if think == 0 {
		return nil
	}
	return func() time.Duration { return time.Duration(rand.ExpFloat64() * float64(think)) } //nolint:gosec // rests need not be unpredictable
}

// measure looks at what the callers do for a slot, and sends them home.
func (p *poolRun) measure(ctx context.Context, client *evenkeel.Client, m *meter, callers *crew) (*poolTurn, error) {
	home := false
	defer func() {
		if !home {
			callers.dismiss()
		}
	}()
	t := &poolTurn{}
	var err error
	if t.before, err = p.server.watch.cpu(ctx); err != nil {
		return nil, err
	}
	was := client.Stats().Exclusive
	user, system, known := processCPU()
	m.off.Store(false)
	start := time.Now()
	pause(ctx, p.options.Slot)
	m.off.Store(true)
	t.elapsed = time.Since(start)
	userNow, systemNow, _ := processCPU()
	is := client.Stats().Exclusive
	if t.after, err = p.server.watch.cpu(ctx); err != nil {
		return nil, err
	}
	callers.dismiss()
	home = true
	t.calls, t.times = m.tally(), m.times()
	t.own, t.ownKnown = userNow+systemNow-user-system, known
	t.waited, t.leases = is.WaitTime-was.WaitTime, is.Acquires-was.Acquires
	return t, nil
}

// add adds a turn that counts.
func (p *poolPoint) add(t *poolTurn) {
	at := &p.point
	at.Calls += t.calls.count
	at.Errors += t.calls.failed
	if at.Error == "" && t.calls.first != nil {
		at.Error = t.calls.first.Error()
	}
	at.Rounds = append(at.Rounds, PoolRound{OpsPerS: t.rate(), P99Us: t.times.QuantileUs(0.99)})
	p.times.Merge(t.times)
	p.server.add(t.before, t.after)
	if own := t.own.Seconds(); t.ownKnown {
		p.own.add(new(float64), &own)
	} else {
		p.own.unknown = true
	}
	p.elapsed += t.elapsed
	p.waited += t.waited
	p.leases += t.leases
}

func (p *poolPoint) result() PoolPoint {
	out := p.point
	out.MeanUs, out.P50Us, out.P99Us, out.MaxUs = p.times.MeanUs(), p.times.QuantileUs(0.5), p.times.QuantileUs(0.99), p.times.MaxUs()
	out.ServerPerOpUs, out.ServerCPUShare = p.server.per(out.Calls), p.server.share(p.elapsed)
	out.OwnPerOpUs, out.OwnCPUShare = p.own.per(out.Calls), p.own.share(p.elapsed)
	if p.leases > 0 {
		wait := micros(p.waited) / float64(p.leases)
		out.WaitUs = &wait
	}
	return out
}
