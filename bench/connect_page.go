package bench

import (
	"fmt"
	"io"
	"math"

	"github.com/evenkeel-go/evenkeel/report"
)

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *ConnectResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *ConnectResult) Page() report.Page {
	p := report.Page{
		Title:   "What a connection costs",
		Lead:    r.lead(),
		Figures: r.figures(),
		Facts:   r.Environment.facts(),
	}
	if r.Environment.ServerKind == ServerEmbedded {
		// Only counts mean something: its times are this process's own.
		p.Lead, p.Figures = r.countsLead(), nil
		if len(r.Rows) > 0 {
			p.Sections = append(p.Sections, report.Section{Heading: "Reuse or reconnect", Tables: []report.Table{r.countsTable()}})
		}
		return interrupted(p, r.Interrupted)
	}
	if len(r.Rows) > 0 {
		p.Sections = append(p.Sections, r.rowsSection())
	}
	if s, ok := r.layersSection(); ok {
		p.Sections = append(p.Sections, s)
	}
	return interrupted(p, r.Interrupted)
}

// slowdown is one way to log in and encrypt, in words, with its ratio.
type slowdown struct {
	with  string
	ratio float64
}

func (r *ConnectResult) slowdowns() []slowdown {
	var out []slowdown
	for _, s := range []struct {
		with  string
		ratio *float64
	}{
		{"", r.Ratios.ReconnectSlowdown},
		{"with a password", r.Ratios.ReconnectSlowdownAuth},
		{"with TLS", r.Ratios.ReconnectSlowdownTLS},
		{"with a password and TLS", r.Ratios.ReconnectSlowdownAuthTLS},
	} {
		if s.ratio != nil {
			out = append(out, slowdown{s.with, *s.ratio})
		}
	}
	return out
}

func (r *ConnectResult) lead() string {
	all := r.slowdowns()
	if len(all) == 0 {
		return "There is no pair of rows to compare."
	}
	if all[0].ratio < 1 {
		return "Here a new connection for each command was no slower than reuse, which is odd: look at the errors, and run it for longer."
	}
	var parts []string
	for _, s := range all {
		parts = append(parts, join(report.Times(s.ratio), s.with))
	}
	return "A new connection for each command is " + report.List(parts) + " slower than reuse."
}

func (r *ConnectResult) countsLead() string {
	reuse, again := r.row(ConnectReuse, false, false), r.row(ConnectReconnect, false, false)
	if reuse == nil || again == nil || reuse.NewConnectionsServer == nil || again.NewConnectionsServer == nil {
		return "There is no pair of rows to compare."
	}
	return fmt.Sprintf("%s over reused connections took %s; %s with a new connection for each took %s.",
		report.Plural(reuse.Commands, "command", "commands"), report.Plural(*reuse.NewConnectionsServer, "connection", "connections"),
		report.Plural(again.Commands, "command", "commands"), report.Int(*again.NewConnectionsServer))
}

func (r *ConnectResult) countsTable() report.Table {
	t := report.Table{Columns: []report.Column{{Name: "row", Text: true}, {Name: "commands"}, {Name: "new conns", Unit: "server"}, {Name: "errors"}}}
	for i := range r.Rows {
		row := &r.Rows[i]
		t.Rows = append(t.Rows, []string{row.name(), report.Int(row.Commands), optional(row.NewConnectionsServer), report.Int(row.Errors)})
	}
	return t
}

// optional formats a count that the server may not have given.
func optional(n *int64) string {
	if n == nil {
		return "–"
	}
	return report.Int(*n)
}

// seconds formats a time that the system or the server may not have given.
func seconds(s *float64) string {
	if s == nil {
		return report.Fixed(math.NaN(), 2)
	}
	return report.Fixed(*s, 2)
}

// join adds a remark in brackets, if there is one.
func join(a, remark string) string {
	if remark == "" {
		return a
	}
	return a + " (" + remark + ")"
}

func (r *ConnectResult) figures() []report.Figure {
	var out []report.Figure
	for _, s := range r.slowdowns() {
		label := "reconnecting, against reuse"
		if s.with != "" {
			label += ", " + s.with
		}
		out = append(out, report.Figure{Label: label, Value: report.Times(s.ratio), Note: "as many commands per second in the reuse row"})
	}
	return out
}

// name says what a row does, in words.
func (r *ConnectRow) name() string {
	s := string(r.Mode)
	if r.Auth {
		s += " + password"
	}
	if r.TLS {
		s += " + TLS"
	}
	return s
}

func (r *ConnectResult) rowsSection() report.Section {
	bars := report.Bars{Title: "Commands per second", Caption: "Longer is better."}
	times := report.Table{
		Title: "Commands and their times",
		Columns: []report.Column{
			{Name: "row", Text: true},
			{Name: "rate", Unit: "1/s"},
			{Name: "avg", Unit: "µs"},
			{Name: "min", Unit: "µs"},
			{Name: "p50", Unit: "µs"},
			{Name: "p95", Unit: "µs"},
			{Name: "p99", Unit: "µs"},
			{Name: "max", Unit: "µs"},
			{Name: "errors"},
		},
		Caption: "The time of a command runs from wanting a connection to having the reply, so a new connection's set-up is in it.",
	}
	costs := report.Table{
		Title: "What it took",
		Columns: []report.Column{
			{Name: "row", Text: true},
			{Name: "commands"},
			{Name: "wall", Unit: "s"},
			{Name: "user CPU", Unit: "s"},
			{Name: "system CPU", Unit: "s"},
			{Name: "server CPU", Unit: "s"},
			{Name: "new conns", Unit: "server"},
		},
		Caption: "User and system CPU are this process's, server CPU and new connections are the server's own count.",
	}
	us := func(v float64) string { return report.Fixed(v, 1) }
	for i := range r.Rows {
		row := &r.Rows[i]
		bars.Items = append(bars.Items, report.Bar{Label: row.name(), Value: row.OpsPerS, Text: report.Fixed(row.OpsPerS, 0) + "/s"})
		times.Rows = append(times.Rows, []string{
			row.name(), report.Fixed(row.OpsPerS, 0), us(row.AvgUs), us(row.MinUs), us(row.P50Us), us(row.P95Us), us(row.P99Us), us(row.MaxUs), report.Int(row.Errors),
		})
		costs.Rows = append(costs.Rows, []string{
			row.name(), report.Int(row.Commands), report.Fixed(row.WallS, 2), seconds(row.CPUUserS), seconds(row.CPUSysS), seconds(row.CPUServerS), optional(row.NewConnectionsServer),
		})
	}
	return report.Section{
		Heading: "Reuse or reconnect",
		Bars:    []report.Bars{bars},
		Tables:  []report.Table{times, costs},
		Prose:   r.meaning(),
	}
}

// meaning says in words what the rows say.
func (r *ConnectResult) meaning() []string {
	var out []string
	if ratio := r.Ratios.ReuseAuth; ratio != nil {
		plain, auth := r.row(ConnectReuse, false, false), r.row(ConnectReuse, true, false)
		text := fmt.Sprintf("Reused connections ran %s commands per second without a password and %s with one", report.Fixed(plain.OpsPerS, 0), report.Fixed(auth.OpsPerS, 0))
		// Two runs of the same thing differ by a few per cent.
		if math.Abs(*ratio-1) <= 0.1 {
			text += ": the same, within what two runs differ by. A password does not slow commands."
			plain, auth := r.Ratios.ReconnectSlowdown, r.Ratios.ReconnectSlowdownAuth
			if plain != nil && auth != nil && *auth > *plain {
				text += fmt.Sprintf(" It slows opening: %s without it, %s with it.", report.Times(*plain), report.Times(*auth))
			}
		} else {
			text += fmt.Sprintf(": a difference of %s, more than a password explains. Repeat the run on a quieter machine.", report.Percent(math.Abs(*ratio-1)))
		}
		out = append(out, text)
	}
	reuse, again := r.row(ConnectReuse, false, false), r.row(ConnectReconnect, false, false)
	if reuse != nil && again != nil {
		if perReuse, perAgain := reuse.cpuPerCommand(), again.cpuPerCommand(); perReuse > 0 && perAgain > 0 {
			out = append(out, fmt.Sprintf("A command took %s of this process's CPU over a reused connection and %s over a new one.",
				report.Micros(perReuse), report.Micros(perAgain)))
		}
		if reuse.NewConnectionsServer != nil && again.NewConnectionsServer != nil {
			out = append(out, fmt.Sprintf("The server accepted %s for the first and %s for the second.",
				report.Plural(*reuse.NewConnectionsServer, "connection", "connections"), report.Int(*again.NewConnectionsServer)))
		}
	}
	var failed int64
	for i := range r.Rows {
		failed += r.Rows[i].Errors
	}
	if failed > 0 {
		out = append(out, report.Plural(failed, "command", "commands")+" failed and are not in the rates and times.")
	}
	return out
}

// cpuPerCommand is this process's CPU time for each command, in µs; 0 when it is
// not known.
func (r *ConnectRow) cpuPerCommand() float64 {
	n := float64(r.Commands)
	if n <= 0 || r.CPUUserS == nil || r.CPUSysS == nil {
		return 0
	}
	return (*r.CPUUserS + *r.CPUSysS) * 1e6 / n
}

// layerName is a layer in words.
func layerName(layer string) string {
	switch layer {
	case LayerTCP:
		return "TCP connect"
	case LayerTLSFull:
		return "TLS handshake, full"
	case LayerTLSResumed:
		return "TLS handshake, resumed"
	case LayerAuth:
		return "log in"
	case LayerFirstCommand:
		return "first command"
	default:
		return layer
	}
}

func (r *ConnectResult) layersSection() (report.Section, bool) {
	// Each layer is shown once, from the first row that has it: it is measured
	// apart and costs the same in every row.
	cost := map[string]float64{}
	for _, row := range r.Rows {
		for layer, us := range row.LayersUs {
			if _, seen := cost[layer]; !seen {
				cost[layer] = us
			}
		}
	}
	if len(cost) == 0 {
		return report.Section{}, false
	}
	bars := report.Bars{Title: "Median time of each layer", Caption: "Measured one after the other on connections of their own. Reuse pays only for the command."}
	table := report.Table{Columns: []report.Column{{Name: "layer", Text: true}, {Name: "median", Unit: "µs"}, {Name: "of a command", Unit: "×"}}}
	command := cost[LayerFirstCommand]
	dearest := ""
	for _, layer := range ConnectLayers() {
		us, ok := cost[layer]
		if !ok {
			continue
		}
		if dearest == "" || us > cost[dearest] {
			dearest = layer
		}
		bars.Items = append(bars.Items, report.Bar{Label: layerName(layer), Value: us, Text: report.Micros(us)})
		table.Rows = append(table.Rows, []string{layerName(layer), report.Fixed(us, 1), report.Short(us / command)})
	}
	s := report.Section{Heading: "Where a new connection's time goes", Bars: []report.Bars{bars}, Tables: []report.Table{table}}
	s.Prose = append(s.Prose, fmt.Sprintf("The dearest layer is %s, with %s.", layerName(dearest), report.Micros(cost[dearest])))
	full, resumed := cost[LayerTLSFull], cost[LayerTLSResumed]
	if full > 0 && resumed > 0 {
		s.Prose = append(s.Prose, fmt.Sprintf("A resumed TLS handshake took %s of a full one's time.", report.Percent(resumed/full)))
	}
	if _, ok := cost[LayerAuth]; ok && r.Params.Handshake == HandshakePipelined {
		s.Prose = append(s.Prose, "The rows above send the whole set-up in one round trip, so that logging in does not pay for one of its own; with --handshake sequential it does.")
	}
	return s, true
}
