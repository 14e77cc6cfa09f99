package bench

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// StormSchema names the JSON form of a [StormResult].
const StormSchema = "evenkeel.bench.storm/v1"

// The phases of Storm, in order.
const (
	PhaseBefore = "before"
	PhaseDuring = "during"
	PhaseAfter  = "after"
)

// What a client that promises no storm may do at most; see [StormResult.Judge].
const (
	// StormLateMax is how long past its deadline a call may return, at the
	// 99.9th percentile of a phase.
	StormLateMax = 5 * time.Millisecond
	// StormRecoveryMax is how long the throughput may take to return when the
	// server only was silent. StormRecoveryKillMax is the same after all conns were
	// killed: all but the first new one are held back for up to a second, so that
	// many clients do not come back in one wave. A server that refused is found
	// again at the next step of the backoff, for which no time is promised.
	StormRecoveryMax     = time.Second
	StormRecoveryKillMax = 2 * time.Second
	// StormDialsUnderWayMax is how many dials may be under way at once, and
	// StormDialsFailingMax how many while the endpoint fails.
	StormDialsUnderWayMax = 2
	StormDialsFailingMax  = 1
)

// StormResult is what Storm found.
type StormResult struct {
	// Schema is [StormSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// Fault is what happened.
	Fault Fault `json:"fault"`
	// Params are the other options as used.
	Params StormParams `json:"params"`
	// Phases are before, during and after, as far as the run came.
	Phases []StormPhase `json:"phases"`
	// OpenMaxServer is the most connections open at once, closing ones
	// included, as counted on the server's side.
	OpenMaxServer int `json:"open_max_server"`
	// GoroutinesBefore and GoroutinesAfter are the process's goroutines before
	// the client was made and after it was closed.
	GoroutinesBefore int `json:"goroutines_before"`
	GoroutinesAfter  int `json:"goroutines_after"`
	// RecoveryMs is the time from the fault's end (a kill ends where it begins)
	// until calls succeed again at 90 % of the rate before it; null if that did not
	// happen within the run.
	RecoveryMs *float64 `json:"recovery_ms"`
	// Timeline follows the run in short steps.
	Timeline []StormPoint `json:"timeline"`
	// Verdicts hold the numbers against the promise; see Judge.
	Verdicts []Verdict `json:"verdicts"`
}

// StormParams are the options of a run as they stand in the result.
type StormParams struct {
	Lane      Lane    `json:"lane"`
	Callers   int     `json:"callers"`
	Size      int     `json:"size"`
	MaxConns  int     `json:"max_conns"`
	TimeoutMs float64 `json:"timeout_ms"`
	BeforeS   float64 `json:"before_s"`
	DuringS   float64 `json:"during_s"`
	AfterS    float64 `json:"after_s"`
}

// StormPhase is one phase of the run.
type StormPhase struct {
	// Name is before, during or after.
	Name string `json:"name"`
	// DialsServer is how many connections were accepted on the server's side.
	DialsServer int `json:"dials_server"`
	// DialsRefused is how many dials were refused, as the client's dial hook
	// counts them: a server that is gone counts nothing.
	DialsRefused int `json:"dials_refused"`
	// DialsUnderWayMax is the most dials that were under way at once; while the
	// server refuses, from 100 ms after the last connection was cut.
	DialsUnderWayMax int `json:"dials_under_way_max"`
	// OK is how many calls succeeded.
	OK int64 `json:"ok"`
	// Failed counts the others by how they failed.
	Failed map[string]int64 `json:"failed"`
	// LateMaxMs is how long past its deadline the latest call returned, in ms,
	// LateP999Ms the same for the 99.9th percentile of all calls; 0 when none
	// was late.
	LateMaxMs  float64 `json:"late_max_ms"`
	LateP999Ms float64 `json:"late_p999_ms"`
}

// StormPoint is one step of the timeline.
type StormPoint struct {
	// TMs is the step's end, in ms since the load began.
	TMs float64 `json:"t_ms"`
	// OKPerS and FailedPerS are rates of calls within the step.
	OKPerS     float64 `json:"ok_per_s"`
	FailedPerS float64 `json:"failed_per_s"`
	// OpenServer is how many connections were open at TMs on the server's side,
	// DialsServer how many it accepted within the step.
	OpenServer  int `json:"open_server"`
	DialsServer int `json:"dials_server"`
}

// Verdict holds one number against what was promised.
type Verdict struct {
	// Name says what is promised.
	Name string `json:"name"`
	// Held is whether it was kept.
	Held bool `json:"held"`
	// Measured and Limit are both sides, for people.
	Measured string `json:"measured"`
	Limit    string `json:"limit"`
}

// NewStormResult returns an empty result for a run with these options.
func NewStormResult(env Environment, o StormOptions) *StormResult {
	return &StormResult{
		Schema:      StormSchema,
		Environment: env,
		Fault:       o.Fault,
		Params: StormParams{
			Lane:      o.Lane,
			Callers:   o.Callers,
			Size:      o.Size,
			MaxConns:  o.Size,
			TimeoutMs: micros(o.Timeout) / 1000,
			BeforeS:   o.Before.Seconds(),
			DuringS:   o.During.Seconds(),
			AfterS:    o.After.Seconds(),
		},
		Phases:   []StormPhase{},
		Timeline: []StormPoint{},
		Verdicts: []Verdict{},
	}
}

// Judge fills in the verdicts from the numbers. A run that was cut short is not
// judged.
func (r *StormResult) Judge() {
	r.Verdicts = []Verdict{}
	during, after := r.phase(PhaseDuring), r.phase(PhaseAfter)
	if r.Interrupted || during == nil || after == nil {
		return
	}
	add := func(held bool, name, measured, limit string) {
		r.Verdicts = append(r.Verdicts, Verdict{Name: name, Held: held, Measured: measured, Limit: limit})
	}
	if r.Fault == FaultPause || r.Fault == FaultStop {
		add(during.DialsServer <= 1, "dials while the server is silent: the probe alone", report.Int(during.DialsServer), "1")
	}
	// Killed conns are replaced on a server that answers; one that is gone is
	// asked by a single dial.
	limit := StormDialsUnderWayMax
	if r.Fault == FaultRefuse {
		limit = StormDialsFailingMax
	}
	add(during.DialsUnderWayMax <= limit, "dials under way at once during the fault", report.Int(during.DialsUnderWayMax), report.Int(limit))
	add(after.DialsUnderWayMax <= StormDialsUnderWayMax, "dials under way at once after it", report.Int(after.DialsUnderWayMax), report.Int(StormDialsUnderWayMax))
	add(r.OpenMaxServer <= r.Params.MaxConns, "open connections, closing ones included", report.Int(r.OpenMaxServer), report.Int(r.Params.MaxConns))
	late := 0.0
	for _, p := range r.Phases {
		late = max(late, p.LateP999Ms)
	}
	add(late*1000 <= micros(StormLateMax), "return past the deadline, 99.9 % of calls", report.Micros(late*1000), report.Duration(StormLateMax))
	if back := r.Fault.recoveryMax(); back > 0 {
		name := "time until 90 % of the throughput is back"
		if r.RecoveryMs == nil {
			add(false, name, fmt.Sprintf("not within %v s", r.Params.AfterS), report.Duration(back))
		} else {
			add(*r.RecoveryMs*1000 <= micros(back), name, report.Micros(*r.RecoveryMs*1000), report.Duration(back))
		}
	}
	add(r.GoroutinesAfter <= r.GoroutinesBefore, "goroutines left behind", report.Int(max(r.GoroutinesAfter-r.GoroutinesBefore, 0)), "0")
}

// recoveryMax is the time that is promised until the throughput is back; 0: none is.
func (f Fault) recoveryMax() time.Duration {
	switch f {
	case FaultKill:
		return StormRecoveryKillMax
	case FaultRefuse:
		return 0
	default:
		return StormRecoveryMax
	}
}

// Missed returns the verdicts that were not held.
func (r *StormResult) Missed() []Verdict {
	var out []Verdict
	for _, v := range r.Verdicts {
		if !v.Held {
			out = append(out, v)
		}
	}
	return out
}

func (r *StormResult) phase(name string) *StormPhase {
	for i := range r.Phases {
		if r.Phases[i].Name == name {
			return &r.Phases[i]
		}
	}
	return nil
}
