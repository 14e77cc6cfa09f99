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
func (r *ZonesResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *ZonesResult) Page() report.Page {
	p := report.Page{
		Title: "How far the endpoints are",
		Lead:  r.lead(),
		Facts: r.Environment.facts(),
	}
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		if e.Pings == 0 || len(p.Figures) == 6 {
			continue
		}
		note := string(e.Distance)
		switch {
		case r.Nearest != nil && i == *r.Nearest:
			note += ", the nearest"
		case e.Farther != nil:
			note += ", " + signed(e.Farther.Median)
		}
		p.Figures = append(p.Figures, report.Figure{Label: e.Address, Value: report.Micros(e.PingP50Us), Note: note})
	}
	if len(r.Endpoints) > 0 {
		p.Sections = append(p.Sections, r.pingSection(), r.connectSection())
	}
	return interrupted(p, r.Interrupted)
}

func (r *ZonesResult) lead() string {
	if r.Nearest == nil {
		text := "No endpoint answered, so there is nothing to compare."
		if len(r.Endpoints) > 0 && r.Endpoints[0].Error != "" {
			text += " The first said: " + r.Endpoints[0].Error + "."
		}
		return text
	}
	near := &r.Endpoints[*r.Nearest]
	text := fmt.Sprintf("%s answers a PING in %s (p50)", near.Address, report.Micros(near.PingP50Us))
	var tied []string
	for _, i := range r.Tied {
		tied = append(tied, r.Endpoints[i].Address)
	}
	switch {
	case len(r.Endpoints) == 1:
		text += "."
	case len(tied) > 0:
		text += fmt.Sprintf("; %s cannot be told from it.", report.List(tied))
	default:
		text += ", the nearest."
	}
	if silent := r.silent(); len(silent) > 0 {
		text += fmt.Sprintf(" Without any answer: %s.", report.List(silent))
	}
	return text + r.advice()
}

// silent lists the endpoints that never answered.
func (r *ZonesResult) silent() []string {
	var out []string
	for i := range r.Endpoints {
		if r.Endpoints[i].Pings == 0 {
			out = append(out, r.Endpoints[i].Address)
		}
	}
	return out
}

// advice says what the distance costs a caller who waits for each reply, which is
// where it hurts.
func (r *ZonesResult) advice() string {
	near := &r.Endpoints[*r.Nearest]
	far := near
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		if e.Farther != nil && !slices.Contains(r.Tied, i) && e.PingP50Us > far.PingP50Us {
			far = e
		}
	}
	if far == near {
		if near.Distance != DistanceNear {
			return fmt.Sprintf(" That is not this zone's distance: a caller who waits for each reply gets %s a second. Run beside the server, or pipeline.",
				report.Short(1e6/near.PingP50Us))
		}
		return ""
	}
	text := fmt.Sprintf(" %s takes %s more (%s to %s): a caller who waits for each reply gets %s a second there and %s here.",
		far.Address, report.Micros(far.Farther.Median), report.Micros(far.Farther.Low), report.Micros(far.Farther.High),
		report.Short(1e6/far.PingP50Us), report.Short(1e6/near.PingP50Us))
	if far.Distance == near.Distance {
		return text + " Both are as near as one zone: other things matter more."
	}
	return text + " Prefer the endpoint in your own zone, and pipeline where you cannot."
}

func (r *ZonesResult) pingSection() report.Section {
	bars := report.Bars{Title: "Median time of a PING", Caption: "Shorter is better."}
	t := report.Table{
		Columns: []report.Column{
			{Name: "endpoint", Text: true},
			{Name: "min", Unit: "µs"},
			{Name: "p50", Unit: "µs"},
			{Name: "p95", Unit: "µs"},
			{Name: "p99", Unit: "µs"},
			{Name: "max", Unit: "µs"},
			{Name: "over 1 ms", Unit: "%"},
			{Name: "3 ms", Unit: "%"},
			{Name: "farther by", Unit: "µs"},
		},
		Caption: fmt.Sprintf("A PING to each in every round, a round every %s. Farther by: the median over rounds of the difference from the nearest in the same round, with its 95 %% interval.",
			report.Micros(r.Params.IntervalMs*1000)),
	}
	plot := report.Plot{
		Title: "Median PING over time", Caption: "The scale is logarithmic.",
		XAxis: report.Axis{Label: "time", Unit: "s"}, YAxis: report.Axis{Label: "time of a PING", Unit: "µs", LogBase: 10},
	}
	for _, s := range r.Seconds {
		plot.X = append(plot.X, s.T)
	}
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		row := []string{e.Address, "–", "–", "–", "–", "–", "–", "–", "–"}
		if e.Pings > 0 {
			row = []string{
				e.Address, report.Fixed(e.PingMinUs, 0), report.Fixed(e.PingP50Us, 0), report.Fixed(e.PingP95Us, 0), report.Fixed(e.PingP99Us, 0), report.Fixed(e.PingMaxUs, 0),
				report.Fixed(e.Over1Ms*100, 1), report.Fixed(e.Over3Ms*100, 1), interval(e.Farther, 0),
			}
			bars.Items = append(bars.Items, report.Bar{Label: e.Address, Value: e.PingP50Us, Text: report.Micros(e.PingP50Us)})
		}
		t.Rows = append(t.Rows, row)
		series := report.Series{Name: e.Address}
		for _, s := range r.Seconds {
			y := math.NaN()
			if i < len(s.P50Us) && s.P50Us[i] != nil {
				y = *s.P50Us[i]
			}
			series.Y = append(series.Y, y)
		}
		plot.Series = append(plot.Series, series)
	}
	s := report.Section{
		Heading: "PING over a connection that is kept",
		Prose: []string{"As a rule of thumb for clouds: about 1 ms and less within a zone (near), up to 3 ms to another zone (zone), more beyond (far). " +
			"A server that is busy answers late wherever it is: compare the minimum too."},
		Tables: []report.Table{t},
		Plots:  []report.Plot{plot},
	}
	if len(bars.Items) > 1 {
		s.Bars = []report.Bars{bars}
	}
	return s
}

func (r *ZonesResult) connectSection() report.Section {
	t := report.Table{
		Columns: []report.Column{
			{Name: "endpoint", Text: true},
			{Name: "server", Text: true},
			{Name: "zone", Text: true},
			{Name: "distance", Text: true},
			{Name: "opened"},
			{Name: "p50", Unit: "µs"},
			{Name: "p99", Unit: "µs"},
			{Name: "TCP", Unit: "µs"},
			{Name: "errors"},
		},
		Caption: "To open a connection: TCP (its median), TLS where there is any, and the handshake. Zone: what the server says of itself.",
	}
	s := report.Section{Heading: "New connections, and what the endpoints are"}
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		server := e.Server
		if e.Version != "" {
			server += " " + e.Version
		}
		switch e.Role {
		case "":
		case "slave":
			server += ", replica"
		case "master":
			server += ", primary"
		default:
			server += ", " + e.Role
		}
		row := []string{e.Address, orDash(server), orDash(e.Zone), string(e.Distance), report.Int(e.Connects), "–", "–", "–", report.Int(e.Errors)}
		if e.Connects > 0 {
			row[5], row[6], row[7] = report.Fixed(e.ConnectP50Us, 0), report.Fixed(e.ConnectP99Us, 0), report.Fixed(e.TCPP50Us, 0)
		}
		t.Rows = append(t.Rows, row)
		if e.Errors > 0 {
			s.Prose = append(s.Prose, fmt.Sprintf("%s: %s, the first: %s", e.Address, report.Plural(e.Errors, "failure", "failures"), e.Error))
		}
	}
	s.Tables = []report.Table{t}
	return s
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
