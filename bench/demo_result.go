package bench

import (
	"fmt"
	"io"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/report"
)

// DemoSchema names the JSON form of a [DemoResult].
const DemoSchema = "evenkeel.demo/v1"

// DemoOptions say what the demo runs: each experiment with options of its own,
// on one private or embedded server that they share. The Targets and Progress
// functions within are not used. Make it with [DefaultDemoOptions].
type DemoOptions struct {
	// Connect, Churn, Depth and PoolSize are the experiments' options.
	Connect  ConnectOptions
	Churn    ChurnOptions
	Depth    DepthOptions
	PoolSize PoolSizeOptions
	// Embedded uses the embedded server even where a real one is installed.
	// Default false.
	Embedded bool
	// StartEmbedded starts the embedded server, which is also used where no real
	// one is installed. Nil: there is none, and then a real one is needed.
	StartEmbedded func() (EmbeddedServer, error)
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultDemoOptions returns options that take about half a minute in all.
func DefaultDemoOptions() DemoOptions {
	o := DemoOptions{
		Connect:  DefaultConnectOptions(),
		Churn:    DefaultChurnOptions(),
		Depth:    DefaultDepthOptions(),
		PoolSize: DefaultPoolSizeOptions(),
	}
	o.Connect.Requests = 20_000
	o.Connect.MaxRowTime = time.Second
	o.Connect.TLS = false
	o.Churn.Duration = 4 * time.Second
	o.Depth.Duration = 500 * time.Millisecond
	o.PoolSize.Duration = 400 * time.Millisecond
	return o
}

// Validate reports the first option that is out of bounds as an [OptionError].
func (o DemoOptions) Validate() error {
	for _, part := range []interface{ Validate() error }{o.Connect, o.Churn, o.Depth, o.PoolSize} {
		if err := part.Validate(); err != nil {
			return err
		}
	}
	var c check
	c.that(!o.Embedded || o.StartEmbedded != nil, "embedded", "this program has no embedded server; leave it out")
	return c.err
}

// Plan says what the demo will do.
func (o DemoOptions) Plan() Plan {
	parts := []Plan{o.Connect.Plan(), o.Churn.Plan(), o.Depth.Plan(), o.PoolSize.Plan()}
	if o.Embedded {
		o.forEmbedded()
		parts = []Plan{o.Connect.Plan(), o.Churn.Plan()} // the others measure times alone
	}
	var all Plan
	for _, part := range parts {
		all.Steps = append(all.Steps, part.Steps...)
		all.Length += part.Length
		all.Conns = max(all.Conns, part.Conns)
		all.Memory = max(all.Memory, part.Memory)
	}
	return all
}

// forEmbedded leaves out what the embedded server cannot do, and has each row run
// all its commands, since only counts are shown.
func (o *DemoOptions) forEmbedded() {
	o.Connect.Auth, o.Connect.TLS = false, false
	o.Connect.Requests = min(o.Connect.Requests, embeddedRequests)
	o.Connect.MaxRowTime = max(o.Connect.MaxRowTime, 3*time.Second)
}

const embeddedRequests = 3_000

// DemoResult is everything that the demo found. Each experiment's part is the
// document that its own command prints; null if the demo did not get there.
type DemoResult struct {
	// Schema is [DemoSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// The experiments, in the order in which they ran.
	Connect  *ConnectResult  `json:"connect"`
	Churn    *ChurnResult    `json:"churn"`
	Depth    *DepthResult    `json:"depth"`
	PoolSize *PoolSizeResult `json:"poolsize"`
	// Suggestions are settings that the numbers speak for; see Suggest.
	Suggestions []Suggestion `json:"suggestions"`
}

// Suggestion is a setting that the numbers speak for.
type Suggestion struct {
	// Setting is the name of a field of the client's Config, or of a habit.
	Setting string `json:"setting"`
	// Value is what to set it to.
	Value string `json:"value"`
	// Why gives the numbers behind it.
	Why string `json:"why"`
}

// NewDemoResult returns an empty result.
func NewDemoResult(env Environment) *DemoResult {
	return &DemoResult{Schema: DemoSchema, Environment: env, Suggestions: []Suggestion{}}
}

// Suggest fills in the suggestions from the experiments that were run. On an
// embedded server only counts speak: no suggestion rests on a time.
func (r *DemoResult) Suggest() {
	r.Suggestions = []Suggestion{}
	add := func(setting, value, why string) {
		r.Suggestions = append(r.Suggestions, Suggestion{Setting: setting, Value: value, Why: why})
	}
	timed := r.timed()
	if c := r.Connect; c != nil && timed {
		if ratio := c.Ratios.ReconnectSlowdown; ratio != nil && *ratio > 1 {
			add("Client", "one for the whole program", fmt.Sprintf("a new connection for each command was %s slower than reuse", report.Times(*ratio)))
		}
	}
	size := 0
	if p := r.PoolSize; p != nil && timed && p.RecommendedSize > 0 {
		size = p.RecommendedSize
		add("Size", report.Int(size), "the smallest pool with 95 % of the best rate for "+report.Plural(p.Params.Callers, "caller", "callers"))
	}
	if c := r.Churn; c != nil {
		r.suggestFromChurn(c, size, add)
	}
	if d := r.Depth; d != nil && timed && d.KneeDepth > 1 {
		add("commands per Pipeline", report.Int(d.KneeDepth), "the smallest batch with 90 % of the best rate")
	}
}

func (r *DemoResult) suggestFromChurn(c *ChurnResult, size int, add func(setting, value, why string)) {
	before, over, shared := c.mode(ChurnCloseSurplus), c.mode(ChurnOverflow), c.mode(ChurnShared)
	if shared != nil && shared.Summary.OpenMaxServer > 0 {
		add("Do, on the shared lane", "for most commands",
			fmt.Sprintf("all but transactions and blocking commands; %s were served by %s", report.Plural(c.Params.Parallel, "caller", "callers"), report.Plural(shared.Summary.OpenMaxServer, "connection", "connections")))
	}
	if over == nil || before == nil {
		return
	}
	now, was := over.Summary.NewPerSAfter2s, before.Summary.NewPerSAfter2s
	if now == nil || was == nil || *now >= *was {
		return
	}
	if size == 0 {
		size = c.Params.Size
	}
	if overflow := over.Summary.OpenMaxServer - size; overflow > 0 {
		add("Overflow", report.Int(overflow), fmt.Sprintf("for a burst like this one; new connections after 2 s fell from %s to %s per second",
			report.Short(*was), report.Short(*now)))
		add("MaxConns", report.Int(suggestedMaxConns(size, overflow)), fmt.Sprintf(
			"the sum of the lanes: Size, Overflow, SharedConns %d and one for their probe, MaxBlocking %d; check it against the server's maxclients, divided by the number of your processes",
			evenkeel.DefaultSharedConns, evenkeel.DefaultMaxBlocking))
	}
}

// suggestedMaxConns is the least that a Config with these lanes takes.
func suggestedMaxConns(size, overflow int) int {
	return size + overflow + evenkeel.DefaultSharedConns + 1 + evenkeel.DefaultMaxBlocking
}

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *DemoResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *DemoResult) Page() report.Page {
	p := report.Page{
		Title: "What your connections cost, and how to keep them",
		Lead:  "Four experiments on one server: reuse against reconnecting, a pool under a load that outgrows it, the depth of pipelines, and the size of a pool.",
		Facts: r.Environment.facts(),
	}
	if r.Environment.ServerKind == ServerEmbedded {
		p.Lead += " The server was embedded in this process, so trust the counts and not the times; install redis-server or valkey-server for both."
	}
	p.Figures = r.figures()
	take := func(part report.Page) {
		lead := part.Lead
		for _, s := range part.Sections {
			if lead != "" && !s.Detail {
				s.Prose = append([]string{lead}, s.Prose...)
				lead = ""
			}
			p.Sections = append(p.Sections, s)
		}
	}
	if r.Connect != nil {
		take(r.Connect.Page())
	}
	if r.Churn != nil {
		take(r.Churn.Page())
	}
	if r.Depth != nil && r.timed() {
		take(r.Depth.Page())
	}
	if r.PoolSize != nil && r.timed() {
		take(r.PoolSize.Page())
	}
	if len(r.Suggestions) > 0 {
		t := report.Table{
			Columns: []report.Column{{Name: "setting", Text: true}, {Name: "value", Text: true}, {Name: "why", Text: true}},
		}
		for _, s := range r.Suggestions {
			t.Rows = append(t.Rows, []string{s.Setting, s.Value, s.Why})
		}
		p.Sections = append(p.Sections, report.Section{
			Heading: "Suggested settings", Tables: []report.Table{t},
			Prose: []string{"They fit this machine and this load. Next, ask your own server: evenkeel bench connect --url redis://HOST:PORT"},
		})
	}
	return interrupted(p, r.Interrupted)
}

// timed reports whether the times mean something.
func (r *DemoResult) timed() bool { return r.Environment.ServerKind != ServerEmbedded }

// figures are the four numbers that the demo is about.
func (r *DemoResult) figures() []report.Figure {
	var out []report.Figure
	if r.Connect != nil && r.timed() {
		if ratio := r.Connect.Ratios.ReconnectSlowdown; ratio != nil {
			out = append(out, report.Figure{Label: "a new connection for each command", Value: report.Times(*ratio), Note: "slower than reuse"})
		}
	}
	if r.Churn != nil {
		for _, name := range []ChurnMode{ChurnCloseSurplus, ChurnOverflow} {
			if m := r.Churn.mode(name); m != nil {
				out = append(out, report.Figure{Label: "new connections, " + string(name), Value: perS(m.Summary.NewPerSAfter2s) + "/s", Note: "once the pool was filled"})
			}
		}
	}
	if r.Depth != nil && r.timed() && r.Depth.KneeDepth > 0 {
		out = append(out, report.Figure{Label: "pipeline depth", Value: report.Int(r.Depth.KneeDepth), Note: "reaches 90 % of the best rate"})
	}
	if r.PoolSize != nil && r.timed() && r.PoolSize.KneeSize > 0 {
		out = append(out, report.Figure{Label: "pool size", Value: report.Int(r.PoolSize.KneeSize), Note: "reaches 90 % of the best rate"})
	}
	return out
}
