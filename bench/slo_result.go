package bench

import (
	"github.com/evenkeel-go/evenkeel/bench/workload"
)

// SLOSchema names the JSON form of a [SLOResult].
const SLOSchema = "evenkeel.bench.slo/v1"

// SLOResult is what SLO found.
type SLOResult struct {
	// Schema is [SLOSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the search was cut short.
	Interrupted bool `json:"interrupted"`
	// Params are the options as used, and Workload what was sent.
	Params   SLOParams         `json:"params"`
	Workload workload.Workload `json:"workload"`
	// Answer is what was searched for.
	Answer SLOAnswer `json:"answer"`
	// Steps are the windows, in the order in which they were measured.
	Steps []SLOStep `json:"steps"`
	// IdlePing is the time of a PING before the load: the least that a reply can take
	// here.
	IdlePing *RunTimes `json:"idle_ping"`
	// Preload is how the keys were written before; null when they were not.
	Preload *RunPreload `json:"preload"`
}

// SLOParams are the options of a search as they stand in the result.
type SLOParams struct {
	Search    Search  `json:"search"`
	Quantile  float64 `json:"quantile"`
	LimitUs   float64 `json:"limit_us"`
	WindowS   float64 `json:"window_s"`
	Confirm   int     `json:"confirm"`
	Precision float64 `json:"precision"`
	MaxTimeS  float64 `json:"max_time_s"`
	MaxConns  int     `json:"max_conns,omitempty"`
	// Load are the options of the windows; rate or conns, as searched for, are those of
	// the first.
	Load RunParams `json:"load"`
}

// The endings of a search.
const (
	// EndingFound: between Held and Failed lies the limit of the server.
	EndingFound = "found"
	// EndingGenerator: at Failed it was the generator that could no more; the server may.
	EndingGenerator = "generator"
	// EndingEverything: all that was allowed held.
	EndingEverything = "everything"
	// EndingNothing: not even the least held.
	EndingNothing = "nothing"
	// EndingTime: the time was over before.
	EndingTime = "time"
)

// SLOAnswer is an interval: the highest value that held, and the lowest that did not.
type SLOAnswer struct {
	// Held is in requests per second, or in connections; 0 when nothing held.
	Held float64 `json:"held"`
	// Confirmed is how many windows in a row held there, besides the one that found it.
	Confirmed int `json:"confirmed"`
	// Failed is null when nothing failed.
	Failed *float64 `json:"failed"`
	// Ending says why the search ended there: "found", "generator", "everything",
	// "nothing" or "time".
	Ending string `json:"ending"`
}

// The phases of a search.
const (
	PhaseCeiling = "ceiling"
	PhaseSearch  = "search"
	PhaseConfirm = "confirm"
)

// SLOStep is one window.
type SLOStep struct {
	// Phase is "ceiling" (a closed loop, to know where to begin), "search" or "confirm".
	Phase string `json:"phase"`
	// RatePerS is what was asked for; 0 in closed loop. Conns is how many there were.
	RatePerS float64 `json:"rate_per_s"`
	Conns    int     `json:"conns"`
	// LengthS is how long was measured.
	LengthS float64 `json:"length_s"`
	// OKPerS are the replies per second that were no errors, Failed all the others, and
	// Short the share of what was due that was not answered.
	OKPerS float64 `json:"ok_per_s"`
	Failed int64   `json:"failed"`
	Short  float64 `json:"short_share"`
	// QuantileUs is the quantile that counts, in the interval that holds the true one
	// with 95 % confidence.
	QuantileUs       float64    `json:"quantile_us"`
	QuantileInterval [2]float64 `json:"quantile_interval_us"`
	P50Us            float64    `json:"p50_us"`
	MaxUs            float64    `json:"max_us"`
	// ServerCPUShare is what the server used of one CPU; null when it does not say.
	ServerCPUShare *float64 `json:"server_cpu_share"`
	// GeneratorBound says that the generator had no time left.
	GeneratorBound bool `json:"generator_bound"`
	// Holds says that the window met the goal, and Why what it missed.
	Holds bool     `json:"holds"`
	Why   []string `json:"why"`
}

// NewSLOResult returns an empty result for a search with these options.
func NewSLOResult(env Environment, o SLOOptions) *SLOResult {
	r := &SLOResult{
		Schema: SLOSchema, Environment: env, Workload: o.Load.Workload, Steps: []SLOStep{}, Answer: SLOAnswer{Ending: EndingTime},
		Params: SLOParams{
			Search: o.Search, Quantile: o.Quantile, LimitUs: micros(o.Limit), WindowS: o.Window.Seconds(), Confirm: o.Confirm,
			Precision: o.Precision, MaxTimeS: o.MaxTime.Seconds(), Load: NewRunResult(env, o.window(o.Load.Rate, o.Load.Conns)).Params,
		},
	}
	if o.Search == SearchConns {
		r.Params.MaxConns = o.MaxConns
	}
	return r
}
