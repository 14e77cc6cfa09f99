package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/evenkeel-go/evenkeel/report"
)

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *StormResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *StormResult) Page() report.Page {
	p := report.Page{
		Title:   "What a fault does to callers and to the server",
		Lead:    r.lead(),
		Figures: r.figures(),
		Facts:   r.Environment.facts(),
	}
	if len(r.Verdicts) > 0 {
		p.Sections = append(p.Sections, r.verdictSection())
	}
	if len(r.Timeline) > 0 {
		p.Sections = append(p.Sections, report.Section{Heading: "The run", Plots: r.plots()})
	}
	if len(r.Phases) > 0 {
		p.Sections = append(p.Sections, r.phasesSection())
	}
	return interrupted(p, r.Interrupted)
}

func (r *StormResult) lead() string {
	text := fmt.Sprintf("%s call on the %s lane, at most %s, each call within %s; for %s %s.",
		report.Plural(r.Params.Callers, "caller", "callers"), r.Params.Lane, report.Plural(r.Params.MaxConns, "connection", "connections"),
		report.Micros(r.Params.TimeoutMs*1000), report.Micros(r.Params.DuringS*1e6), r.Fault.words())
	if missed := r.Missed(); len(missed) > 0 {
		text += fmt.Sprintf(" %d of %d promises were missed.", len(missed), len(r.Verdicts))
	} else if len(r.Verdicts) > 0 {
		text += " Every promise was kept."
	}
	return text
}

func (r *StormResult) figures() []report.Figure {
	var out []report.Figure
	if p := r.phase(PhaseDuring); p != nil {
		out = append(out, report.Figure{Label: "dials during the fault", Value: report.Int(p.DialsServer + p.DialsRefused), Note: refused(p)})
	}
	if p := r.phase(PhaseAfter); p != nil {
		out = append(out, report.Figure{Label: "dials after it", Value: report.Int(p.DialsServer + p.DialsRefused), Note: refused(p)})
	}
	out = append(out, report.Figure{Label: "open at once, by the server's side", Value: report.Int(r.OpenMaxServer), Note: "of at most " + report.Int(r.Params.MaxConns)})
	recovery := report.Figure{Label: "90 % of the throughput back", Value: "–", Note: "not within the run"}
	if r.RecoveryMs != nil {
		recovery.Value, recovery.Note = report.Micros(*r.RecoveryMs*1000), "after the fault's end"
	}
	return append(out, recovery)
}

func refused(p *StormPhase) string {
	if p.DialsRefused == 0 {
		return "as the server's side counts them"
	}
	return report.Int(p.DialsRefused) + " of them refused"
}

func (r *StormResult) phasesSection() report.Section {
	t := report.Table{
		Columns: []report.Column{
			{Name: "phase", Text: true},
			{Name: "dials", Unit: "server"},
			{Name: "dials", Unit: "refused"},
			{Name: "dials", Unit: "at once"},
			{Name: "ok"},
			{Name: "failed"},
			{Name: "late max", Unit: "ms"},
			{Name: "late p99.9", Unit: "ms"},
		},
		Caption: "Late is how long past its own deadline a call returned.",
	}
	failures := report.Table{
		Title:   "How calls failed",
		Columns: []report.Column{{Name: "phase", Text: true}, {Name: "failure", Text: true}, {Name: "calls"}},
	}
	for _, p := range r.Phases {
		var failed int64
		for _, kind := range slices.Sorted(maps.Keys(p.Failed)) {
			failed += p.Failed[kind]
			failures.Rows = append(failures.Rows, []string{p.Name, kind, report.Int(p.Failed[kind])})
		}
		t.Rows = append(t.Rows, []string{
			p.Name, report.Int(p.DialsServer), report.Int(p.DialsRefused), report.Int(p.DialsUnderWayMax),
			report.Int(p.OK), report.Int(failed), report.Fixed(p.LateMaxMs, 2), report.Fixed(p.LateP999Ms, 2),
		})
	}
	s := report.Section{Heading: "The phases", Tables: []report.Table{t}}
	if len(failures.Rows) > 0 {
		s.Tables = append(s.Tables, failures)
	}
	if after := r.phase(PhaseAfter); after != nil {
		text := fmt.Sprintf("After the fault the server accepted %s for %s.",
			report.Plural(after.DialsServer, "connection", "connections"), report.Plural(r.Params.Callers, "caller", "callers"))
		if after.DialsServer <= r.Params.MaxConns {
			text += " That is no more than the pool may hold, so there was no storm of reconnects."
		} else {
			text += fmt.Sprintf(" That is %s what the pool may hold: a storm of reconnects.", report.Times(float64(after.DialsServer)/float64(r.Params.MaxConns)))
		}
		s.Prose = append(s.Prose, text)
	}
	return s
}

func (r *StormResult) verdictSection() report.Section {
	t := report.Table{
		Columns: []report.Column{{Name: "promise", Text: true}, {Name: "measured"}, {Name: "at most"}, {Name: "kept", Text: true}},
	}
	for _, v := range r.Verdicts {
		kept := "yes"
		if !v.Held {
			kept = "NO"
		}
		t.Rows = append(t.Rows, []string{v.Name, v.Measured, v.Limit, kept})
	}
	return report.Section{Heading: "Against the promise", Tables: []report.Table{t}}
}

func (r *StormResult) plots() []report.Plot {
	time := report.Axis{Label: "time since the load began", Unit: "s"}
	begin, end := r.Params.BeforeS, r.Params.BeforeS+r.Params.DuringS
	band := []report.Band{{From: begin, To: end, Label: string(r.Fault)}}
	n := len(r.Timeline)
	x := make([]float64, n)
	ok, failed, open, dials, limit := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i, p := range r.Timeline {
		x[i] = p.TMs / 1000
		ok[i], failed[i] = p.OKPerS, p.FailedPerS
		open[i], dials[i], limit[i] = float64(p.OpenServer), float64(p.DialsServer), float64(r.Params.MaxConns)
	}
	return []report.Plot{
		{
			Title:   "Calls",
			Caption: "Calls that ended well and badly in each step; the shaded part is the fault.",
			XAxis:   time, YAxis: report.Axis{Label: "calls", Unit: "1/s"}, X: x, Bands: band,
			Series: []report.Series{{Name: "succeeded", Y: ok, Step: true}, {Name: "failed", Y: failed, Step: true}},
		},
		{
			Title:   "Connections on the server's side",
			Caption: "A storm would show as a tower of new connections at either end of the shaded part. The dashed line is the most that may be open.",
			XAxis:   time, YAxis: report.Axis{Label: "connections"}, X: x, Bands: band,
			Series: []report.Series{{Name: "open", Y: open}, {Name: "new in this step", Y: dials, Step: true}, {Name: "limit", Y: limit, Dashed: true}},
		},
	}
}
