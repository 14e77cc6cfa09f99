package bench

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/evenkeel-go/evenkeel/report"
)

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *ChurnResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *ChurnResult) Page() report.Page {
	p := report.Page{
		Title:    "What the pool does to the server under load",
		Lead:     r.lead(),
		Figures:  r.figures(),
		Sections: r.sections(),
		Facts:    r.Environment.facts(),
	}
	if r.Environment.ServerKind == ServerEmbedded {
		dropTimes(&p)
	}
	return interrupted(p, r.Interrupted)
}

// dropTimes takes the columns that hold times off a page whose server shares
// this process, so that only counts are left.
func dropTimes(p *report.Page) {
	for i := range p.Sections {
		for j := range p.Sections[i].Tables {
			t := &p.Sections[i].Tables[j]
			for c, column := range slices.Backward(t.Columns) {
				if column.Unit != "µs" {
					continue
				}
				t.Columns = slices.Delete(t.Columns, c, c+1)
				for k := range t.Rows {
					t.Rows[k] = slices.Delete(t.Rows[k], c, c+1)
				}
			}
		}
	}
}

// interrupted says on the page that the run was cut short.
func interrupted(p report.Page, yes bool) report.Page {
	if yes {
		p.Lead = "The run was interrupted; these are the results up to then. " + p.Lead
	}
	return p
}

func (r *ChurnResult) lead() string {
	load := fmt.Sprintf("%s ping every %s through a pool of %d.",
		report.Plural(r.Params.Parallel, "caller", "callers"), report.Micros(r.Params.IntervalUs), r.Params.Size)
	before, after := r.mode(ChurnCloseSurplus), r.mode(ChurnOverflow)
	if before == nil || after == nil {
		return load
	}
	return load + " " + compareChurn(before.Summary.NewPerSAfter2s, after.Summary.NewPerSAfter2s)
}

// tooShort is said of a run that tells nothing about what happens once the pool is filled.
const tooShort = "The load was too short to say what happens once the pool is filled: give it 3 s or more (--duration)."

// compareChurn says how overflow's rate of new connections stands to that of
// closing the surplus.
func compareChurn(closing, keeping *float64) string {
	if closing == nil || keeping == nil {
		return tooShort
	}
	before, after := *closing, *keeping
	rates := fmt.Sprintf("Once the pool was filled, closing the surplus opened %s new connections per second, keeping it as overflow %s",
		report.Short(before), report.Short(after))
	switch {
	case before == 0 && after == 0:
		return rates + ": this load does not outgrow the pool, so there is no churn to cure."
	case after == 0:
		return rates + ": the churn is gone."
	case after < before:
		return rates + ": " + report.Percent(after/before) + " of it."
	default:
		return rates + ": here overflow does not help."
	}
}

func (r *ChurnResult) figures() []report.Figure {
	var out []report.Figure
	for _, m := range r.Modes {
		out = append(out, report.Figure{
			Label: string(m.Mode) + ": new connections",
			Value: perS(m.Summary.NewPerSAfter2s) + "/s",
			Note:  fmt.Sprintf("after 2 s; at most %s open", report.Int(m.Summary.OpenMaxServer)),
		})
	}
	return out
}

func (r *ChurnResult) sections() []report.Section {
	if len(r.Modes) == 0 {
		return nil
	}
	var out []report.Section
	for i := range r.Modes {
		out = append(out, modeSection(&r.Modes[i]))
	}
	out = append(out, r.summarySection())
	for i := range r.Modes {
		if m := &r.Modes[i]; len(m.Drain) > 0 {
			out = append(out, drainSection(m, min(r.Params.OverflowDrainS, r.Params.DrainWatchS)))
		}
	}
	return out
}

func (r *ChurnResult) summarySection() report.Section {
	s := report.Section{
		Heading: "The modes compared",
		Plots:   r.plots(),
		Tables: []report.Table{{
			Columns: []report.Column{
				{Name: "mode", Text: true},
				{Name: "pings", Unit: "1/s"},
				{Name: "new", Unit: "total"},
				{Name: "new after 2 s", Unit: "1/s"},
				{Name: "open max", Unit: "client"},
				{Name: "open max", Unit: "server"},
				{Name: "p50", Unit: "µs"},
				{Name: "p99", Unit: "µs"},
				{Name: "errors"},
			},
			Caption: "New and open connections as the server counts them unless the column says client; a ping's time includes its wait for a connection.",
		}},
	}
	for _, m := range r.Modes {
		sum := m.Summary
		late := "–"
		if sum.NewPerSAfter2s != nil {
			late = report.Fixed(*sum.NewPerSAfter2s, 1)
		}
		s.Tables[0].Rows = append(s.Tables[0].Rows, []string{
			string(m.Mode), report.Fixed(sum.PingsPerS, 0), report.Int(sum.NewTotal), late,
			report.Int(sum.OpenMax), report.Int(sum.OpenMaxServer), report.Fixed(sum.P50Us, 0), report.Fixed(sum.P99Us, 0), report.Int(sum.Errors),
		})
	}
	for i := range r.Modes {
		s.Prose = append(s.Prose, r.meaning(&r.Modes[i]))
	}
	return s
}

// opened says how many connections the load took, by its rate where there is one.
func (s *ChurnSummary) opened() string {
	if s.NewPerSAfter2s == nil {
		return report.Int(s.NewTotal) + " in all"
	}
	return report.Short(*s.NewPerSAfter2s) + " new ones per second after the first two seconds"
}

// meaning says in words what a mode's numbers say.
func (r *ChurnResult) meaning(m *ChurnModeResult) string {
	sum := m.Summary
	var text string
	switch m.Mode {
	case ChurnCloseSurplus:
		text = fmt.Sprintf("close-surplus opens a connection when none is idle and closes it when %d are: it opened %s.",
			r.Params.Size, sum.opened())
		if rate := sum.NewPerSAfter2s; rate != nil && *rate >= 1 {
			text += timeWait(*rate)
		}
	case ChurnOverflow:
		text = fmt.Sprintf("overflow keeps up to %s connections above %d and lets them go over %s: the server saw at most %s open, and accepted %s.",
			report.Int(r.Params.Overflow), r.Params.Size, report.Micros(r.Params.OverflowDrainS*1e6), report.Int(sum.OpenMaxServer), sum.opened())
	case ChurnLimited:
		text = fmt.Sprintf("limited opens %d at once beyond %d, then one per %s: after %s at most %s may be open, and %s were.",
			r.Params.CreateBurst, r.Params.Size, report.Micros(r.Params.CreateIntervalMs*1000), report.Micros(m.length()*1e6),
			report.Int(r.limit(m.length())), report.Int(sum.OpenMaxServer))
	case ChurnShared:
		text = fmt.Sprintf("shared pipelines all callers on %s.", report.Plural(sum.OpenMax, "connection", "connections"))
	default:
		text = string(m.Mode) + "."
	}
	if base := r.mode(ChurnCloseSurplus); base != nil && m != base && base.Summary.PingsPerS > 0 && r.Environment.ServerKind != ServerEmbedded {
		text += fmt.Sprintf(" It answered %s the pings of close-surplus, the median ping in %s instead of %s.",
			report.Times(sum.PingsPerS/base.Summary.PingsPerS), report.Micros(sum.P50Us), report.Micros(base.Summary.P50Us))
	}
	if sum.Errors > 0 {
		text += fmt.Sprintf(" %s failed.", report.Plural(sum.Errors, "ping", "pings"))
	}
	return text
}

// linuxPorts is how many local ports Linux has for conns to one server, unless told
// otherwise (32768 to 60999).
const linuxPorts = 28_232

// timeWait says what closing so many conns per second does to the client's ports.
func timeWait(perS float64) string {
	waiting := int(perS * 60)
	text := fmt.Sprintf(" Each closed one leaves a port in TIME_WAIT, on Linux for a minute: at this rate %s ports", report.Int(waiting))
	if waiting > linuxPorts {
		return text + fmt.Sprintf(", where a client has %s for one server; across a network it would run out of them.", report.Int(linuxPorts))
	}
	return text + " at a time."
}

// limit is how many connections the mode limited may hold after t seconds.
func (r *ChurnResult) limit(t float64) int {
	most := r.Params.Size + r.Params.Overflow
	if r.Params.CreateIntervalMs <= 0 {
		return most
	}
	return min(most, r.Params.Size+r.Params.CreateBurst+int(t*1000/r.Params.CreateIntervalMs))
}

// length is how long the load ran, in seconds.
func (m *ChurnModeResult) length() float64 {
	if len(m.Seconds) == 0 {
		return 0
	}
	return m.Seconds[len(m.Seconds)-1].T
}

func (r *ChurnResult) plots() []report.Plot {
	time := report.Axis{Label: "time since the load began", Unit: "s"}
	x, at := r.timeAxis()
	draw := func(get func(ChurnSecond) float64) []report.Series {
		var out []report.Series
		for _, m := range r.Modes {
			s := report.Series{Name: string(m.Mode), Y: slices.Repeat([]float64{math.NaN()}, len(x))}
			for _, sec := range m.Seconds {
				s.Y[at[roundSecond(sec.T)]] = get(sec)
			}
			out = append(out, s)
		}
		return out
	}
	return []report.Plot{
		{
			Title:   "New connections in each second",
			Caption: "Each one is a connection that the server had to accept, set up and later clean away. The scale is logarithmic; seconds without a new connection are left out.",
			XAxis:   time, YAxis: report.Axis{Label: "new connections", Unit: "1/s", LogBase: 10}, X: x,
			Series: draw(func(s ChurnSecond) float64 { return float64(s.New) }),
		},
		{
			Title:   "Open connections",
			Caption: "What the client holds at the end of each second.",
			XAxis:   time, YAxis: report.Axis{Label: "open connections"}, X: x,
			Series: draw(func(s ChurnSecond) float64 { return float64(s.Open) }),
		},
		{
			Title:   "Pings answered in each second",
			Caption: "Higher is better.",
			XAxis:   time, YAxis: report.Axis{Label: "pings", Unit: "1/s"}, X: x,
			Series: draw(func(s ChurnSecond) float64 { return float64(s.Pings) }),
		},
	}
}

// timeAxis merges the modes' seconds, which timers set a little apart, into one
// axis, and says where on it each second stands.
func (r *ChurnResult) timeAxis() (x []float64, at map[float64]int) {
	at = map[float64]int{}
	for _, m := range r.Modes {
		for _, s := range m.Seconds {
			at[roundSecond(s.T)] = 0
		}
	}
	for t := range at {
		x = append(x, t)
	}
	slices.Sort(x)
	for i, t := range x {
		at[t] = i
	}
	return x, at
}

func roundSecond(t float64) float64 { return math.Round(t*2) / 2 }

func modeSection(m *ChurnModeResult) report.Section {
	t := report.Table{
		Columns: []report.Column{
			{Name: "time", Unit: "s"},
			{Name: "open"},
			{Name: "new"},
			{Name: "available"},
			{Name: "pings"},
			{Name: "mean", Unit: "µs"},
		},
	}
	for _, s := range m.Seconds {
		t.Rows = append(t.Rows, []string{
			report.Fixed(s.T, 0), report.Int(s.Open), report.Int(s.New), report.Int(s.Available), report.Int(s.Pings), report.Fixed(s.MeanUs, 0),
		})
	}
	return report.Section{Heading: "Mode " + string(m.Mode), Detail: true, Tables: []report.Table{t}}
}

// drainSection shows the drain, which takes drain seconds.
func drainSection(m *ChurnModeResult, drain float64) report.Section {
	p := report.Plot{
		Title:   "Open connections after a burst",
		Caption: "The dashed line is the curve that the drain should follow; the other is what the server counts.",
		XAxis:   report.Axis{Label: "time since the burst ended", Unit: "s"},
		YAxis:   report.Axis{Label: "open connections"},
		Series:  []report.Series{{Name: "open"}, {Name: "expected", Dashed: true}},
	}
	t := report.Table{
		Columns: []report.Column{{Name: "time", Unit: "s"}, {Name: "open"}, {Name: "expected"}},
	}
	worst := 0.0
	for _, d := range m.Drain {
		p.X = append(p.X, d.T)
		p.Series[0].Y = append(p.Series[0].Y, float64(d.Open))
		p.Series[1].Y = append(p.Series[1].Y, d.Expected)
		t.Rows = append(t.Rows, []string{report.Fixed(d.T, 1), report.Int(d.Open), report.Fixed(d.Expected, 1)})
		worst = max(worst, math.Abs(float64(d.Open)-d.Expected))
	}
	first, last := m.Drain[0], m.Drain[len(m.Drain)-1]
	return report.Section{
		Heading: "The drain of mode " + string(m.Mode),
		Plots:   []report.Plot{p},
		Tables:  []report.Table{t},
		Prose: []string{fmt.Sprintf("The burst was made once more, with a drain of %s. When it ended, the server's count went from %s to %s in %s, at most %s connections away from the drain's curve.",
			report.Micros(drain*1e6), report.Int(first.Open), report.Int(last.Open), report.Micros((last.T-first.T)*1e6), report.Short(worst))},
	}
}
