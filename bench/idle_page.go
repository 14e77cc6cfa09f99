package bench

import (
	"fmt"
	"io"

	"github.com/evenkeel-go/evenkeel/report"
)

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *IdleResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *IdleResult) Page() report.Page {
	p := report.Page{
		Title:   "What idle connections cost",
		Lead:    r.lead(),
		Figures: r.figures(),
		Facts:   r.Environment.facts(),
	}
	if len(r.Steps) > 0 {
		p.Sections = append(p.Sections, r.openingSection())
	}
	if r.PerConn != nil && r.With != nil && r.Without != nil {
		p.Sections = append(p.Sections, r.restSection())
	}
	return interrupted(p, r.Interrupted)
}

func (r *IdleResult) lead() string {
	if r.Opened == 0 {
		return "No connection was opened, so there is nothing to say about them."
	}
	text := fmt.Sprintf("%s were opened in %s, %s per second.", report.Plural(r.Opened, "connection", "connections"),
		report.Micros(r.OpenS*1e6), report.Short(r.OpenPerS))
	if r.Refused > 0 {
		text += fmt.Sprintf(" The server turned %s away: it is full (maxclients).", report.Int(r.Refused))
	}
	if r.Failed > 0 {
		text += fmt.Sprintf(" %s failed, the first with: %s.", report.Int(r.Failed), r.FirstError)
	}
	if r.PerConn == nil || r.With == nil || r.Without == nil {
		return text
	}
	if used, grown := r.counted(), r.PerConn.RSSBytes; grown > 0 {
		text += fmt.Sprintf(" At rest each takes %s of the server by its own count, and its process grew by %s for each.",
			report.Bytes(int64(used)), report.Bytes(int64(grown)))
	} else {
		text += fmt.Sprintf(" At rest each takes %s of the server by its own count, for which its process did not have to grow.", report.Bytes(int64(used)))
	}
	return text + " " + r.advice()
}

// counted is the server's own count of a conn's memory, in bytes.
func (r *IdleResult) counted() float64 {
	switch p := r.PerConn; {
	case p.ListBytes != nil:
		return float64(*p.ListBytes)
	case p.ClientsBytes != nil:
		return *p.ClientsBytes
	default:
		return p.UsedBytes
	}
}

// advice weighs what conns at rest cost against what opening them does.
func (r *IdleResult) advice() string {
	var text string
	if with, without := r.With.CPUShare, r.Without.CPUShare; with != nil && without != nil {
		text = fmt.Sprintf("All of them together took %s of a CPU (%s without them), and a PING beside them %s (%s without). ",
			report.Percent(*with), report.Percent(*without), report.Micros(r.With.PingP50Us), report.Micros(r.Without.PingP50Us))
	}
	text += fmt.Sprintf("So 10,000 kept open would take about %s of memory", report.Bytes(int64(10_000*max(r.counted(), r.PerConn.RSSBytes))))
	if r.OpenPerS > 0 {
		text += fmt.Sprintf(", and to open them again after a restart about %s: keep them", report.Micros(10_000/r.OpenPerS*1e6))
	}
	return text + ", but no more than the load needs."
}

func (r *IdleResult) figures() []report.Figure {
	if r.Opened == 0 {
		return nil
	}
	out := []report.Figure{{
		Label: "opened", Value: report.Short(r.OpenPerS) + "/s",
		Note: fmt.Sprintf("%s, %s at once", report.Plural(r.Opened, "connection", "connections"), report.Int(r.Params.Dialers)),
	}}
	if r.PerConn != nil {
		out = append(out, report.Figure{Label: "a connection, by the server's count", Value: report.Bytes(int64(r.counted())), Note: "at rest"})
		if r.PerConn.RSSBytes > 0 {
			out = append(out, report.Figure{Label: "a connection, in the server's process", Value: report.Bytes(int64(r.PerConn.RSSBytes)), Note: "growth of its resident memory"})
		}
	}
	if r.With != nil && r.With.CPUShare != nil {
		out = append(out, report.Figure{Label: "the server's CPU with them", Value: report.Percent(*r.With.CPUShare), Note: "of one, at rest"})
	}
	return out
}

func (r *IdleResult) openingSection() report.Section {
	t := report.Table{
		Columns: []report.Column{
			{Name: "open"},
			{Name: "opened", Unit: "1/s"},
			{Name: "clients", Unit: "MiB"},
			{Name: "used", Unit: "MiB"},
			{Name: "process", Unit: "MiB"},
			{Name: "each", Unit: "B"},
			{Name: "PING p50", Unit: "µs"},
			{Name: "p99", Unit: "µs"},
		},
		Caption: "Memory is the server's: what it counts as its clients', all it uses, and all its process has; " +
			"each: the growth of all it uses, over the connections. Buffers that are still fresh are in it; they shrink at rest.",
	}
	memory := report.Plot{
		Title: "The server's memory", XAxis: report.Axis{Label: "open connections"}, YAxis: report.Axis{Label: "memory", Unit: "MiB"},
		Series: []report.Series{{Name: "used"}, {Name: "process"}},
	}
	pings := report.Plot{
		Title: "PING beside them", Caption: "The scale is logarithmic.", XAxis: memory.XAxis, YAxis: report.Axis{Label: "time", Unit: "µs", LogBase: 10},
		Series: []report.Series{{Name: "p50"}, {Name: "p99"}},
	}
	const mib = 1 << 20
	for i, s := range r.Steps {
		clients, each, rate := "–", "–", "–"
		if s.ClientsBytes != nil {
			clients = report.Fixed(float64(*s.ClientsBytes)/mib, 2)
		}
		if i > 0 && s.Conns > 0 {
			each, rate = report.Int((s.UsedBytes-r.Steps[0].UsedBytes)/int64(s.Conns)), report.Fixed(s.OpenPerS, 0)
		}
		t.Rows = append(t.Rows, []string{
			report.Int(s.Conns), rate, clients, report.Fixed(float64(s.UsedBytes)/mib, 2), report.Fixed(float64(s.RSSBytes)/mib, 2), each,
			report.Fixed(s.PingP50Us, 0), report.Fixed(s.PingP99Us, 0),
		})
		memory.X = append(memory.X, float64(s.Conns))
		memory.Series[0].Y = append(memory.Series[0].Y, float64(s.UsedBytes)/mib)
		memory.Series[1].Y = append(memory.Series[1].Y, float64(s.RSSBytes)/mib)
		pings.Series[0].Y = append(pings.Series[0].Y, s.PingP50Us)
		pings.Series[1].Y = append(pings.Series[1].Y, s.PingP99Us)
	}
	pings.X = memory.X
	s := report.Section{Heading: "While they are opened", Tables: []report.Table{t}, Plots: []report.Plot{memory, pings}}
	if r.Opened > 0 {
		s.Prose = []string{fmt.Sprintf("To open one, handshake included, took %s (p50) and %s (p99), with %s being opened at once.",
			report.Micros(r.DialP50Us), report.Micros(r.DialP99Us), report.Int(r.Params.Dialers))}
		if last := r.Steps[len(r.Steps)-1]; r.PerConn != nil && last.Conns > 0 {
			fresh := (last.UsedBytes - r.Steps[0].UsedBytes) / int64(last.Conns)
			s.Prose = append(s.Prose, fmt.Sprintf("Fresh, each took %s of what the server uses, and at rest %s: a storm of new connections needs room for the former.",
				report.Bytes(fresh), report.Bytes(int64(r.PerConn.UsedBytes))))
		}
	}
	return s
}

func (r *IdleResult) restSection() report.Section {
	cpu := func(rest *IdleRest) string {
		if rest.CPUShare == nil {
			return "–"
		}
		return report.Fixed(*rest.CPUShare*100, 2)
	}
	row := func(name string, rest *IdleRest) []string {
		return []string{name, cpu(rest), report.Fixed(rest.PingP50Us, 0), report.Fixed(rest.PingP99Us, 0)}
	}
	p := r.PerConn
	costs := [][]string{}
	add := func(what string, bytes float64) { costs = append(costs, []string{what, report.Fixed(bytes, 0)}) }
	if p.ListBytes != nil {
		add("median of tot-mem in CLIENT LIST", float64(*p.ListBytes))
	}
	if p.ClientsBytes != nil {
		add("growth of mem_clients_normal", *p.ClientsBytes)
	}
	add("growth of used_memory", p.UsedBytes)
	add("growth of used_memory_rss", p.RSSBytes)
	add("growth of this process's memory", p.HereBytes)
	return report.Section{
		Heading: "At rest",
		Tables: []report.Table{
			{
				Columns: []report.Column{{Name: "server", Text: true}, {Name: "CPU", Unit: "%"}, {Name: "PING p50", Unit: "µs"}, {Name: "p99", Unit: "µs"}},
				Rows:    [][]string{row("without them", r.Without), row("with them", r.With)},
				Caption: fmt.Sprintf("Watched for %s each, with a PING every %s.", report.Micros(r.Params.HoldS*1e6), report.Duration(idlePing)),
			},
			{
				Columns: []report.Column{{Name: "memory of one connection", Text: true}, {Name: "bytes"}},
				Rows:    costs,
				Caption: "The growths are divided by the number of connections. Buffers in the server's kernel come on top.",
			},
		},
		Prose: []string{fmt.Sprintf("In this process a connection at rest took %s and %s goroutines.", report.Bytes(int64(p.HereBytes)), report.Short(p.Goroutines))},
	}
}
