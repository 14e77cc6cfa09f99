package bench

import (
	"fmt"
	"io"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// PoolSizeSchema names the JSON form of a [PoolSizeResult].
const PoolSizeSchema = "evenkeel.bench.poolsize/v1"

// PoolSizeOptions say what PoolSize does: Callers lease a connection for each
// command from pools of each size in turn. Make it with
// [DefaultPoolSizeOptions].
type PoolSizeOptions struct {
	// Target is the server; the zero value means a private one.
	Target Target
	// Sizes are the pools' sizes, ascending, each 1 to 10,000. Default 1, 2, 4,
	// 8, 16, 32, 64, 128.
	Sizes []int
	// Callers is how many call at once, 1 to 100,000. Default 200.
	Callers int
	// Duration is how long each size runs, 100 ms to 10 min. Default 1 s.
	Duration time.Duration
	// Disturb allows load on a given server that is busy, a replica, or near a
	// limit. Default false: refuse.
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultPoolSizeOptions returns the defaults that the fields name.
func DefaultPoolSizeOptions() PoolSizeOptions {
	return PoolSizeOptions{
		Sizes:    []int{1, 2, 4, 8, 16, 32, 64, 128},
		Callers:  200,
		Duration: time.Second,
	}
}

// Validate reports the first option that is out of bounds as an [OptionError].
func (o PoolSizeOptions) Validate() error {
	var c check
	c.target(o.Target)
	c.ascending(o.Sizes, 10_000, "sizes")
	c.between(o.Callers, 1, 100_000, "callers")
	c.lasts(o.Duration, 100*time.Millisecond, 10*time.Minute, "duration")
	return c.err
}

// Plan says what PoolSize will do.
func (o PoolSizeOptions) Plan() Plan {
	largest := 0
	for _, s := range o.Sizes {
		largest = max(largest, s)
	}
	return Plan{
		Steps: []string{fmt.Sprintf("%s on pools of %s to %s, %v each",
			report.Plural(o.Callers, "caller", "callers"), report.Int(o.Sizes[0]), report.Plural(largest, "connection", "connections"), o.Duration)},
		Length: time.Duration(len(o.Sizes)) * o.Duration,
		Conns:  largest + 1,
		Memory: int64(largest+1) * connMemory,
	}
}

// PoolSizeResult is what PoolSize found.
type PoolSizeResult struct {
	// Schema is [PoolSizeSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// Params are the options as used.
	Params PoolSizeParams `json:"params"`
	// Points are in ascending order of size.
	Points []PoolSizePoint `json:"points"`
	// KneeSize is the smallest size that reaches 90 % of the best rate,
	// RecommendedSize the smallest that reaches 95 %, BestSize the one that has it;
	// 0 when nothing was measured.
	KneeSize        int `json:"knee_size"`
	RecommendedSize int `json:"recommended_size"`
	BestSize        int `json:"best_size"`
}

// PoolSizeParams are the options of a run as they stand in the result.
type PoolSizeParams struct {
	Callers   int     `json:"callers"`
	DurationS float64 `json:"duration_s"`
}

// PoolSizePoint is one size's run.
type PoolSizePoint struct {
	// Size is how many connections the pool held.
	Size int `json:"size"`
	// OpsPerS is the rate of commands that succeeded.
	OpsPerS float64 `json:"ops_per_s"`
	// The time of a command in µs, its wait for a connection included.
	P50Us float64 `json:"p50_us"`
	P99Us float64 `json:"p99_us"`
	// Errors counts commands that failed, error replies included.
	Errors int64 `json:"errors"`
}

// NewPoolSizeResult returns an empty result for a run with these options.
func NewPoolSizeResult(env Environment, o PoolSizeOptions) *PoolSizeResult {
	return &PoolSizeResult{
		Schema:      PoolSizeSchema,
		Environment: env,
		Params:      PoolSizeParams{Callers: o.Callers, DurationS: o.Duration.Seconds()},
		Points:      []PoolSizePoint{},
	}
}

// recommendedShare of the best rate is as good as the best: runs differ by as much.
const recommendedShare = 0.95

// FindKnee fills in the knee, the recommended and the best size from the points.
func (r *PoolSizeResult) FindKnee() {
	r.KneeSize, r.RecommendedSize, r.BestSize = 0, 0, 0
	rates := make([]float64, len(r.Points))
	best := 0.0
	for i, p := range r.Points {
		rates[i] = p.OpsPerS
		if p.OpsPerS > best {
			best, r.BestSize = p.OpsPerS, p.Size
		}
	}
	all := func(int) bool { return true }
	if i := reaching(kneeShare, rates, all); i >= 0 {
		r.KneeSize = r.Points[i].Size
	}
	if i := reaching(recommendedShare, rates, all); i >= 0 {
		r.RecommendedSize = r.Points[i].Size
	}
}

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *PoolSizeResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *PoolSizeResult) Page() report.Page {
	p := report.Page{
		Title:    "How many connections a pool needs",
		Lead:     r.meaning(),
		Sections: []report.Section{r.section()},
		Facts:    r.Environment.facts(),
	}
	return interrupted(p, r.Interrupted)
}

func (r *PoolSizeResult) meaning() string {
	var at, best, last *PoolSizePoint
	for i := range r.Points {
		p := &r.Points[i]
		if p.Size == r.KneeSize {
			at = p
		}
		if p.Size == r.BestSize {
			best = p
		}
		last = p
	}
	if at == nil || best == nil {
		return "Nothing succeeded, so there is no size to recommend: look at the errors."
	}
	text := fmt.Sprintf("%s reach 90 %% of the best rate with a pool of %s and 95 %% with %s; the best is %s commands per second with %s.",
		report.Plural(r.Params.Callers, "caller", "callers"), report.Int(at.Size), report.Int(r.RecommendedSize), report.Fixed(best.OpsPerS, 0), report.Int(best.Size))
	if last.Size > best.Size && last.OpsPerS < best.OpsPerS {
		text += fmt.Sprintf(" More is not better: %s give %s less.", report.Int(last.Size), report.Percent(1-last.OpsPerS/best.OpsPerS))
	}
	return text
}

func (r *PoolSizeResult) section() report.Section {
	t := report.Table{
		Columns: []report.Column{
			{Name: "size", Unit: "conns"},
			{Name: "rate", Unit: "1/s"},
			{Name: "p50", Unit: "µs"},
			{Name: "p99", Unit: "µs"},
			{Name: "errors"},
			{Name: "", Text: true},
		},
		Caption: "A command's time includes its wait for a connection.",
	}
	var x, rates, p50, p99 []float64
	for _, p := range r.Points {
		note := ""
		switch p.Size {
		case r.KneeSize:
			note = "knee"
		case r.BestSize:
			note = "best"
		case r.RecommendedSize:
			note = "95 %"
		}
		t.Rows = append(t.Rows, []string{
			report.Int(p.Size), report.Fixed(p.OpsPerS, 0), report.Fixed(p.P50Us, 0), report.Fixed(p.P99Us, 0), report.Int(p.Errors), note,
		})
		x, rates = append(x, float64(p.Size)), append(rates, p.OpsPerS)
		p50, p99 = append(p50, p.P50Us), append(p99, p.P99Us)
	}
	return report.Section{
		Heading: "Connections in the pool",
		Tables:  []report.Table{t},
		Plots:   sweepPlots("connections in the pool", x, rates, p50, p99),
	}
}
