package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/report"
)

// Pipeline measures how the depth of a pipeline changes what the server does: with an
// engine that spends little on itself, so that it measures the server and not a client,
// in interleaved rounds. Cancelled, it returns what it has together with the context's
// error. Errors are an [OptionError], a [RefusedError] or [CapacityError], or say why the
// server could not be used. Error replies are no error of Pipeline: they are counted in
// the result.
func Pipeline(ctx context.Context, o PipelineOptions) (*PipelineResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := openServer(ctx, o.Target, wants{plan: o.Plan(), disturb: o.Disturb, progress: o.Progress})
	if err != nil {
		return nil, err
	}
	r, err := pipelineOn(ctx, s, o)
	return r, errors.Join(err, s.close())
}

func pipelineOn(ctx context.Context, s *server, o PipelineOptions) (*PipelineResult, error) {
	p, err := newPipelineRun(s, o)
	if err != nil {
		return nil, err
	}
	r := NewPipelineResult(s.env, o)
	if err := s.fits(ctx, o.Conns+1); err != nil {
		return nil, err
	}
	if err := p.load.admitKeys(ctx); err != nil {
		return nil, err
	}
	err = p.load.preload(ctx)
	if err == nil {
		p.load.dirty = true
		err = p.rounds(ctx)
	}
	r.Interrupted, r.Params.Engine = ctx.Err() != nil, p.engine
	for _, c := range p.commands {
		r.Commands = append(r.Commands, c.result())
	}
	r.FindKnees()
	for i := range r.Commands {
		c := &r.Commands[i]
		for n := range c.Points {
			if c.Points[n].Short {
				o.Progress.Send(Event{Note: fmt.Sprintf("%s at depth %s: only %s, fewer than %d for each request in flight: too short to count, give a longer --slot",
					c.Name, report.Int(c.Points[n].Depth), report.Plural(c.Points[n].OK, "reply", "replies"), depthFull)})
			}
		}
	}
	return r, errors.Join(err, p.load.clean(ctx))
}

// pipelineRun is one run of Pipeline.
type pipelineRun struct {
	options  PipelineOptions
	load     *runRun // of all commands together: it knows the keys
	commands []*pipelineCommand
	engine   string
}

type pipelineCommand struct {
	text   string
	name   string
	plan   *workload.Plan
	points []*pipelinePoint
}

// pipelinePoint is one command at one depth, with what was measured of it.
type pipelinePoint struct {
	command *pipelineCommand
	point   PipelinePoint
	times   *hist.Histogram
	cpu     cpuSum
	elapsed time.Duration // of the turns that count
	worker  time.Duration // CPU time of the busiest thread in them
	wall    time.Duration // that it is a part of
}

// sweepLoad is a run of such a workload for an experiment that measures by itself: it
// knows the keys, writes them beforehand and removes them in the end.
func sweepLoad(s *server, w workload.Workload, seed uint64, disturb bool, progress Progress) (*runRun, error) {
	o := DefaultRunOptions()
	o.Target, o.Workload, o.Seed, o.Disturb, o.Progress = s.target, w, seed, disturb, progress
	o.Depth, o.Warmup = 1, 0
	plan, err := o.Workload.Compile()
	if err != nil {
		return nil, err
	}
	return &runRun{server: s, options: o, plan: plan, result: &RunResult{}}, nil
}

func newPipelineRun(s *server, o PipelineOptions) (*pipelineRun, error) {
	load, err := sweepLoad(s, sweepWorkload(o.Keys, o.ValueSize, o.Commands...), o.Seed, o.Disturb, o.Progress)
	if err != nil {
		return nil, err
	}
	l := &load.options
	l.Conns, l.Workers, l.Sliding, l.Duration, l.Portable = o.Conns, o.Workers, o.Sliding, o.Slot, o.Portable
	p := &pipelineRun{options: o, load: load}
	names := map[string]bool{}
	for _, text := range o.Commands {
		w := sweepWorkload(o.Keys, o.ValueSize, text)
		c := &pipelineCommand{text: text}
		if c.plan, err = w.Compile(); err != nil {
			return nil, err
		}
		if c.name = c.plan.Classes()[0].Name; names[c.name] || len(c.plan.Classes()) > 1 {
			c.name = text
		}
		names[c.name] = true
		for _, depth := range o.Depths {
			c.points = append(c.points, &pipelinePoint{command: c, point: PipelinePoint{Depth: depth, Errors: map[string]int64{}}, times: hist.New()})
		}
		p.commands = append(p.commands, c)
	}
	return p, nil
}

// rounds gives each command at each depth its turns. The first round only brings all to
// the speed that they then keep.
func (p *pipelineRun) rounds(ctx context.Context) error {
	const phase = "depths by turns"
	o := p.options
	var points []*pipelinePoint
	for _, c := range p.commands {
		points = append(points, c.points...)
	}
	total := time.Duration(o.Rounds*len(points)) * o.Slot
	o.Progress.Send(Event{Phase: phase, Total: total})
	order := turns(len(points), o.Seed)
	for n := -1; n < o.Rounds; n++ {
		round := make([]*pipelineTurn, len(points))
		for i, at := range order() {
			turn, err := p.turn(ctx, points[at])
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("%s at depth %d: %w", points[at].command.name, points[at].point.Depth, err)
			}
			round[at] = turn
			if n >= 0 {
				o.Progress.Send(Event{
					Phase: phase, Elapsed: time.Duration(n*len(points)+i+1) * o.Slot, Total: total,
					Status: fmt.Sprintf("%s at depth %s: %s/s", points[at].command.name, report.Int(points[at].point.Depth), report.Short(turn.round.OpsPerS)),
				})
			}
		}
		if n < 0 {
			continue
		}
		// A round counts for all or for none, so that they can be compared.
		for i, turn := range round {
			points[i].add(turn)
		}
	}
	return nil
}

// pipelineTurn is one turn of one point.
type pipelineTurn struct {
	round         PipelineRound
	result        *raw.Result
	times         *hist.Histogram
	before, after *float64 // the server's CPU time
}

func (p *pipelineRun) turn(ctx context.Context, point *pipelinePoint) (*pipelineTurn, error) {
	w := p.load.server.watch
	t := &pipelineTurn{times: hist.New()}
	var err error
	if t.before, err = w.cpu(ctx); err != nil {
		return nil, err
	}
	cfg := p.load.config()
	// Without a warm-up: all that the server did in a turn is then in its count, to the
	// last reply, also where a batch takes as long as a turn.
	cfg.Depth, cfg.Classes = point.point.Depth, point.command.plan.Classes()
	cfg.Streams = func(worker, workers int) raw.Stream {
		return point.command.plan.Stream(workload.Slice{Seed: p.options.Seed, Index: worker, Count: workers})
	}
	if t.result, err = raw.Run(ctx, cfg); err != nil {
		return nil, err
	}
	if t.after, err = w.cpu(ctx); err != nil {
		return nil, err
	}
	if t.result.OK() == 0 {
		if t.result.Failed() > 0 {
			return nil, fmt.Errorf("every request failed: %s", sayCounts(t.result.Errors))
		}
		return nil, errors.New("no request was answered")
	}
	for i := range t.result.Classes {
		t.times.Merge(t.result.Classes[i].Service)
	}
	t.round = PipelineRound{
		OpsPerS: float64(t.result.OK()) / max(t.result.Elapsed.Seconds(), 1e-9),
		P50Us:   micros(t.times.Quantile(0.5)), P99Us: micros(t.times.Quantile(0.99)),
		GeneratorBound: t.result.Verdict.GeneratorBound,
	}
	p.engine = t.result.Engine
	return t, nil
}

// add adds a turn that counts.
func (p *pipelinePoint) add(t *pipelineTurn) {
	at := &p.point
	at.OK += t.result.OK()
	at.Failed += t.result.Failed()
	at.Unanswered += t.result.Unanswered
	for code, n := range t.result.Errors {
		at.Errors[code] += n
	}
	at.Rounds = append(at.Rounds, t.round)
	p.times.Merge(t.times)
	p.cpu.add(t.before, t.after)
	p.elapsed += t.result.Elapsed
	var used, wall time.Duration
	for i := range t.result.Workers {
		if w := &t.result.Workers[i]; w.User+w.System > used {
			used, wall = w.User+w.System, w.Elapsed
		}
	}
	p.worker += used
	p.wall += wall
}

// result is the command with the points that have a whole round.
func (c *pipelineCommand) result() PipelineCommand {
	r := PipelineCommand{Name: c.name, Command: c.text, Points: []PipelinePoint{}}
	for _, p := range c.points {
		if len(p.point.Rounds) == 0 {
			continue
		}
		out := p.point
		out.MeanUs, out.P50Us, out.P99Us, out.MaxUs = micros(p.times.Mean()), micros(p.times.Quantile(0.5)), micros(p.times.Quantile(0.99)), micros(p.times.Max())
		out.ServerPerOpUs, out.ServerCPUShare = p.cpu.per(out.OK), p.cpu.share(p.elapsed)
		if p.wall > 0 && p.worker > 0 {
			share := float64(p.worker) / float64(p.wall)
			out.WorkerCPUShare = &share
		}
		r.Points = append(r.Points, out)
	}
	return r
}
