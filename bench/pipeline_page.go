package bench

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/evenkeel-go/evenkeel/report"
)

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *PipelineResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *PipelineResult) Page() report.Page {
	p := report.Page{
		Title: "How deep to pipeline",
		Lead:  r.lead(),
		Facts: r.Environment.facts(),
	}
	for i := range r.Commands {
		c := &r.Commands[i]
		if at := c.point(c.KneeDepth); at != nil && len(p.Figures) < 6 {
			p.Figures = append(p.Figures, report.Figure{
				Label: c.Name + ", knee", Value: "depth " + report.Int(at.Depth),
				Note: fmt.Sprintf("%s/s, %s of the best; p50 %s", report.Short(at.Rate.Median), percent(at.Share.Median), report.Micros(at.P50Us)),
			})
		}
	}
	for i := range r.Commands {
		if c := &r.Commands[i]; len(c.Points) > 0 {
			p.Sections = append(p.Sections, r.section(c))
		}
	}
	if len(p.Sections) > 0 {
		p.Sections[0].Prose = append([]string{"A pipeline saves round trips and system calls, never the server's own work. Use it where no command needs an earlier one's reply, " +
			"and no deeper than the knee: beyond it replies only wait for each other."}, p.Sections[0].Prose...)
		p.Sections[0].Plots = append(r.plots(), p.Sections[0].Plots...)
	}
	return interrupted(p, r.Interrupted)
}

// percent is a share without decimals, as rounds are no more precise.
func percent(share float64) string { return report.Fixed(share*100, 0) + " %" }

func (r *PipelineResult) lead() string {
	var out []string
	measured := false
	for i := range r.Commands {
		c := &r.Commands[i]
		measured = measured || len(c.Points) > 0
		if text := c.advice(); text != "" {
			out = append(out, text)
		}
	}
	switch {
	case !measured:
		return "No round was completed, so there is nothing to say about depths."
	case len(out) == 0:
		return "Every depth was too short to say where the knee is: give a longer --slot."
	}
	return strings.Join(out, " ") + r.troubles()
}

// advice is what a command's numbers speak for; empty when there are none.
func (c *PipelineCommand) advice() string {
	knee, best := c.point(c.KneeDepth), c.point(c.BestDepth)
	if knee == nil || best == nil {
		return ""
	}
	var text string
	switch deepest := &c.Points[len(c.Points)-1]; {
	case len(c.Points) == 1:
		return fmt.Sprintf("%s at depth %s: %s per second, half of the replies within %s.", c.Name, report.Int(knee.Depth), report.Short(knee.Rate.Median), report.Micros(knee.P50Us))
	case knee.Depth == deepest.Depth:
		text = fmt.Sprintf("%s: no depth below %s reaches 90 %% of its %s per second, so the knee may lie deeper: sweep on.", c.Name, report.Int(knee.Depth), report.Short(knee.Rate.Median))
	case knee == best:
		text = fmt.Sprintf("%s: depth %s gets the best rate, %s per second%s.", c.Name, report.Int(knee.Depth), report.Short(best.Rate.Median), c.deeper(deepest))
	case c.deeper(deepest) != "":
		text = fmt.Sprintf("%s: depth %s gets %s of the best rate, %s per second at depth %s%s.",
			c.Name, report.Int(knee.Depth), knee.share(), report.Short(best.Rate.Median), report.Int(best.Depth), c.deeper(deepest))
	default:
		text = fmt.Sprintf("%s: depth %s gets %s of what depth %s does", c.Name, report.Int(knee.Depth), knee.share(), report.Int(best.Depth))
		if knee.P50Us > 0 && best.P50Us > knee.P50Us {
			text += fmt.Sprintf(", and its replies come %s sooner (%s instead of %s)", report.Times(best.P50Us/knee.P50Us), report.Micros(knee.P50Us), report.Micros(best.P50Us))
		}
		text += "."
	}
	if one := c.point(1); one != nil && one != knee && one.Rate != nil && one.Rate.Median > 0 {
		text += fmt.Sprintf(" That is %s the rate without pipelining.", report.Times(knee.Rate.Median/one.Rate.Median))
	}
	if b := c.bargain(knee); b != nil {
		text += fmt.Sprintf(" Depth %s gets %s, with replies %s sooner: the better bargain.", report.Int(b.Depth), b.share(), report.Times(knee.P50Us/b.P50Us))
	}
	if c.KneeLow < c.KneeHigh {
		text += fmt.Sprintf(" The rounds leave the knee open between %s and %s.", report.Int(c.KneeLow), report.Int(c.KneeHigh))
	}
	return text
}

// deeper says how much worse the deepest of all is, as far as the rounds tell; empty for
// not at all.
func (c *PipelineCommand) deeper(deepest *PipelinePoint) string {
	if deepest.Depth == c.BestDepth || deepest.Short || deepest.Share == nil || deepest.Share.High >= 1 {
		return ""
	}
	return fmt.Sprintf("; deeper is worse, %s gets %s", report.Int(deepest.Depth), percent(deepest.Share.Median))
}

// A depth is a bargain against the knee if it gets most of the best rate, and its replies
// come so many times sooner.
const (
	bargainShare = 0.8
	bargainTimes = 4
)

// bargain is the smallest depth that is one; nil for none.
func (c *PipelineCommand) bargain(knee *PipelinePoint) *PipelinePoint {
	for i := range c.Points {
		p := &c.Points[i]
		if p.Depth < knee.Depth && !p.Short && p.Share != nil && p.Share.Median >= bargainShare && p.P50Us > 0 && knee.P50Us >= bargainTimes*p.P50Us {
			return p
		}
	}
	return nil
}

// share says what part of the best rate a depth gets, with its interval.
func (p *PipelinePoint) share() string {
	e := p.Share
	if e.Low == e.High {
		return percent(e.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", percent(e.Median), percent(e.Low), percent(e.High))
}

// troubles says what the reader has to know about the numbers.
func (r *PipelineResult) troubles() string {
	var text string
	var failed int64
	errs := map[string]int64{}
	first, name := math.MaxInt, ""
	for i := range r.Commands {
		for n := range r.Commands[i].Points {
			p := &r.Commands[i].Points[n]
			failed += p.Failed
			for code, k := range p.Errors {
				errs[code] += k
			}
			if p.GeneratorBound && p.Depth < first {
				first, name = p.Depth, r.Commands[i].Name
			}
		}
	}
	if name != "" {
		text += fmt.Sprintf(" %s: from depth %s on (%s) the generator had no time left, so the server can do at least this much and its knee may lie deeper.",
			GeneratorBound, report.Int(first), name)
	}
	if failed > 0 {
		text += fmt.Sprintf(" %s failed (%s); they are in no rate and no time.", report.Plural(failed, "request", "requests"), sayCounts(errs))
	}
	return text
}

// plots draw the commands over the depths.
func (r *PipelineResult) plots() []report.Plot {
	depths := map[int]bool{}
	var x []float64
	for i := range r.Commands {
		for n := range r.Commands[i].Points {
			if d := r.Commands[i].Points[n].Depth; !depths[d] {
				depths[d] = true
				x = append(x, float64(d))
			}
		}
	}
	axis := report.Axis{Label: "requests in flight on a connection", LogBase: 2}
	rates := report.Plot{
		Title: "Replies per second", Caption: "Where the line turns flat, more depth buys nothing.",
		XAxis: axis, YAxis: report.Axis{Label: "replies", Unit: "1/s"}, X: x,
	}
	times := report.Plot{
		Title: "Time of a reply", Caption: "What is paid for it. The scale is logarithmic.",
		XAxis: axis, YAxis: report.Axis{Label: "time", Unit: "µs", LogBase: 10}, X: x,
	}
	cpu := report.Plot{
		Title: "The server's CPU time for a reply", Caption: "What a deeper pipeline saves the server: system calls.",
		XAxis: axis, YAxis: report.Axis{Label: "CPU time", Unit: "µs"}, X: x,
	}
	add := func(to *report.Plot, name string, c *PipelineCommand, value func(*PipelinePoint) float64) {
		s := report.Series{Name: name}
		for _, depth := range x {
			y := math.NaN()
			if p := c.point(int(depth)); p != nil {
				y = value(p)
			}
			s.Y = append(s.Y, y)
		}
		to.Series = append(to.Series, s)
	}
	for i := range r.Commands {
		c := &r.Commands[i]
		add(&rates, c.Name, c, func(p *PipelinePoint) float64 { return p.Rate.Median })
		add(&times, c.Name+" p50", c, func(p *PipelinePoint) float64 { return p.P50Us })
		add(&times, c.Name+" p99", c, func(p *PipelinePoint) float64 { return p.P99Us })
		add(&cpu, c.Name, c, func(p *PipelinePoint) float64 {
			if p.ServerPerOpUs == nil {
				return math.NaN()
			}
			return *p.ServerPerOpUs
		})
	}
	return []report.Plot{rates, times, cpu}
}

// portion formats a share of a CPU that may not be known, in %.
func portion(share *float64) string {
	if share == nil {
		return "–"
	}
	return report.Fixed(*share*100, 0)
}

func (r *PipelineResult) section(c *PipelineCommand) report.Section {
	way := "at once, then all of their replies"
	if r.Params.Sliding {
		way = "in flight, one more for each reply"
	}
	t := report.Table{
		Columns: []report.Column{
			{Name: "depth"},
			{Name: "rate", Unit: "1/s"},
			{Name: "of the best", Unit: "%"},
			{Name: "p50", Unit: "µs"},
			{Name: "p99", Unit: "µs"},
			{Name: "server CPU", Unit: "µs each"},
			{Name: "server", Unit: "% of a CPU"},
			{Name: "generator", Unit: "% of a CPU"},
			{Name: "", Text: true},
		},
		Caption: fmt.Sprintf("%s, depth requests on each %s; values of %s. Rates are medians over %s; of the best: its ratio in the same round, with its 95 %% interval. "+
			"The time of a reply is from the write of its request. Knee: the smallest depth with 90 %% of the best rate.",
			report.Plural(r.Params.Conns, "connection", "connections"), way, report.Bytes(int64(r.Params.ValueSize)), report.Plural(r.Params.Rounds, "round", "rounds")),
	}
	for i := range c.Points {
		p := &c.Points[i]
		share := "–"
		if p.Share != nil {
			share = interval(&Estimate{Median: p.Share.Median * 100, Low: p.Share.Low * 100, High: p.Share.High * 100}, 0)
		}
		t.Rows = append(t.Rows, []string{
			report.Int(p.Depth), report.Fixed(p.Rate.Median, 0), share, report.Fixed(p.P50Us, 0), report.Fixed(p.P99Us, 0),
			precise(p.ServerPerOpUs), portion(p.ServerCPUShare), portion(p.WorkerCPUShare), c.note(p),
		})
	}
	s := report.Section{Heading: c.Name, Tables: []report.Table{t}}
	if c.Name != c.Command {
		s.Prose = []string{c.Command}
	}
	return s
}

// precise formats a CPU time that may be far below a µs.
func precise(us *float64) string {
	if us == nil {
		return "–"
	}
	return report.Fixed(*us, 2)
}

// note is what a table says beside a point.
func (c *PipelineCommand) note(p *PipelinePoint) string {
	var notes []string
	if p.Short {
		notes = append(notes, "too short to count")
	}
	if p.Depth == c.KneeDepth {
		notes = append(notes, "knee")
	}
	if p.Depth == c.BestDepth {
		notes = append(notes, "best")
	}
	if p.GeneratorBound {
		notes = append(notes, "generator-bound")
	}
	if p.Failed > 0 {
		notes = append(notes, report.Int(p.Failed)+" failed")
	}
	if p.Unanswered > 0 {
		notes = append(notes, report.Int(p.Unanswered)+" unanswered")
	}
	return strings.Join(notes, ", ")
}
