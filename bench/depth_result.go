package bench

import (
	"fmt"
	"io"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// DepthSchema names the JSON form of a [DepthResult].
const DepthSchema = "evenkeel.bench.depth/v1"

// depthFull is how many full batches each connection must have sent before a
// depth's numbers count.
const depthFull = 10

// DepthOptions say what Depth does: Conns callers, each with its own connection,
// send batches of GET and SET, at each depth in turn. Make it with
// [DefaultDepthOptions].
type DepthOptions struct {
	// Target is the server; the zero value means a private one.
	Target Target
	// Depths are the batch sizes, ascending, each 1 to 65,536. Default 1, 4, 16,
	// 64, 256, 1024.
	Depths []int
	// Conns is the number of connections, 1 to 1,000. Default 10.
	Conns int
	// ValueSize is the size of a value in bytes, 1 to 1 MiB. Default 100.
	ValueSize int
	// Duration is how long each depth runs, 100 ms to 10 min. Default 1 s.
	Duration time.Duration
	// Disturb allows load on a given server that is busy, a replica, or near a
	// limit. Default false: refuse.
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultDepthOptions returns the defaults that the fields name.
func DefaultDepthOptions() DepthOptions {
	return DepthOptions{
		Depths:    []int{1, 4, 16, 64, 256, 1024},
		Conns:     10,
		ValueSize: 100,
		Duration:  time.Second,
	}
}

// Validate reports the first option that is out of bounds as an [OptionError].
func (o DepthOptions) Validate() error {
	var c check
	c.target(o.Target)
	c.ascending(o.Depths, 1<<16, "depths")
	c.between(o.Conns, 1, 1_000, "conns")
	c.between(o.ValueSize, 1, 1<<20, "value-size")
	c.lasts(o.Duration, 100*time.Millisecond, 10*time.Minute, "duration")
	return c.err
}

// Plan says what Depth will do.
func (o DepthOptions) Plan() Plan {
	deepest := 0
	for _, d := range o.Depths {
		deepest = max(deepest, d)
	}
	return Plan{
		Steps: []string{fmt.Sprintf("batches of %s to %s on %s, %v each",
			report.Int(o.Depths[0]), report.Plural(deepest, "command", "commands"), report.Plural(o.Conns, "connection", "connections"), o.Duration)},
		Length: time.Duration(len(o.Depths)) * o.Duration,
		Conns:  o.Conns + 1,
		// Each connection may have a batch of values waiting in both directions.
		Memory: int64(o.Conns)*(connMemory+int64(deepest)*int64(o.ValueSize+64)*2) + connMemory,
	}
}

// DepthResult is what Depth found.
type DepthResult struct {
	// Schema is [DepthSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// Params are the options as used.
	Params DepthParams `json:"params"`
	// Points are in ascending order of depth.
	Points []DepthPoint `json:"points"`
	// KneeDepth is the smallest depth that reaches 90 % of the best rate, short
	// points left out; 0 when there is none.
	KneeDepth int `json:"knee_depth"`
}

// DepthParams are the options of a run as they stand in the result.
type DepthParams struct {
	Conns     int     `json:"conns"`
	ValueSize int     `json:"value_size"`
	DurationS float64 `json:"duration_s"`
}

// DepthPoint is one depth's run.
type DepthPoint struct {
	// Depth is how many commands a batch holds.
	Depth int `json:"depth"`
	// Commands is how many succeeded, OpsPerS their rate.
	Commands int64   `json:"commands"`
	OpsPerS  float64 `json:"ops_per_s"`
	// The time of a command in µs, which is that of its batch.
	AvgUs float64 `json:"avg_us"`
	P50Us float64 `json:"p50_us"`
	P99Us float64 `json:"p99_us"`
	// Errors counts commands that failed, error replies included.
	Errors int64 `json:"errors"`
	// Short marks a run of fewer than 10 × conns × depth commands, whose numbers
	// say more about its start and end than about the depth.
	Short bool `json:"short"`
}

// NewDepthResult returns an empty result for a run with these options.
func NewDepthResult(env Environment, o DepthOptions) *DepthResult {
	return &DepthResult{
		Schema:      DepthSchema,
		Environment: env,
		Params:      DepthParams{Conns: o.Conns, ValueSize: o.ValueSize, DurationS: o.Duration.Seconds()},
		Points:      []DepthPoint{},
	}
}

// FindKnee marks the points that are short and fills in the knee.
func (r *DepthResult) FindKnee() {
	rates := make([]float64, len(r.Points))
	for i := range r.Points {
		p := &r.Points[i]
		p.Short = p.Commands < int64(depthFull*r.Params.Conns*p.Depth)
		rates[i] = p.OpsPerS
	}
	r.KneeDepth = 0
	if i := reaching(kneeShare, rates, func(i int) bool { return !r.Points[i].Short }); i >= 0 {
		r.KneeDepth = r.Points[i].Depth
	}
}

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *DepthResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *DepthResult) Page() report.Page {
	p := report.Page{
		Title:    "How deep to pipeline",
		Lead:     r.meaning(),
		Sections: []report.Section{r.section()},
		Facts:    r.Environment.facts(),
	}
	return interrupted(p, r.Interrupted)
}

func (r *DepthResult) point(depth int) *DepthPoint {
	for i := range r.Points {
		if r.Points[i].Depth == depth {
			return &r.Points[i]
		}
	}
	return nil
}

func (r *DepthResult) meaning() string {
	at := r.point(r.KneeDepth)
	if at == nil {
		return "Every depth was too short to say where the knee is: run it for longer."
	}
	text := fmt.Sprintf("The knee is at depth %s: the smallest that reaches 90 %% of the best rate, %s commands per second, each in %s.",
		report.Int(at.Depth), report.Fixed(at.OpsPerS, 0), report.Micros(at.P50Us))
	if one := r.point(1); one != nil && one != at && one.OpsPerS > 0 {
		text += fmt.Sprintf(" That is %s the rate without pipelining.", report.Times(at.OpsPerS/one.OpsPerS))
	}
	if last := r.Points[len(r.Points)-1]; last.Depth > at.Depth && !last.Short && at.P50Us > 0 {
		text += fmt.Sprintf(" Depth %s takes %s the time of a command for %s the rate.",
			report.Int(last.Depth), report.Times(last.P50Us/at.P50Us), report.Times(last.OpsPerS/at.OpsPerS))
	}
	return text
}

func (r *DepthResult) section() report.Section {
	t := report.Table{
		Columns: []report.Column{
			{Name: "depth"},
			{Name: "rate", Unit: "1/s"},
			{Name: "avg", Unit: "µs"},
			{Name: "p50", Unit: "µs"},
			{Name: "p99", Unit: "µs"},
			{Name: "errors"},
			{Name: "", Text: true},
		},
		Caption: fmt.Sprintf("%s, values of %s, GET and SET by turns. A command's time is that of its batch.",
			report.Plural(r.Params.Conns, "connection", "connections"), report.Bytes(int64(r.Params.ValueSize))),
	}
	var x, rates, p50, p99 []float64
	for _, p := range r.Points {
		note := ""
		switch {
		case p.Short:
			note = "too short to count"
		case p.Depth == r.KneeDepth:
			note = "knee"
		}
		t.Rows = append(t.Rows, []string{
			report.Int(p.Depth), report.Fixed(p.OpsPerS, 0), report.Fixed(p.AvgUs, 0), report.Fixed(p.P50Us, 0), report.Fixed(p.P99Us, 0), report.Int(p.Errors), note,
		})
		x, rates = append(x, float64(p.Depth)), append(rates, p.OpsPerS)
		p50, p99 = append(p50, p.P50Us), append(p99, p.P99Us)
	}
	return report.Section{
		Heading: "Commands in a batch",
		Prose:   []string{"A pipeline saves round trips and system calls, never the server's own work; use it where no command needs an earlier one's reply."},
		Tables:  []report.Table{t},
		Plots:   sweepPlots("commands in a batch", x, rates, p50, p99),
	}
}
