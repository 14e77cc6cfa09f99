package bench

import (
	"fmt"
	"io"

	"github.com/evenkeel-go/evenkeel/report"
)

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *SlowReadersResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *SlowReadersResult) Page() report.Page {
	p := report.Page{
		Title: "What slow readers do to the server",
		Lead:  r.lead(),
		Facts: r.Environment.facts(),
	}
	for i := range r.Phases {
		phase := &r.Phases[i]
		p.Figures = append(p.Figures, report.Figure{
			Label: "the server's memory grew by, " + phase.name(), Value: report.Bytes(phase.UsedGrowth),
			Note: report.Plural(phase.Lost, "reader", "readers") + " lost",
		})
	}
	if len(r.Phases) > 0 {
		p.Sections = append(p.Sections, r.summarySection())
	}
	for i := range r.Phases {
		if len(r.Phases[i].Points) > 0 {
			p.Sections = append(p.Sections, r.Phases[i].section())
		}
	}
	return interrupted(p, r.Interrupted)
}

// name says which limit a phase had.
func (p *SlowReadersPhase) name() string {
	switch {
	case p.LimitBytes == nil:
		return "as it is"
	case *p.LimitBytes == 0:
		return "no limit"
	default:
		return "limit " + report.Bytes(*p.LimitBytes)
	}
}

// unlimited and limited return the phases without and with a limit, nil for one that
// was not run.
func (r *SlowReadersResult) pair() (unlimited, limited *SlowReadersPhase) {
	for i := range r.Phases {
		if p := &r.Phases[i]; p.LimitBytes != nil && *p.LimitBytes > 0 {
			limited = p
		} else {
			unlimited = p
		}
	}
	return unlimited, limited
}

func (r *SlowReadersResult) lead() string {
	asked := fmt.Sprintf("%s asked for a value of %s each and read it slowly.", report.Plural(r.Params.Readers, "client", "clients"), report.Bytes(int64(r.Params.ValueBytes)))
	free, held := r.pair()
	if free == nil && held == nil {
		return asked
	}
	text := asked
	if free != nil {
		text += fmt.Sprintf(" Without a limit the server's memory grew by %s: what a client does not read, the server keeps.", report.Bytes(free.UsedGrowth))
		if free.LimitBytes == nil {
			text = asked + fmt.Sprintf(" The server's memory grew by %s: what a client does not read, the server keeps.", report.Bytes(free.UsedGrowth))
		}
	}
	if held == nil {
		return text + " " + r.adviceWithout(free)
	}
	closed := held.Lost
	if held.Evicted != nil {
		closed = int(*held.Evicted)
	}
	text += fmt.Sprintf(" With a maxmemory-clients of %s it grew by %s at most, and the server closed %s.",
		report.Bytes(*held.LimitBytes), report.Bytes(held.UsedGrowth), report.Plural(closed, "client", "clients"))
	switch {
	case free == nil:
	case held.UsedGrowth < free.UsedGrowth && closed > 0:
		text += fmt.Sprintf(" Set it (version 7.0 or later): here it kept %s from the readers, at the price of their connections.",
			report.Bytes(free.UsedGrowth-held.UsedGrowth))
	default:
		text += " Here it made no difference: the readers stayed below it."
	}
	return text
}

// adviceWithout says what to do where no limit was tried.
func (r *SlowReadersResult) adviceWithout(p *SlowReadersPhase) string {
	if p.UsedGrowth < int64(r.Params.ValueBytes)/2 {
		return "That is little: the kernel's buffers, or a server that shares one copy among its clients, kept the rest."
	}
	return fmt.Sprintf("Set maxmemory-clients (version 7.0 or later) to what clients may take in all; %s like these would take %s of it for each of their values.",
		report.Plural(r.Params.Readers, "reader", "readers"), report.Bytes(p.UsedGrowth/int64(r.Params.Readers)))
}

func (r *SlowReadersResult) summarySection() report.Section {
	memory := report.Table{
		Columns: []report.Column{
			{Name: "phase", Text: true},
			{Name: "growth", Unit: "MiB"},
			{Name: "clients", Unit: "MiB"},
			{Name: "longest output", Unit: "MiB"},
			{Name: "evicted"},
			{Name: "lost"},
			{Name: "given back", Unit: "ms"},
		},
		Caption: "growth: of all memory the server uses; clients: what it counts as theirs; evicted: its own count; lost: readers without a connection.",
	}
	pings := report.Table{
		Columns: []report.Column{
			{Name: "PING", Text: true},
			{Name: "before p50", Unit: "µs"},
			{Name: "p99", Unit: "µs"},
			{Name: "beside p50", Unit: "µs"},
			{Name: "p99", Unit: "µs"},
			{Name: "longest", Unit: "µs"},
			{Name: "errors"},
		},
	}
	for i := range r.Phases {
		p := &r.Phases[i]
		evicted, released := "–", "–"
		if p.Evicted != nil {
			evicted = report.Int(*p.Evicted)
		}
		if p.ReleasedMs != nil {
			released = report.Fixed(*p.ReleasedMs, 1)
		}
		memory.Rows = append(memory.Rows, []string{
			p.name(), mebibytes(&p.UsedGrowth), mebibytes(p.ClientsMax), mebibytes(p.OutputMax), evicted, report.Int(p.Lost), released,
		})
		pings.Rows = append(pings.Rows, []string{
			p.name(), report.Fixed(p.PingBeforeP50Us, 0), report.Fixed(p.PingBeforeP99Us, 0),
			report.Fixed(p.PingP50Us, 0), report.Fixed(p.PingP99Us, 0), report.Fixed(p.PingMaxUs, 0), report.Int(p.PingErrors),
		})
	}
	return report.Section{
		Heading: "Memory, and a PING beside the readers",
		Prose:   []string{"The receive buffers of the readers are small, but the server's kernel still takes some of each value off its memory; a remote reader with large buffers would hide more."},
		Tables:  []report.Table{memory, pings},
	}
}

// mebibytes formats a size that may not be known.
func mebibytes(n *int64) string {
	if n == nil {
		return "–"
	}
	return report.Fixed(float64(*n)/(1<<20), 1)
}

func (p *SlowReadersPhase) section() report.Section {
	t := report.Table{Columns: []report.Column{
		{Name: "time", Unit: "s"}, {Name: "used", Unit: "MiB"}, {Name: "clients", Unit: "MiB"}, {Name: "output", Unit: "MiB"}, {Name: "readers"}, {Name: "longest PING", Unit: "µs"},
	}}
	plot := report.Plot{
		Title: "The server's memory, " + p.name(),
		XAxis: report.Axis{Label: "time since the readers asked", Unit: "s"}, YAxis: report.Axis{Label: "memory", Unit: "MiB"},
		Series: []report.Series{{Name: "used"}, {Name: "clients"}, {Name: "readers' output"}},
	}
	// So many rows are enough for a table; the plot has all points.
	every := (len(p.Points) + 19) / 20
	for i, at := range p.Points {
		if i%every == 0 || i == len(p.Points)-1 {
			t.Rows = append(t.Rows, []string{
				report.Fixed(at.T, 1), mebibytes(&at.Used), mebibytes(at.Clients), mebibytes(at.Output), report.Int(at.Readers), report.Fixed(at.PingMaxUs, 0),
			})
		}
		plot.X = append(plot.X, at.T)
		for s, n := range []*int64{&at.Used, at.Clients, at.Output} {
			plot.Series[s].Y = append(plot.Series[s].Y, plotted(n))
		}
	}
	return report.Section{Heading: "Over time, " + p.name(), Detail: true, Plots: []report.Plot{plot}, Tables: []report.Table{t}}
}
