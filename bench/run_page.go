package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/report"
)

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *RunResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *RunResult) Page() report.Page {
	p := report.Page{Title: "Run: " + r.Workload.Caption(), Lead: r.lead(), Figures: r.figures(), Facts: r.facts()}
	p.Sections = append(p.Sections, r.requestsSection())
	if len(r.Errors)+len(r.ConnFailures) > 0 {
		p.Sections = append(p.Sections, r.errorsSection())
	}
	if r.Total.Times().Count > 0 {
		p.Sections = append(p.Sections, r.percentilesSection())
	}
	if len(r.Seconds) > 1 {
		p.Sections = append(p.Sections, r.timeSection())
	}
	if len(r.Nodes) > 0 {
		p.Sections = append(p.Sections, r.nodesSection())
	}
	if len(r.Agents) > 0 {
		p.Sections = append(p.Sections, r.agentsSection())
	}
	if r.Client != nil {
		p.Sections = append(p.Sections, r.clientSection())
	}
	p.Sections = append(p.Sections, r.verdictSection())
	if r.Server != nil {
		p.Sections = append(p.Sections, r.serverSection())
	}
	return interrupted(p, r.Interrupted)
}

// GeneratorBound is what stands beside figures that the generator has set.
const GeneratorBound = "GENERATOR-BOUND"

func (r *RunResult) lead() string {
	t := r.Total.Times()
	if t.Count == 0 {
		return "No request was answered without an error. " + r.troubles()
	}
	over := report.Plural(r.Params.Conns, "connection", "connections")
	if r.Params.Callers > 0 {
		over = "a client with " + over + " and " + report.Plural(r.Params.Callers, "caller", "callers")
	}
	text := fmt.Sprintf("%s requests per second over %s for %s", report.Short(r.OKPerS), over, report.Micros(r.ElapsedS*1e6))
	if r.Loop == LoopOpen {
		text += fmt.Sprintf(", of the %s asked for", report.Short(r.Params.RatePerS))
	}
	text += fmt.Sprintf(": half of them took at most %s, 99 %% at most %s", report.Micros(t.P50Us), report.Micros(t.P99Us))
	if t.P99Interval != nil {
		text += fmt.Sprintf(" (%s to %s with 95 %% confidence)", report.Micros(t.P99Interval[0]), report.Micros(t.P99Interval[1]))
	}
	text += fmt.Sprintf(", the slowest %s.", report.Micros(t.MaxUs))
	if troubles := r.troubles(); troubles != "" {
		text += " " + troubles
	}
	if r.Verdict.GeneratorBound {
		text += " " + GeneratorBound + ": " + r.boundText()
	}
	return text
}

// boundText says what a figure means that the generator has set.
func (r *RunResult) boundText() string {
	if r.Loop == LoopOpen {
		return "the generator did not keep to its schedule (" + r.Verdict.Reason + "), so the times contain its own lateness: they are upper bounds of the server's."
	}
	return "the generator had no time left (" + r.Verdict.Reason + "), so the server can do at least this much, and its times are at most these."
}

// troubles says what went wrong; empty for nothing.
func (r *RunResult) troubles() string {
	var out []string
	if r.Fault != "" {
		out = append(out, "The run ended before its time: "+r.Fault+".")
	}
	if r.Failed > 0 {
		out = append(out, fmt.Sprintf("%s of the requests failed (%s); they are in no time shown.", report.Percent(r.FailedShare()), r.Failures()))
	}
	if lost := r.LostAgents(); len(lost) > 0 {
		out = append(out, report.Plural(len(lost), "agent was", "agents were")+" lost ("+report.List(lost)+"): their shares are in no figure.")
	}
	if n := r.Errors["MOVED"] + r.Errors["ASK"]; n > 0 {
		out = append(out, report.Plural(n, "request", "requests")+" went to a node that no longer had their slot: the cluster has moved slots meanwhile.")
	}
	if r.Unanswered > 0 {
		out = append(out, fmt.Sprintf("%s had no answer when the run ended, the oldest for %s.", report.Plural(r.Unanswered, "request", "requests"), report.Micros(r.OldestUnansweredUs)))
	}
	// At any moment a few are due that nobody has had the time to send.
	if r.Backlog*100 > r.Scheduled {
		out = append(out, fmt.Sprintf("%s of %s were due and never sent: the rate is more than the server takes.", report.Int(r.Backlog), report.Plural(r.Scheduled, "request", "requests")))
	}
	return strings.Join(out, " ")
}

func (r *RunResult) figures() []report.Figure {
	t := r.Total.Times()
	throughput := report.Figure{Label: "requests answered", Value: report.Short(r.OKPerS) + "/s", Note: string(r.Loop) + " loop"}
	if r.Verdict.GeneratorBound {
		throughput.Note = "at least: " + GeneratorBound
	}
	out := []report.Figure{throughput}
	if t.Count > 0 {
		out = append(out,
			report.Figure{Label: "p50", Value: report.Micros(t.P50Us), Note: r.clock()},
			report.Figure{Label: "p99", Value: report.Micros(t.P99Us), Note: r.clock()})
	}
	return append(out, report.Figure{Label: "failed", Value: report.Int(r.Failed), Note: report.Percent(r.FailedShare()) + " of the requests"})
}

// clock names what the times count from.
func (r *RunResult) clock() string {
	if r.Loop == LoopOpen {
		return "from the intended start"
	}
	return r.serviceClock()
}

// serviceClock names what service times count from.
func (r *RunResult) serviceClock() string {
	if r.Params.Callers > 0 {
		return "from the call"
	}
	return "from the write"
}

func (r *RunResult) requestsSection() report.Section {
	s := report.Section{Heading: "Requests"}
	rows := slices.Clone(r.Classes)
	if len(rows) != 1 {
		rows = append(rows, r.Total)
	}
	counts := report.Table{Columns: []report.Column{
		{Name: "command", Text: true}, {Name: "answered", Unit: "1/s"}, {Name: "answered"}, {Name: "failed"}, {Name: "hits", Unit: "%"}, {Name: "sent", Unit: "MB/s"}, {Name: "received", Unit: "MB/s"},
	}}
	for i := range rows {
		c := &rows[i]
		hits := "–"
		if n := c.Hits + c.Misses; n > 0 {
			hits = report.Fixed(100*float64(c.Hits)/float64(n), 2)
		}
		perS := func(bytes int64) string { return report.Fixed(float64(bytes)/1e6/max(r.ElapsedS, 1e-9), 2) }
		counts.Rows = append(counts.Rows, []string{c.Name, report.Fixed(c.OKPerS, 0), report.Int(c.OK), report.Int(c.Failed), hits, perS(c.BytesOut), perS(c.BytesIn)})
	}
	s.Tables = append(s.Tables, counts)
	if r.Loop == LoopOpen {
		leavesOut := "from when it was written, which leaves out the wait for a connection with room."
		if r.Params.Callers > 0 {
			leavesOut = "from the call, which leaves out the wait for a caller to come free."
		}
		s.Prose = append(s.Prose, "In this open loop requests were due at a rate of their own. The response time counts from when a request was due, as a user's waiting does; "+
			"the service time "+leavesOut)
		s.Tables = append(s.Tables,
			timesTable("Response time", rows, func(c *RunClass) *RunTimes { return c.Response }),
			timesTable("Service time", rows, func(c *RunClass) *RunTimes { return c.Service }))
		return s
	}
	s.Prose = append(s.Prose, fmt.Sprintf("This closed loop sent a request only when an earlier one was answered. While the server stalled, at most %s waited, and the requests that users "+
		"would have made meanwhile were never sent: such a stall weighs less here than it would for them. Give a rate (--rate) to see it.",
		report.Plural(r.mostWaiting(), "request", "requests")))
	s.Tables = append(s.Tables, timesTable("Service time", rows, func(c *RunClass) *RunTimes { return c.Service }))
	return s
}

// mostWaiting is how many requests a closed loop has under way at most.
func (r *RunResult) mostWaiting() int {
	if r.Params.Callers > 0 {
		return r.Params.Callers
	}
	return r.Params.Conns * r.Params.Depth
}

// timesTable has a row of quantiles for each class.
func timesTable(title string, rows []RunClass, of func(*RunClass) *RunTimes) report.Table {
	t := report.Table{Title: title, Columns: []report.Column{
		{Name: "command", Text: true},
		{Name: "mean", Unit: "µs"},
		{Name: "min", Unit: "µs"},
		{Name: "p50", Unit: "µs"},
		{Name: "p90", Unit: "µs"},
		{Name: "p95", Unit: "µs"},
		{Name: "p99", Unit: "µs"},
		{Name: "p99.9", Unit: "µs"},
		{Name: "max", Unit: "µs"},
	}}
	few := false
	for i := range rows {
		cells := []string{rows[i].Name}
		v := of(&rows[i])
		if v.Count == 0 {
			t.Rows = append(t.Rows, append(cells, "–", "–", "–", "–", "–", "–", "–", "–"))
			continue
		}
		p999 := "–"
		if v.P999Us != nil {
			p999 = report.Fixed(*v.P999Us, 1)
		} else {
			few = true
		}
		for _, us := range []float64{v.MeanUs, v.MinUs, v.P50Us, v.P90Us, v.P95Us, v.P99Us} {
			cells = append(cells, report.Fixed(us, 1))
		}
		t.Rows = append(t.Rows, append(cells, p999, report.Fixed(v.MaxUs, 1)))
	}
	if few {
		t.Caption = fmt.Sprintf("–: fewer than %s replies say nothing of their slowest thousandth.", report.Int(p999Samples))
	}
	return t
}

func (r *RunResult) errorsSection() report.Section {
	s := report.Section{Heading: "What failed"}
	add := func(title string, counts map[string]int64) {
		if len(counts) == 0 {
			return
		}
		t := report.Table{Title: title, Columns: []report.Column{{Name: "what", Text: true}, {Name: "times"}}}
		for _, name := range byCount(counts) {
			t.Rows = append(t.Rows, []string{name, report.Int(counts[name])})
		}
		s.Tables = append(s.Tables, t)
	}
	add("Requests", r.Errors)
	add("Connections", r.ConnFailures)
	return s
}

// shownPercentiles are those of the percentile table and curve.
var shownPercentiles = []float64{0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999, 100}

func (r *RunResult) percentilesSection() report.Section {
	t := report.Table{
		Columns: []report.Column{{Name: "of the requests", Unit: "%"}, {Name: "took at most", Unit: "µs"}},
		Caption: "Rows that fewer than ten requests stand behind are left out, but for the last.",
	}
	plot := report.Plot{
		Title: "How slow the slowest are", Caption: "To the right of 100: one request in a hundred or fewer. Both scales are logarithmic.",
		XAxis: report.Axis{Label: "one request in", LogBase: 10}, YAxis: report.Axis{Label: "took longer than", Unit: "µs", LogBase: 10},
	}
	clocks := []struct {
		name string
		h    *hist.Histogram
	}{{r.serviceClock(), r.Total.Service.Histogram}}
	if r.Total.Response != nil {
		t.Columns[1].Name = "response at most"
		t.Columns = append(t.Columns, report.Column{Name: "service at most", Unit: "µs"})
		clocks = append([]struct {
			name string
			h    *hist.Histogram
		}{{"from the intended start", r.Total.Response.Histogram}}, clocks...)
	}
	count := clocks[0].h.Count()
	for _, p := range shownPercentiles {
		if beyond := float64(count) * (1 - p/100); beyond < 10 && p != 100 {
			continue
		}
		row := []string{report.Fixed(p, 3)}
		for _, c := range clocks {
			row = append(row, report.Fixed(micros(c.h.Quantile(p/100)), 1))
		}
		t.Rows = append(t.Rows, row)
	}
	for _, c := range clocks {
		plot.Series = append(plot.Series, report.Series{Name: c.name})
	}
	// Ten points for each power of ten.
	for one := 1.0; one <= float64(count)/10; one *= 1.2589254117941673 {
		plot.X = append(plot.X, one)
		for i, c := range clocks {
			plot.Series[i].Y = append(plot.Series[i].Y, micros(c.h.Quantile(1-1/one)))
		}
	}
	return report.Section{Heading: "Percentiles", Plots: []report.Plot{plot}, Tables: []report.Table{t}}
}

// shownSeconds bounds the rows of the time series in text.
const shownSeconds = 30

func (r *RunResult) timeSection() report.Section {
	throughput := report.Plot{
		Title: "Throughput", XAxis: report.Axis{Label: "time", Unit: "s"}, YAxis: report.Axis{Label: "requests", Unit: "1/s"},
		Series: []report.Series{{Name: "answered", Step: true}, {Name: "failed", Step: true}},
	}
	times := report.Plot{
		Title: "Times, " + r.clock(), Caption: "The scale is logarithmic.", XAxis: throughput.XAxis, YAxis: report.Axis{Label: "time", Unit: "µs", LogBase: 10},
		Series: []report.Series{{Name: "p50", Step: true}, {Name: "p99", Step: true}, {Name: "max", Step: true}},
	}
	t := report.Table{Columns: []report.Column{
		{Name: "until", Unit: "s"},
		{Name: "answered", Unit: "1/s"},
		{Name: "failed", Unit: "1/s"},
		{Name: "open"},
		{Name: "overdue"},
		{Name: "p50", Unit: "µs"},
		{Name: "p99", Unit: "µs"},
		{Name: "max", Unit: "µs"},
	}}
	every := (len(r.Seconds) + shownSeconds - 1) / shownSeconds
	if every > 1 {
		t.Caption = fmt.Sprintf("Every %s of %s points; the plots and the JSON document have all.", ordinal(every), report.Int(len(r.Seconds)))
	}
	for i, s := range r.Seconds {
		length := max(s.LengthS, 1e-9)
		throughput.X = append(throughput.X, s.T)
		throughput.Series[0].Y = append(throughput.Series[0].Y, float64(s.OK)/length)
		throughput.Series[1].Y = append(throughput.Series[1].Y, float64(s.Failed)/length)
		for n, us := range []float64{s.P50Us, s.P99Us, s.MaxUs} {
			times.Series[n].Y = append(times.Series[n].Y, us)
		}
		if (i+1)%every == 0 {
			t.Rows = append(t.Rows, []string{
				report.Fixed(s.T, 1), report.Fixed(float64(s.OK)/length, 0), report.Fixed(float64(s.Failed)/length, 0), report.Int(s.Conns), report.Int(s.Backlog),
				report.Fixed(s.P50Us, 1), report.Fixed(s.P99Us, 1), report.Fixed(s.MaxUs, 1),
			})
		}
	}
	times.X = throughput.X
	return report.Section{Heading: "Over time", Plots: []report.Plot{throughput, times}, HeatMaps: r.heatMaps(), Tables: []report.Table{t}}
}

// ordinal is 2nd, 3rd, 4th …
func ordinal(n int) string {
	suffix := "th"
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return report.Int(n) + suffix
}

func (r *RunResult) verdictSection() report.Section {
	text := "The generator was not the limit: " + r.Verdict.Reason + "."
	if r.Verdict.GeneratorBound {
		text = GeneratorBound + ": " + r.boundText()
	}
	s := report.Section{Heading: "The generator", Prose: []string{text}}
	t := report.Table{Columns: []report.Column{
		{Name: "worker"}, {Name: "requests"}, {Name: "user", Unit: "s"}, {Name: "system", Unit: "s"}, {Name: "of a CPU", Unit: "%"}, {Name: "each", Unit: "µs"},
	}}
	for i, w := range r.Verdict.Workers {
		each := "–"
		if cpu := w.CPUUserS + w.CPUSystemS; cpu > 0 && w.Requests > 0 {
			each = report.Fixed(cpu*1e6/float64(w.Requests), 2)
		}
		t.Rows = append(t.Rows, []string{
			report.Int(i + 1), report.Int(w.Requests), report.Fixed(w.CPUUserS, 2), report.Fixed(w.CPUSystemS, 2), report.Fixed(w.CPUShare*100, 1), each,
		})
	}
	t.Caption = fmt.Sprintf("The garbage collector ran %s and paused this process for %s in all.",
		report.Plural(r.Verdict.Collections, "time", "times"), report.Micros(r.Verdict.PauseUs))
	s.Tables = append(s.Tables, t)
	if r.Busy != nil && r.Late != nil {
		lag := report.Table{
			Title: "From due to written",
			Columns: []report.Column{
				{Name: "because", Text: true}, {Name: "mean", Unit: "µs"}, {Name: "p50", Unit: "µs"}, {Name: "p99", Unit: "µs"}, {Name: "max", Unit: "µs"},
			},
		}
		for _, row := range []struct {
			name string
			t    *RunTimes
		}{{r.busyText(), r.Busy}, {"the generator was late", r.Late}} {
			lag.Rows = append(lag.Rows, []string{row.name, report.Fixed(row.t.MeanUs, 1), report.Fixed(row.t.P50Us, 1), report.Fixed(row.t.P99Us, 1), report.Fixed(row.t.MaxUs, 1)})
		}
		s.Tables = append(s.Tables, lag)
	}
	return s
}

// busyText says what a request waited for that was due, and had nobody to send it.
func (r *RunResult) busyText() string {
	if r.Params.Callers > 0 {
		return "all callers were waiting"
	}
	return "no connection had room"
}

func (r *RunResult) serverSection() report.Section {
	v := r.Server
	t := report.Table{Columns: []report.Column{{Name: "what the server counted", Text: true}, {Name: "from warm-up to end"}}}
	add := func(name, value string) { t.Rows = append(t.Rows, []string{name, value}) }
	if v.CPUS != nil {
		add("CPU time", report.Micros(*v.CPUS*1e6)+" ("+report.Percent(*v.CPUShare)+" of one)")
	}
	add("commands", report.Int(v.Commands))
	add("connections accepted", report.Int(v.Connections))
	add("connections rejected", report.Int(v.Rejected))
	add("keys evicted", report.Int(v.Evicted))
	add("keys expired", report.Int(v.Expired))
	add("memory used at the end", report.Bytes(v.UsedBytes))
	return report.Section{Heading: "The server", Tables: []report.Table{t}}
}

// text says how the load was made.
func (p RunParams) text() string {
	load := fmt.Sprintf("%s, %s, depth %d, seed %d", report.Plural(p.Conns, "connection", "connections"), report.Plural(p.Workers, "thread", "threads"), p.Depth, p.Seed)
	if p.Callers > 0 {
		load = fmt.Sprintf("%s of %s, %s lane, seed %d", report.Plural(p.Callers, "caller", "callers"), report.Plural(p.Conns, "connection", "connections"), p.Lane, p.Seed)
	}
	if p.Cluster {
		load += ", over a cluster"
	}
	if p.Engine != "" {
		load += ", engine " + p.Engine
	}
	if p.ReconnectEvery > 0 {
		load += ", a new connection after each " + report.Plural(p.ReconnectEvery, "request", "requests")
	}
	if p.RatePerS > 0 {
		arrivals := "constant"
		if p.Poisson {
			arrivals = "Poisson"
		}
		load += fmt.Sprintf(", %s/s with %s arrivals", report.Short(p.RatePerS), arrivals)
	}
	return load
}

// idleFact is the time of a PING before the load; none when there was none.
func idleFact(t *RunTimes) []report.Fact {
	if t == nil {
		return nil
	}
	return []report.Fact{{Name: "idle PING", Value: fmt.Sprintf("p50 %s, p99 %s", report.Micros(t.P50Us), report.Micros(t.P99Us))}}
}

func (r *RunResult) facts() []report.Fact {
	facts := append(r.Environment.facts(), report.Fact{Name: "load", Value: r.Params.text()})
	facts = append(facts, idleFact(r.IdlePing)...)
	if l := r.Preload; l != nil {
		facts = append(facts, report.Fact{Name: "preload", Value: fmt.Sprintf("%s in %s", report.Plural(l.Keys, "key", "keys"), report.Duration(time.Duration(l.TookS*float64(time.Second))))})
	}
	if r.Workload.Source != "" {
		facts = append(facts, report.Fact{Name: "workload", Value: r.Workload.Source})
	}
	return facts
}
