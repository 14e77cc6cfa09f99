package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/report"
)

// AgentOptions say what Agent does: it waits for runs that a coordinator announces, and
// takes a share of each.
type AgentOptions struct {
	// Join is the server that messages go through.
	Join Target
	// Target is the server that this agent loads, and no other, whatever a coordinator asks
	// for. Its credentials are this agent's own: none come in messages.
	Target Target
	// Name tells this agent from others, with some letters of its own behind it; 1 to 64 bytes.
	Name string
	// Once ends the agent after one run. Default false: it waits for the next one.
	Once bool
	// Disturb is as in [RunOptions].
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

// Validate reports the first option that is out of bounds as an [OptionError].
func (o AgentOptions) Validate() error {
	var c check
	c.that(!o.Join.Private(), "join", "it is missing; give the URL of a server that the coordinator reaches too")
	if c.err == nil {
		c.target(o.Join)
	}
	c.that(!o.Target.Private(), "url", "it is missing; give the server to load")
	if c.err == nil {
		c.target(o.Target)
	}
	c.that(o.Name != "" && len(o.Name) <= 64, "name", "%q is no name; give one of 1 to 64 bytes", o.Name)
	return c.err
}

// agentJob is what a coordinator announces.
type agentJob struct {
	Protocol int               `json:"protocol"`
	Evenkeel string            `json:"evenkeel"`
	Address  string            `json:"address"` // what is loaded, without credentials
	Agents   int               `json:"agents"`
	Params   RunParams         `json:"params"`
	Workload workload.Workload `json:"workload"`
}

// agentHello is an agent's answer.
type agentHello struct {
	Environment Environment `json:"environment"`
	AheadUs     float64     `json:"clock_ahead_us"`
	DoubtUs     float64     `json:"clock_doubt_us"`
}

// agentBeginning is when all begin, by the clock of the server that messages go through.
type agentBeginning struct {
	AtUs int64 `json:"at_us"`
}

// agentStatus is how it goes.
type agentStatus struct {
	Status string `json:"status"`
}

// Agent takes part in runs until its context ends; with Once in one. It reports each
// run's end as an event, and returns an error when the server that messages go through
// cannot be used, or when Once is set and the run failed.
func Agent(ctx context.Context, o AgentOptions) error {
	if err := o.Validate(); err != nil {
		return err
	}
	m, err := openMailbox(ctx, o.Join, time.Hour)
	if err != nil {
		return fmt.Errorf("the server to join at %s: %w", o.Join, err)
	}
	o.Name += "-" + strings.ToLower(rand.Text()[:4])
	a := &agent{options: o, mail: m}
	return errors.Join(a.serve(ctx), m.close())
}

type agent struct {
	options AgentOptions
	mail    *mailbox
}

// serve waits for announcements.
func (a *agent) serve(ctx context.Context) error {
	seen := map[string]bool{} // runs that were answered
	for {
		if err := a.mail.follow(ctx, jobs(), true); err != nil {
			return err
		}
		a.options.Progress.Send(Event{Note: fmt.Sprintf("%s waits for a run at %s, to load %s", a.options.Name, a.options.Join, a.options.Target)})
		run, job, err := a.next(ctx, seen)
		if err != nil {
			return err
		}
		err = a.take(ctx, run, job)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case a.options.Once && !errors.Is(err, errNotChosen):
			return err
		case err != nil:
			a.options.Progress.Send(Event{Note: "run " + run + ": " + err.Error()})
		}
		clear(seen) // what was announced before is not read again
		seen[run] = true
	}
}

// next is the next run that this agent can take part in.
func (a *agent) next(ctx context.Context, seen map[string]bool) (run string, job *agentJob, err error) {
	for {
		messages, err := a.mail.read(ctx)
		if err != nil {
			return "", nil, err
		}
		for _, msg := range messages {
			if msg.Kind != mailJob || seen[msg.Run] {
				continue
			}
			seen[msg.Run] = true
			job := &agentJob{}
			if why := a.fits(msg, job); why != nil {
				a.options.Progress.Send(Event{Note: "run " + msg.Run + " was refused: " + why.Error()})
				if err := a.send(ctx, msg.Run, mailRefused, agentStatus{why.Error()}); err != nil {
					return "", nil, err
				}
				continue
			}
			return msg.Run, job, nil
		}
	}
}

// fits reads an announcement, and says why this agent cannot take part.
func (a *agent) fits(msg mail, job *agentJob) error {
	if err := json.Unmarshal(msg.Data, job); err != nil {
		return fmt.Errorf("its announcement cannot be read: %w", err)
	}
	switch {
	case job.Protocol != agentProtocol:
		return fmt.Errorf("the coordinator is Evenkeel %s and this agent %s, which do not understand each other; use the same", job.Evenkeel, Version())
	case job.Address != a.options.Target.String():
		return fmt.Errorf("it loads %s, and this agent only %s", job.Address, a.options.Target)
	}
	o, err := job.options(a.options, 0)
	if err == nil {
		err = o.Validate()
	}
	return err
}

// options are those of the share of the agent with that number.
func (j *agentJob) options(a AgentOptions, number int) (RunOptions, error) {
	p := j.Params
	o := DefaultRunOptions()
	o.Target, o.Workload, o.Progress = a.Target, j.Workload, nil
	scale, err := ParseSchedule(p.ScaleAt, time.Duration(p.ScaleEveryS*float64(time.Second)))
	if err != nil {
		return o, err
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	part := func(total int64) int64 {
		n, k := int64(max(j.Agents, 1)), int64(number)
		return total*(k+1)/n - total*k/n
	}
	o.Conns, o.Callers = int(part(int64(p.Conns))), int(part(int64(p.Callers)))
	if p.Callers > 0 {
		o.Conns = p.Conns // each application has a client of its own
		o.Lane, o.Timeout = p.Lane, seconds(p.TimeoutS)
	}
	o.Workers, o.Depth, o.Sliding = max(min(p.Workers, o.Conns), 1), p.Depth, p.Sliding && p.RatePerS == 0
	o.Requests, o.Duration, o.Warmup, o.Interval = part(p.Requests), seconds(p.DurationS), seconds(p.WarmupS), seconds(p.IntervalS)
	o.Rate, o.Poisson, o.Scale = p.RatePerS/float64(max(j.Agents, 1)), p.Poisson, scale
	o.Seed, o.ReconnectEvery, o.RESP3, o.Cluster = p.Seed, p.ReconnectEvery, p.RESP3, p.Cluster
	o.SkipPreload, o.Keep, o.Disturb = true, true, true // the coordinator has asked, writes the keys and removes them
	return o, nil
}

func (a *agent) send(ctx context.Context, run, kind string, data any) error {
	return a.mail.send(ctx, up(run), mail{Kind: kind, Run: run, From: a.options.Name}, data)
}

// errNotChosen: the run has enough agents without this one.
var errNotChosen = errors.New("it has enough agents without this one")

// errCoordinatorGone: nothing was heard for too long.
var errCoordinatorGone = fmt.Errorf("nothing was heard of the coordinator for %v, so the load was ended", agentLost)

// take takes part in a run.
func (a *agent) take(ctx context.Context, run string, job *agentJob) error {
	ahead, doubt, err := a.mail.clock(ctx)
	if err != nil {
		return err
	}
	if err := a.mail.follow(ctx, down(run), false); err != nil {
		return err
	}
	hello := agentHello{Environment: NewEnvironment(time.Now()), AheadUs: micros(ahead), DoubtUs: micros(doubt)}
	if err := a.send(ctx, run, mailHello, hello); err != nil {
		return err
	}
	t := &agentTurn{agent: a, run: run, job: job, ahead: ahead, heard: time.Now()}
	err = t.measure(ctx)
	if err != nil && !errors.Is(err, errNotChosen) {
		leaving, cancel := afterwards(ctx)
		defer cancel()
		err = errors.Join(err, a.send(leaving, run, mailLeft, agentStatus{err.Error()}))
	}
	return err
}

// agentTurn is an agent's part in one run.
type agentTurn struct {
	agent *agent
	run   string
	job   *agentJob
	ahead time.Duration // of the server's clock
	heard time.Time     // the last word of the coordinator
}

// await reads until a message of that kind, and gives its data.
func (t *agentTurn) await(ctx context.Context, kind string, data any) error {
	for {
		messages, err := t.agent.mail.read(ctx)
		if err != nil {
			return err
		}
		for i, msg := range messages {
			t.heard = time.Now()
			switch msg.Kind {
			case kind:
				if slices.ContainsFunc(messages[i+1:], func(m mail) bool { return m.Kind == mailStop }) {
					return errStopped
				}
				return json.Unmarshal(msg.Data, data)
			case mailStop:
				return errStopped
			}
		}
		if time.Since(t.heard) > agentLost {
			return errCoordinatorGone
		}
	}
}

var errStopped = errors.New("the coordinator has ended the run")

func (t *agentTurn) measure(ctx context.Context) error {
	a := t.agent
	var names []string
	if err := t.await(ctx, mailPart, &names); err != nil {
		return err
	}
	number := slices.Index(names, a.options.Name)
	if number < 0 {
		return errNotChosen
	}
	o, err := t.job.options(a.options, number)
	if err != nil {
		return err
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	status := make(chan string, 1)
	o.Progress = func(e Event) {
		e.Phase = "run " + t.run
		a.options.Progress.Send(e)
		select { // the newest
		case <-status:
		default:
		}
		status <- e.Status
	}
	r, err := openRun(running, o)
	if err != nil {
		return err
	}
	r.part, r.parts = number, len(names)
	begun := make(chan struct{})
	r.ready = func(ctx context.Context) error {
		if err := a.send(ctx, t.run, mailReady, agentStatus{}); err != nil {
			return err
		}
		var at agentBeginning
		if err := t.await(ctx, mailBegin, &at); err != nil {
			return err
		}
		close(begun)
		return sleepUntil(ctx, time.UnixMicro(at.AtUs).Add(-t.ahead))
	}
	ended := make(chan error, 1)
	go func() { ended <- t.watch(running, begun, status, cancel) }()
	runErr := r.run(running)
	cancel(nil)
	watchErr := <-ended
	leaving, done := afterwards(ctx)
	defer done()
	closeErr := r.close(leaving)
	if !r.began {
		if cause := context.Cause(running); cause != nil && !errors.Is(cause, context.Canceled) {
			runErr = cause
		}
		return errors.Join(runErr, closeErr)
	}
	if ctx.Err() != nil { // half a share is none
		return errors.Join(ctx.Err(), closeErr)
	}
	r.result.Interrupted = runErr != nil || watchErr != nil
	if err := a.send(leaving, t.run, mailDone, r.result); err != nil {
		return err
	}
	a.options.Progress.Send(Event{Note: fmt.Sprintf("run %s has ended: %s requests per second", t.run, report.Short(r.result.OKPerS))})
	return errors.Join(watchErr, closeErr)
}

// watch says how it goes and listens for the end, once the load has begun: until then the
// turn itself reads the messages.
func (t *agentTurn) watch(ctx context.Context, begun <-chan struct{}, status <-chan string, end context.CancelCauseFunc) error {
	select {
	case <-begun:
	case <-ctx.Done():
		return nil
	}
	tick := time.NewTicker(agentBeat)
	defer tick.Stop()
	listening := make(chan error, 1)
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		var nothing json.RawMessage
		listening <- t.await(ctx, "", &nothing)
	})
	text := ""
	for {
		select {
		case err := <-listening:
			if ctx.Err() != nil {
				return nil
			}
			end(err)
			return err
		case text = <-status:
		case <-tick.C:
			// A message that is late is no reason to end a load.
			_ = t.agent.send(ctx, t.run, mailAlive, agentStatus{text})
		case <-ctx.Done():
			return nil
		}
	}
}

func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
