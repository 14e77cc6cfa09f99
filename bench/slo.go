package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

const (
	// sloShort is the share of the requests due that may stay unanswered: what is under way
	// when a window ends is no failure to keep up.
	sloShort = 0.01
	// sloStart is where a search for a rate begins, as a share of what a closed loop did:
	// the waiting times of a single server grow steeply from there.
	sloStart = 0.7
	// The steps upwards while all holds.
	climbRate  = 1.25
	climbConns = 2
)

// SLO searches for the most that a server does while a quantile of its times stays
// within a limit: the highest rate, or the largest number of connections. A closed loop
// says where to begin, bisection finds the place, and the answer is confirmed; between
// two windows the server has time to become idle. A window holds when the quantile is
// within the limit, at least 99 % of what was due was answered, nothing failed, and with
// a rate the generator kept to it.
//
// Cancelled, it returns what it has together with the context's error. Errors are as
// those of [Run].
func SLO(ctx context.Context, o SLOOptions) (*SLOResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	load := o.window(o.Load.Rate, o.Load.Conns)
	run, err := openRun(ctx, load)
	if err != nil {
		return nil, err
	}
	s := &sloRun{options: o, run: run, result: NewSLOResult(run.server.env, o), begin: time.Now()}
	err = s.measure(ctx)
	s.result.Interrupted = ctx.Err() != nil
	s.result.IdlePing, s.result.Preload = run.result.IdlePing, run.result.Preload
	if len(s.result.Steps) == 0 {
		return nil, errors.Join(err, run.close(ctx))
	}
	return s.result, errors.Join(err, run.close(ctx))
}

// sloRun is one search.
type sloRun struct {
	options SLOOptions
	run     *runRun
	result  *SLOResult
	begin   time.Time
	perS    float64 // replies a second to count on, for the length of a window
}

func (s *sloRun) measure(ctx context.Context) error {
	if err := s.run.prepare(ctx); err != nil {
		return err
	}
	if err := s.run.preload(ctx); err != nil {
		return err
	}
	s.begin = time.Now()
	o := s.options
	search := &sloSearch{precision: o.Precision, confirm: o.Confirm, room: s.room, try: s.try}
	switch o.Search {
	case SearchRate:
		ceiling, err := s.step(ctx, PhaseCeiling, 0, o.Load.Conns)
		if err != nil {
			return err
		}
		if ceiling.OKPerS == 0 {
			return errors.New("no request was answered without an error: " + report.List(ceiling.Why))
		}
		search.start, search.least, search.most, search.climb = sloStart*ceiling.OKPerS, min(1, ceiling.OKPerS/2), 1e9, climbRate
	case SearchConns:
		most, err := s.mostConns(ctx)
		if err != nil {
			return err
		}
		search.whole, search.least, search.most, search.climb = true, 1, most, climbConns
		search.start = min(float64(o.Load.Conns), most)
	}
	return search.run(ctx, &s.result.Answer)
}

// mostConns is the most connections that may and can be opened.
func (s *sloRun) mostConns(ctx context.Context) (float64, error) {
	n := s.options.MaxConns
	err := s.run.fits(ctx, n)
	full, ok := errors.AsType[*CapacityError](err)
	if !ok {
		return float64(n), err
	}
	n = full.Room - 1
	if !s.run.server.target.Private() && !s.options.Load.Disturb {
		n = int(roomShare * float64(full.Room)) // others need some too
	}
	if n < 1 {
		return 0, err
	}
	s.options.Load.Progress.Send(Event{Note: fmt.Sprintf("%s, so the search ends at %s", full.Why, report.Plural(n, "connection", "connections"))})
	return float64(n), nil
}

// room reports whether another window would end in time.
func (s *sloRun) room() bool {
	w := s.options.window(0, 1)
	return time.Since(s.begin)+w.Duration+w.Warmup <= s.options.MaxTime
}

// try is one window of the search.
func (s *sloRun) try(ctx context.Context, phase string, value float64) (*SLOStep, error) {
	if s.options.Search == SearchConns {
		return s.step(ctx, phase, s.options.Load.Rate, int(math.Round(value)))
	}
	s.perS = value
	return s.step(ctx, phase, value, s.options.Load.Conns)
}

// step measures one window and judges it, once the server is idle.
func (s *sloRun) step(ctx context.Context, phase string, rate float64, conns int) (*SLOStep, error) {
	if err := s.run.drain(ctx); err != nil {
		return nil, err
	}
	o := s.options.window(rate, conns)
	o.Duration = sloWindow(o.Duration, s.options.Quantile, s.perS)
	name := fmt.Sprintf("%s: %s", phase, report.Plural(conns, "connection", "connections"))
	if rate > 0 && s.options.Search == SearchRate {
		name = fmt.Sprintf("%s: %s requests a second", phase, report.Short(rate))
	}
	o.Progress = func(e Event) {
		e.Phase = name
		s.options.Load.Progress.Send(e)
	}
	r, err := s.run.again(ctx, o)
	if err != nil {
		return nil, err
	}
	step := judge(r, phase, s.options)
	s.perS = step.OKPerS
	s.result.Steps = append(s.result.Steps, *step)
	return step, nil
}

// judge says whether a window met the goal.
func judge(r *RunResult, phase string, o SLOOptions) *SLOStep {
	h := r.Total.Times().Histogram
	low, high := quantileInterval(h, o.Quantile)
	step := &SLOStep{
		Phase: phase, RatePerS: r.Params.RatePerS, Conns: r.Params.Conns, LengthS: r.ElapsedS,
		OKPerS: r.OKPerS, Failed: r.Failed, GeneratorBound: r.Verdict.GeneratorBound,
		QuantileUs: micros(h.Quantile(o.Quantile)), QuantileInterval: [2]float64{micros(low), micros(high)},
		P50Us: micros(h.Quantile(0.5)), MaxUs: micros(h.Max()), Why: []string{},
	}
	if r.Server != nil {
		step.ServerCPUShare = r.Server.CPUShare
	}
	miss := func(missed bool, format string, args ...any) {
		if missed {
			step.Why = append(step.Why, fmt.Sprintf(format, args...))
		}
	}
	miss(r.Failed > 0, "%s failed (%s)", report.Plural(r.Failed, "request", "requests"), r.Failures())
	if r.Loop == LoopOpen && r.Scheduled > 0 {
		step.Short = 1 - float64(r.OK+r.Failed)/float64(r.Scheduled)
		miss(step.Short > sloShort, "only %s of what was due answered", report.Percent(1-step.Short))
		miss(r.Verdict.GeneratorBound, "the generator was late: %s", r.Verdict.Reason)
	}
	miss(h.Count() < int64(sloTail/(1-o.Quantile)), "%s say nothing of the %s: give a longer --window",
		report.Plural(h.Count(), "reply", "replies"), quantileName(o.Quantile))
	miss(step.QuantileUs > micros(o.Limit), "%s %s", quantileName(o.Quantile), report.Micros(step.QuantileUs))
	step.Holds = len(step.Why) == 0
	return step
}
