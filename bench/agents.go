package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/report"
)

const (
	// agentWait is how long a coordinator waits for its agents to come, and then for
	// their connections to be open.
	agentWait = time.Minute
	// agentLead is how long before the beginning all are told of it.
	agentLead = time.Second
	// agentGrace is how long after its time, or after they were told to end, agents may
	// still send what they have.
	agentGrace = 15 * time.Second
)

// RunAgent is what became of one agent's share.
type RunAgent struct {
	// Name is the agent's, and Environment where it ran.
	Name        string      `json:"name"`
	Environment Environment `json:"environment"`
	// ClockDoubtUs is by how much its beginning may have been off from the others'.
	ClockDoubtUs float64 `json:"clock_doubt_us"`
	// Lost is why its share is not counted; empty when it is. The figures are zero then.
	Lost string `json:"lost,omitempty"`
	// OK and Failed are its requests, and OKPerS OK over the time elapsed.
	OK     int64   `json:"ok"`
	Failed int64   `json:"failed"`
	OKPerS float64 `json:"ok_per_s"`
	// The times of its replies: the response times in open loop, the service times in
	// closed loop.
	P50Us float64 `json:"p50_us"`
	P99Us float64 `json:"p99_us"`
	MaxUs float64 `json:"max_us"`
	// GeneratorBound says that it was the limit.
	GeneratorBound bool `json:"generator_bound"`
}

// coordinator has agents make a load.
type coordinator struct {
	options RunOptions
	run     *runRun
	mail    *mailbox
	id      string
	agents  []*agentSeen
	refused []string
}

// agentSeen is an agent as its coordinator sees it.
type agentSeen struct {
	name   string
	hello  agentHello
	heard  time.Time
	status string
	ready  bool
	lost   string
	result *RunResult
}

// ended reports whether no more is to come.
func (a *agentSeen) ended() bool { return a.lost != "" || a.result != nil }

// runAgents is Run with the load made by agents.
func runAgents(ctx context.Context, o RunOptions) (*RunResult, error) {
	r, err := openRun(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &coordinator{options: o, run: r, id: strings.ToLower(rand.Text()[:10])}
	err = c.conduct(ctx)
	err = errors.Join(err, r.close(ctx))
	if !r.began {
		return nil, err
	}
	r.result.Interrupted = ctx.Err() != nil
	return r.result, err
}

func (c *coordinator) conduct(ctx context.Context) (err error) {
	o := c.options
	if err := c.run.prepare(ctx); err != nil {
		return err
	}
	if err := c.run.preload(ctx); err != nil {
		return err
	}
	via := o.Via
	if via.Private() {
		via = o.Target
	}
	if c.mail, err = openMailbox(ctx, via, time.Hour+o.Warmup+o.Duration); err != nil {
		return fmt.Errorf("the server for the messages at %s: %w", via, err)
	}
	defer func() {
		leaving, cancel := afterwards(ctx)
		defer cancel()
		if err != nil || ctx.Err() != nil {
			err = errors.Join(err, c.tell(leaving, mailStop, struct{}{}))
		}
		// The messages to the agents stay until their TTL: some may still read them.
		err = errors.Join(err, c.mail.client.Do(leaving, "DEL", up(c.id)).Err(), c.mail.close())
	}()
	if err := c.mail.follow(ctx, up(c.id), false); err != nil {
		return err
	}
	if err := c.gather(ctx); err != nil {
		return err
	}
	beating, stop := context.WithCancel(ctx)
	beats := make(chan struct{})
	go func() { defer close(beats); c.beat(beating) }()
	defer func() { stop(); <-beats }()
	// Before the agents open their connections, which count.
	before, tallyErr := c.run.tally(ctx)
	since := time.Now()
	if err := c.assign(ctx); err != nil {
		return err
	}
	if err := c.load(ctx); err != nil {
		return err
	}
	look, cancel := lastLook(ctx)
	defer cancel()
	if after, err := c.run.tally(look); err == nil && tallyErr == nil && ctx.Err() == nil {
		c.run.result.Server = after.since(before, time.Since(since))
	}
	return ctx.Err()
}

// tell sends to all agents of the run.
func (c *coordinator) tell(ctx context.Context, kind string, data any) error {
	return c.mail.send(ctx, down(c.id), mail{Kind: kind, Run: c.id}, data)
}

// beat lets the agents know that the coordinator is there.
func (c *coordinator) beat(ctx context.Context) {
	tick := time.NewTicker(agentBeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = c.tell(ctx, mailAlive, struct{}{}) // one that is late ends nothing
		case <-ctx.Done():
			return
		}
	}
}

// gather announces the run until there are agents enough.
func (c *coordinator) gather(ctx context.Context) error {
	o := c.options
	job := agentJob{
		Protocol: agentProtocol, Evenkeel: Version(), Address: o.Target.String(), Agents: o.Agents,
		Params: c.run.result.Params, Workload: o.Workload,
	}
	begin := time.Now()
	var announced time.Time
	for len(c.agents) < o.Agents {
		if time.Since(begin) > agentWait {
			text := fmt.Sprintf("%s of %s came within %v; start more with 'evenkeel bench agent --join'", report.Int(len(c.agents)), report.Plural(o.Agents, "agent", "agents"), agentWait)
			if len(c.refused) > 0 {
				text += "; refused by " + strings.Join(c.refused, ", ")
			}
			return errors.New(text)
		}
		if time.Since(announced) > agentBeat {
			if err := c.mail.send(ctx, jobs(), mail{Kind: mailJob, Run: c.id}, job); err != nil {
				return err
			}
			announced = time.Now()
		}
		o.Progress.Send(Event{
			Phase: "waiting for agents", Elapsed: time.Since(begin), Total: agentWait,
			Status: fmt.Sprintf("%s of %s", report.Int(len(c.agents)), report.Int(o.Agents)),
		})
		if err := c.hear(ctx); err != nil {
			return err
		}
	}
	return nil
}

// hear takes in what agents have sent.
func (c *coordinator) hear(ctx context.Context) error {
	messages, err := c.mail.read(ctx)
	if err != nil {
		return err
	}
	for _, msg := range messages {
		if msg.Run == c.id {
			c.take(msg)
		}
	}
	return nil
}

func (c *coordinator) take(msg mail) {
	at := slices.IndexFunc(c.agents, func(a *agentSeen) bool { return a.name == msg.From })
	if at < 0 {
		switch {
		case msg.Kind == mailRefused:
			c.refused = append(c.refused, msg.From+" ("+statusIn(msg)+")")
			c.options.Progress.Send(Event{Note: "agent " + msg.From + " refused: " + statusIn(msg)})
		case msg.Kind == mailHello && len(c.agents) < c.options.Agents:
			a := &agentSeen{name: msg.From, heard: time.Now()}
			if json.Unmarshal(msg.Data, &a.hello) == nil {
				c.agents = append(c.agents, a)
			}
		}
		return
	}
	a := c.agents[at]
	a.heard = time.Now()
	if a.ended() {
		return
	}
	switch msg.Kind {
	case mailReady:
		a.ready = true
	case mailAlive:
		a.status = statusIn(msg)
	case mailLeft:
		a.lost = statusIn(msg)
	case mailDone:
		var r RunResult
		err := json.Unmarshal(msg.Data, &r)
		if err == nil {
			err = r.check()
		}
		if err == nil && len(r.Classes) != len(c.run.plan.Classes()) {
			err = errors.New("it has other commands")
		}
		if err != nil {
			a.lost = "its result cannot be read: " + err.Error()
			return
		}
		a.result = &r
	}
}

func statusIn(msg mail) string {
	var s agentStatus
	if json.Unmarshal(msg.Data, &s) != nil || s.Status == "" {
		return "it does not say why"
	}
	return s.Status
}

// assign tells the agents their numbers, and waits until their connections are open.
func (c *coordinator) assign(ctx context.Context) error {
	names := make([]string, len(c.agents))
	for i, a := range c.agents {
		names[i] = a.name
	}
	if err := c.tell(ctx, mailPart, names); err != nil {
		return err
	}
	begin := time.Now()
	for {
		ready := 0
		for _, a := range c.agents {
			switch {
			case a.lost != "":
				return fmt.Errorf("agent %s left before the beginning: %s", a.name, a.lost)
			case a.ready:
				ready++
			case time.Since(begin) > agentWait:
				return fmt.Errorf("agent %s was not ready within %v", a.name, agentWait)
			}
		}
		if ready == len(c.agents) {
			return nil
		}
		c.options.Progress.Send(Event{
			Phase: "agents open their connections", Elapsed: time.Since(begin), Total: agentWait,
			Status: fmt.Sprintf("%s of %s are ready", report.Int(ready), report.Int(len(c.agents))),
		})
		if err := c.hear(ctx); err != nil {
			return err
		}
	}
}

// load gives the moment of the beginning, and collects what the agents measure.
func (c *coordinator) load(ctx context.Context) error {
	o := c.options
	ahead, _, err := c.mail.clock(ctx)
	if err != nil {
		return err
	}
	begin := time.Now().Add(agentLead)
	if err := c.tell(ctx, mailBegin, agentBeginning{begin.Add(ahead).UnixMicro()}); err != nil {
		return err
	}
	c.run.dirty = true
	length := o.Warmup + o.Duration
	if o.Duration == 0 {
		length = 0
	}
	listening := context.WithoutCancel(ctx) // those that are told to end still send what they have
	var hurry time.Time                     // by when they have to
	for !c.allEnded() {
		if ctx.Err() != nil && hurry.IsZero() {
			hurry = time.Now().Add(agentGrace)
			if err := c.tell(listening, mailStop, struct{}{}); err != nil {
				return err
			}
		}
		if err := c.hear(listening); err != nil {
			return err
		}
		c.miss(begin, length, hurry)
		o.Progress.Send(Event{Phase: "load", Elapsed: time.Since(begin), Total: length, Status: c.status()})
	}
	return c.join()
}

func (c *coordinator) allEnded() bool {
	return !slices.ContainsFunc(c.agents, func(a *agentSeen) bool { return !a.ended() })
}

// miss counts agents as lost that have been silent for too long, or do not come to an end.
func (c *coordinator) miss(begin time.Time, length time.Duration, hurry time.Time) {
	now := time.Now()
	for _, a := range c.agents {
		switch {
		case a.ended():
		case now.Sub(begin) > agentLost && now.Sub(a.heard) > agentLost:
			a.lost = fmt.Sprintf("nothing was heard of it for %v", agentLost)
		case length > 0 && now.Sub(begin) > length+agentGrace, !hurry.IsZero() && now.After(hurry):
			a.lost = "it did not end in time"
		}
		if a.lost != "" {
			c.options.Progress.Send(Event{Note: "agent " + a.name + " is lost: " + a.lost})
		}
	}
}

// status is how it goes with each.
func (c *coordinator) status() string {
	var parts []string
	for _, a := range c.agents {
		switch {
		case a.lost != "":
			parts = append(parts, a.name+": lost")
		case a.result != nil:
			parts = append(parts, a.name+": done")
		case a.status != "":
			rate, _, _ := strings.Cut(a.status, ",")
			parts = append(parts, a.name+": "+rate)
		}
	}
	return strings.Join(parts, "; ")
}

// join makes one result of those of the agents.
func (c *coordinator) join() error {
	to := c.run.result
	var results []*raw.Result
	var seconds [][]RunSecond
	for _, a := range c.agents {
		row := RunAgent{Name: a.name, Environment: a.hello.Environment, ClockDoubtUs: a.hello.DoubtUs, Lost: a.lost}
		if r := a.result; r != nil {
			t := r.Total.Times()
			row.OK, row.Failed, row.OKPerS, row.GeneratorBound = r.OK, r.Failed, r.OKPerS, r.Verdict.GeneratorBound
			row.P50Us, row.P99Us, row.MaxUs = t.P50Us, t.P99Us, t.MaxUs
			results, seconds = append(results, r.raw(c.run.plan.Classes())), append(seconds, r.Seconds)
		}
		to.Agents = append(to.Agents, row)
	}
	if len(results) == 0 {
		return errors.New("no agent has sent a result: " + report.List(to.LostAgents()))
	}
	c.run.began = true
	to.measured(raw.Merge(results))
	to.Seconds = joinSeconds(seconds)
	return nil
}

// LostAgents names those whose share is not counted, with the reason.
func (r *RunResult) LostAgents() []string {
	var out []string
	for _, a := range r.Agents {
		if a.Lost != "" {
			out = append(out, a.Name+": "+a.Lost)
		}
	}
	return out
}

// raw is the engine's result that r was made of, as far as it is needed to join several.
func (r *RunResult) raw(classes []workload.Class) *raw.Result {
	h := func(t *RunTimes) *hist.Histogram {
		if t == nil || t.Histogram == nil {
			return hist.New()
		}
		return t.Histogram
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	out := &raw.Result{
		Counts: raw.Counts{Errors: orEmpty(r.Errors), Failures: orEmpty(r.ConnFailures), Connect: h(r.Connect), Opened: r.Opened, Lost: r.Lost},
		Begin:  r.Begin, Elapsed: seconds(r.ElapsedS), Unanswered: r.Unanswered, OldestUnanswered: time.Duration(r.OldestUnansweredUs * float64(time.Microsecond)),
		Scheduled: r.Scheduled, Backlog: r.Backlog, Engine: r.Params.Engine, Timer: r.Params.Timer,
		GC:      raw.GC{Collections: r.Verdict.Collections, Pauses: time.Duration(r.Verdict.PauseUs * 1e3), Longest: time.Duration(r.Verdict.LongestPauseUs * 1e3)},
		Verdict: raw.Verdict{GeneratorBound: r.Verdict.GeneratorBound, Reason: r.Verdict.Reason},
	}
	if r.Loop == LoopOpen {
		out.Busy, out.Late = h(r.Busy), h(r.Late)
	}
	for i := range r.Classes {
		c := &r.Classes[i]
		part := raw.ClassResult{
			Class: classes[i], OK: c.OK, Hits: c.Hits, Misses: c.Misses, Errors: c.Failed, BytesIn: c.BytesIn, BytesOut: c.BytesOut, Service: h(c.Service),
		}
		if r.Loop == LoopOpen {
			part.Response = h(c.Response)
		}
		out.Classes = append(out.Classes, part)
	}
	for _, w := range r.Verdict.Workers {
		out.Workers = append(out.Workers, raw.WorkerResult{Requests: w.Requests, Elapsed: out.Elapsed, User: seconds(w.CPUUserS), System: seconds(w.CPUSystemS)})
	}
	return out
}

// joinSeconds adds up several time series of the same intervals, which began together.
func joinSeconds(series [][]RunSecond) []RunSecond {
	var out []RunSecond
	for _, s := range series {
		for i, p := range s {
			if i == len(out) {
				out = append(out, RunSecond{T: p.T, LengthS: p.LengthS, Histogram: hist.New()})
			}
			to := &out[i]
			to.OK += p.OK
			to.Failed += p.Failed
			to.Conns += p.Conns
			to.Backlog += p.Backlog
			to.T, to.LengthS = max(to.T, p.T), max(to.LengthS, p.LengthS)
			to.Histogram.Merge(p.Histogram)
		}
	}
	for i := range out {
		h := out[i].Histogram
		out[i].P50Us, out[i].P99Us, out[i].MaxUs = micros(h.Quantile(0.5)), micros(h.Quantile(0.99)), micros(h.Max())
	}
	return out
}

func (r *RunResult) agentsSection() report.Section {
	t := report.Table{Columns: []report.Column{
		{Name: "agent", Text: true},
		{Name: "answered", Unit: "1/s"},
		{Name: "answered"},
		{Name: "failed"},
		{Name: "p50", Unit: "µs"},
		{Name: "p99", Unit: "µs"},
		{Name: "max", Unit: "µs"},
		{Name: "clock", Unit: "± µs"},
		{Name: "note", Text: true},
	}}
	for _, a := range r.Agents {
		row := []string{a.Name, "–", "–", "–", "–", "–", "–", report.Fixed(a.ClockDoubtUs, 0), "lost, and not counted: " + a.Lost}
		if a.Lost == "" {
			note := a.Environment.CPU
			if a.GeneratorBound {
				note = GeneratorBound
			}
			row = []string{
				a.Name, report.Fixed(a.OKPerS, 0), report.Int(a.OK), report.Int(a.Failed),
				report.Fixed(a.P50Us, 1), report.Fixed(a.P99Us, 1), report.Fixed(a.MaxUs, 1), report.Fixed(a.ClockDoubtUs, 0), note,
			}
		}
		t.Rows = append(t.Rows, row)
	}
	t.Caption = "clock: by how much an agent's beginning may have been off from the others'."
	return report.Section{Heading: "Agents", Tables: []report.Table{t}}
}
