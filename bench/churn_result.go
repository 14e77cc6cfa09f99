package bench

import (
	"math"

	"github.com/evenkeel-go/evenkeel/report"
)

// ChurnSchema names the JSON form of a [ChurnResult].
const ChurnSchema = "evenkeel.bench.churn/v1"

// ChurnResult is what Churn found, one entry for each mode that was run.
type ChurnResult struct {
	// Schema is [ChurnSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// Params are the options as used.
	Params ChurnParams `json:"params"`
	// Modes are in the order in which they ran.
	Modes []ChurnModeResult `json:"modes"`
}

// ChurnParams are the options of a run as they stand in the result.
type ChurnParams struct {
	Size             int     `json:"size"`
	Overflow         int     `json:"overflow"`
	OverflowDrainS   float64 `json:"overflow_drain_s"`
	DrainWatchS      float64 `json:"drain_watch_s"`
	Parallel         int     `json:"parallel"`
	IntervalUs       float64 `json:"interval_us"`
	DurationS        float64 `json:"duration_s"`
	CreateBurst      int     `json:"create_burst"`
	CreateIntervalMs float64 `json:"create_interval_ms"`
}

// ChurnModeResult is one mode's run.
type ChurnModeResult struct {
	// Mode is the mode.
	Mode ChurnMode `json:"mode"`
	// Seconds has one entry for each second of the load.
	Seconds []ChurnSecond `json:"seconds"`
	// Summary sums them up.
	Summary ChurnSummary `json:"summary"`
	// Drain follows the overflow after a second burst, with a drain that is no
	// longer than drain_watch_s; empty in other modes.
	Drain []ChurnDrain `json:"drain,omitempty"`
}

// ChurnSecond is one second of the load.
type ChurnSecond struct {
	// T is the end of the second, in seconds since the load began.
	T float64 `json:"t"`
	// Open is how many connections the client holds at T.
	Open int `json:"open"`
	// New is how many the server accepted in the second.
	New int `json:"new"`
	// Available is how many of the open ones were idle at T; in the mode shared all
	// of them, since each takes more work at any time.
	Available int `json:"available"`
	// Pings is how many pings were answered in the second.
	Pings int64 `json:"pings"`
	// MeanUs is the mean time of these, from wanting a connection to
	// having given it back.
	MeanUs float64 `json:"mean_us"`
}

// ChurnSummary sums up a mode.
type ChurnSummary struct {
	// PingsPerS is the mean over the whole load.
	PingsPerS float64 `json:"pings_per_s"`
	// NewTotal is how many connections the server accepted during the load.
	NewTotal int `json:"new_total"`
	// NewPerSAfter2s is how many it accepted per second from 2 s on: the first
	// seconds fill the pool in every mode. It is null for a run of less than 2.5 s, which
	// does not get there.
	NewPerSAfter2s *float64 `json:"new_per_s_after_2s"`
	// OpenMax is the most the client held, OpenMaxServer the most the server
	// counted, closing ones included.
	OpenMax       int `json:"open_max"`
	OpenMaxServer int `json:"open_max_server"`
	// P50Us and P99Us are quantiles of the ping time.
	P50Us float64 `json:"p50_us"`
	P99Us float64 `json:"p99_us"`
	// Errors counts pings that failed, error replies included.
	Errors int64 `json:"errors"`
}

// ChurnDrain is one look at the overflow after a burst.
type ChurnDrain struct {
	// T is in seconds since the burst ended.
	T float64 `json:"t"`
	// Open is what the server counts, Expected what the drain's curve says.
	Open     int     `json:"open"`
	Expected float64 `json:"expected"`
}

// NewChurnResult returns an empty result for a run with these options.
func NewChurnResult(env Environment, o ChurnOptions) *ChurnResult {
	return &ChurnResult{
		Schema:      ChurnSchema,
		Environment: env,
		Params: ChurnParams{
			Size:             o.Size,
			Overflow:         o.Overflow,
			OverflowDrainS:   o.OverflowDrain.Seconds(),
			DrainWatchS:      o.DrainWatch.Seconds(),
			Parallel:         o.Parallel,
			IntervalUs:       micros(o.Interval),
			DurationS:        o.Duration.Seconds(),
			CreateBurst:      o.CreateBurst,
			CreateIntervalMs: micros(o.CreateInterval) / 1000,
		},
		Modes: []ChurnModeResult{},
	}
}

// Summarise fills in the summary from the seconds, the merged ping times, the
// server's own peak of open connections, and the number of failed pings.
func (m *ChurnModeResult) Summarise(pings *Latency, openMaxServer int, errors int64) {
	s := ChurnSummary{
		P50Us:         pings.QuantileUs(0.5),
		P99Us:         pings.QuantileUs(0.99),
		OpenMaxServer: openMaxServer,
		Errors:        errors,
	}
	var total int64
	late, last := 0, 0.0
	for _, sec := range m.Seconds {
		s.NewTotal += sec.New
		s.OpenMax = max(s.OpenMax, sec.Open)
		total += sec.Pings
		// A second counts as late when it began at 2 s or after; timers are not
		// exact, hence the slack.
		if last >= 1.95 {
			late += sec.New
		}
		last = sec.T
	}
	if last > 0 {
		s.PingsPerS = float64(total) / last
	}
	if from := m.lateFrom(); last >= from+leastLate {
		rate := float64(late) / (last - from)
		s.NewPerSAfter2s = &rate
	}
	m.Summary = s
}

// leastLate is how long a rate must have been watched, in seconds.
const leastLate = 0.45

// perS is a rate, where there is one.
func perS(rate *float64) string {
	if rate == nil {
		return "–"
	}
	return report.Short(*rate)
}

// lateFrom is where the first second that began at 2 s or after began.
func (m *ChurnModeResult) lateFrom() float64 {
	begin := 0.0
	for _, sec := range m.Seconds {
		if begin >= 1.95 {
			return begin
		}
		begin = sec.T
	}
	return math.Inf(1)
}

// mode returns the named mode's result, or nil if it was not run.
func (r *ChurnResult) mode(name ChurnMode) *ChurnModeResult {
	for i := range r.Modes {
		if r.Modes[i].Mode == name {
			return &r.Modes[i]
		}
	}
	return nil
}
