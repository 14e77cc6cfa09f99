package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/evenkeel-go/evenkeel/report"
)

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *SLOResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// headroom is the share of a measured limit to plan with: beyond it a burst, a slow
// moment or a lost node has nothing to take from.
const headroom = 0.8

// Page describes the result for a reader.
func (r *SLOResult) Page() report.Page {
	p := report.Page{
		Title: fmt.Sprintf("How much at a %s of %s", r.name(), report.Micros(r.Params.LimitUs)),
		Lead:  r.lead(), Facts: r.facts(),
	}
	a := r.Answer
	if a.Held > 0 {
		p.Figures = append(p.Figures, report.Figure{Label: "held", Value: r.amount(a.Held), Note: r.confirmations()})
	}
	if a.Failed != nil {
		f := report.Figure{Label: "did not hold", Value: r.amount(*a.Failed)}
		if a.Ending == EndingGenerator {
			f.Note = "the generator's limit, not the server's"
		}
		p.Figures = append(p.Figures, f)
	}
	if c := r.ceiling(); c != nil {
		p.Figures = append(p.Figures, report.Figure{Label: "closed loop", Value: report.Short(c.OKPerS) + "/s", Note: r.name() + " " + report.Micros(c.QuantileUs)})
	}
	if len(r.Steps) > 0 {
		p.Sections = append(p.Sections, r.section())
	}
	return interrupted(p, r.Interrupted)
}

func (r *SLOResult) name() string { return quantileName(r.Params.Quantile) }

func (r *SLOResult) byRate() bool { return r.Params.Search == SearchRate }

// amount is a value of the search with its unit.
func (r *SLOResult) amount(v float64) string {
	if r.byRate() {
		return report.Short(v) + "/s"
	}
	return report.Plural(int(v), "connection", "connections")
}

// value is what a step had of what is searched for.
func (r *SLOResult) value(s *SLOStep) float64 {
	if r.byRate() {
		return s.RatePerS
	}
	return float64(s.Conns)
}

func (r *SLOResult) ceiling() *SLOStep {
	if len(r.Steps) > 0 && r.Steps[0].Phase == PhaseCeiling {
		return &r.Steps[0]
	}
	return nil
}

func (r *SLOResult) confirmations() string {
	return fmt.Sprintf("confirmed %d of %s", r.Answer.Confirmed, report.Plural(r.Params.Confirm, "time", "times"))
}

// lowestFailure is the window that the upper end of the answer stands for.
func (r *SLOResult) lowestFailure() *SLOStep {
	for i := range r.Steps {
		s := &r.Steps[i]
		if r.Answer.Failed != nil && s.Phase != PhaseCeiling && !s.Holds && r.value(s) == *r.Answer.Failed {
			return s
		}
	}
	return nil
}

func (r *SLOResult) lead() string {
	a := r.Answer
	goal := fmt.Sprintf("a %s of at most %s", r.name(), report.Micros(r.Params.LimitUs))
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case a.Held == 0 && a.Ending == EndingNothing:
		say("Not even %s kept %s.", r.amount(r.least()), goal)
	case a.Held == 0:
		say("Nothing that was tried kept %s.", goal)
	case a.Confirmed < r.Params.Confirm:
		say("%s kept %s, %s.", r.amount(a.Held), goal, r.confirmations())
	default:
		say("%s keep %s, in each of %s.", r.amount(a.Held), goal, report.Plural(a.Confirmed+1, "window", "windows"))
	}
	if f := r.lowestFailure(); f != nil {
		say("%s did not: %s.", r.amount(*a.Failed), strings.Join(f.Why, "; "))
	}
	switch a.Ending {
	case EndingGenerator:
		say("There it was the generator that could no more, so the server can do at least what held: run the generator on another machine, or with more --workers.")
	case EndingEverything:
		say("Nothing more was allowed, so the server can do at least that.")
	case EndingTime:
		say("The time was over before more was known: give a longer --max-time.")
	}
	if a.Held > 0 && a.Ending == EndingFound && a.Confirmed == r.Params.Confirm {
		say("Plan with %s of it, %s: a burst, a slow moment or a lost node then has something to take from.", percent(headroom), r.amount(float64(int(headroom*a.Held))))
	}
	return strings.Join(out, " ")
}

// least is the lowest that was tried.
func (r *SLOResult) least() float64 {
	least := 0.0
	for i := range r.Steps {
		if v := r.value(&r.Steps[i]); r.Steps[i].Phase != PhaseCeiling && (least == 0 || v < least) {
			least = v
		}
	}
	return least
}

func (r *SLOResult) section() report.Section {
	s := report.Section{Heading: "The search"}
	if r.byRate() {
		s.Prose = append(s.Prose, "Requests were due at a rate of their own, whether or not earlier ones had been answered, and their time counts from when they were due. "+
			"A window holds when the "+r.name()+" is within the limit, at least 99 % of what was due was answered, nothing failed, and the generator kept to its schedule.")
	} else {
		s.Prose = append(s.Prose, "A window holds when the "+r.name()+" is within the limit and nothing failed. Where the generator had no time left, times are upper bounds: what held did hold.")
	}
	t := report.Table{Columns: []report.Column{
		{Name: "window", Text: true},
		r.column(),
		{Name: "answered", Unit: "1/s"},
		{Name: "p50", Unit: "µs"},
		{Name: r.name(), Unit: "µs"},
		{Name: "between", Unit: "µs"},
		{Name: "max", Unit: "µs"},
		{Name: "server", Unit: "% CPU"},
		{Name: "holds", Text: true},
	}}
	for i := range r.Steps {
		step := &r.Steps[i]
		value, server, holds := report.Fixed(r.value(step), 0), "–", "yes"
		if step.Phase == PhaseCeiling {
			value, holds = "closed", "–"
		} else if !step.Holds {
			holds = "no: " + strings.Join(step.Why, "; ")
		}
		if step.ServerCPUShare != nil {
			server = report.Fixed(*step.ServerCPUShare*100, 0)
		}
		t.Rows = append(t.Rows, []string{
			step.Phase, value, report.Fixed(step.OKPerS, 0), report.Fixed(step.P50Us, 0), report.Fixed(step.QuantileUs, 0),
			report.Fixed(step.QuantileInterval[0], 0) + "–" + report.Fixed(step.QuantileInterval[1], 0), report.Fixed(step.MaxUs, 0), server, holds,
		})
	}
	t.Caption = "between: where the true " + r.name() + " lies with 95 % confidence, if the requests were independent."
	s.Tables = append(s.Tables, t)
	s.Plots = append(s.Plots, r.plot())
	return s
}

func (r *SLOResult) column() report.Column {
	if r.byRate() {
		return report.Column{Name: "asked for", Unit: "1/s"}
	}
	return report.Column{Name: "connections"}
}

func (r *SLOResult) plot() report.Plot {
	plot := report.Plot{
		Title: "The " + r.name() + " of each window", Caption: "Both scales are logarithmic. The dashed line is the limit.",
		XAxis:  report.Axis{Label: r.column().Name, Unit: r.column().Unit, LogBase: 10},
		YAxis:  report.Axis{Label: r.name(), Unit: "µs", LogBase: 10},
		Series: []report.Series{{Name: r.name()}, {Name: "p50"}, {Name: "limit", Dashed: true}},
	}
	steps := slices.DeleteFunc(slices.Clone(r.Steps), func(s SLOStep) bool { return s.Phase == PhaseCeiling })
	slices.SortStableFunc(steps, func(a, b SLOStep) int { return cmp.Compare(r.value(&a), r.value(&b)) })
	for i := range steps {
		plot.X = append(plot.X, r.value(&steps[i]))
		for n, y := range []float64{steps[i].QuantileUs, steps[i].P50Us, r.Params.LimitUs} {
			plot.Series[n].Y = append(plot.Series[n].Y, y)
		}
	}
	return plot
}

func (r *SLOResult) facts() []report.Fact {
	facts := append(r.Environment.facts(),
		report.Fact{Name: "load", Value: r.Params.Load.text()},
		report.Fact{Name: "what was sent", Value: r.Workload.Caption()},
		report.Fact{Name: "windows", Value: report.Micros(r.Params.WindowS * 1e6)})
	return append(facts, idleFact(r.IdlePing)...)
}
