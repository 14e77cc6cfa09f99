package bench

import (
	"fmt"
	"io"

	"github.com/evenkeel-go/evenkeel/report"
)

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *LayersResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *LayersResult) Page() report.Page {
	p := report.Page{
		Title: "What passwords, users and TLS cost",
		Lead:  r.lead(),
		Facts: r.Environment.facts(),
	}
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Extra != nil && row.Rate != nil {
			p.Figures = append(p.Figures, report.Figure{
				Label: row.name() + ", each new connection", Value: signed(row.Extra.Median),
				Note: fmt.Sprintf("commands at %s of the rate", report.Percent(row.Rate.Median)),
			})
		}
	}
	if len(r.Rows) > 0 {
		p.Sections = append(p.Sections, r.connectSection(), r.commandSection())
	}
	if len(r.Rows) > 1 {
		p.Sections = append(p.Sections, r.verdictSection())
	}
	return interrupted(p, r.Interrupted)
}

// signed formats a difference in µs.
func signed(us float64) string {
	if us < 0 {
		return "−" + report.Micros(-us)
	}
	return "+" + report.Micros(us)
}

// name is the layer in words.
func (r *LayersRow) name() string {
	switch r.Layer {
	case LayerPlain:
		return "plain"
	case LayerPassword:
		return "password"
	case LayerACL:
		return "ACL user"
	case LayerTLS12:
		return "TLS 1.2"
	case LayerTLS12Resumed:
		return "TLS 1.2, resumed"
	case LayerTLS13:
		return "TLS 1.3"
	case LayerTLS13Resumed:
		return "TLS 1.3, resumed"
	default:
		return string(r.Layer)
	}
}

func (r *LayersResult) lead() string {
	if len(r.Rows) == 0 {
		return "No round was completed, so there is nothing to compare."
	}
	base := &r.Rows[0]
	text := fmt.Sprintf("A new connection took %s (%s), a command over one that is kept %s.",
		report.Micros(base.ConnectP50Us), base.name(), report.Micros(base.CommandP50Us))
	if base.CommandP50Us > 0 {
		text += fmt.Sprintf(" So a connection is paid back after %s commands.", report.Short(base.ConnectP50Us/base.CommandP50Us))
	}
	return text + r.loginAdvice() + r.tlsAdvice()
}

// loginAdvice says whether a password slows anything but opening.
func (r *LayersResult) loginAdvice() string {
	row := r.row(LayerPassword)
	if row == nil || row.Extra == nil || row.Rate == nil {
		return ""
	}
	switch {
	case !row.Rate.holds(1):
		return fmt.Sprintf(" With a password commands ran at %s of the rate, which a password does not explain: repeat it on a quieter machine.", report.Percent(row.Rate.Median))
	case row.Rate.Low < nearlyAll:
		return " These rounds are too uneven to say whether a password slows commands: take more, or a quieter machine."
	case row.Extra.Low > 0:
		return fmt.Sprintf(" A password does not slow commands; it slows opening, by %s.", report.Micros(row.Extra.Median))
	default:
		return " A password slows neither opening nor commands, as far as these rounds tell."
	}
}

// nearlyAll of a rate is the same, if the interval of the ratio ends above it.
const nearlyAll = 0.95

// tlsAdvice says what TLS costs and what resuming saves.
func (r *LayersResult) tlsAdvice() string {
	full, resumed := r.row(LayerTLS13), r.row(LayerTLS13Resumed)
	if full == nil {
		full, resumed = r.row(LayerTLS12), r.row(LayerTLS12Resumed)
	}
	base := &r.Rows[0]
	if full == nil || full.Rate == nil || base.ConnectP50Us <= 0 || full.ConnectP50Us <= 0 {
		return ""
	}
	text := fmt.Sprintf(" With %s opening takes %s the time", full.name(), report.Times(full.ConnectP50Us/base.ConnectP50Us))
	if resumed != nil && resumed.Resumed > 0 {
		text += fmt.Sprintf(" (%s with a resumed session)", report.Times(resumed.ConnectP50Us/base.ConnectP50Us))
	}
	return text + fmt.Sprintf(", and commands run at %s of the rate: the dearer the opening, the more it pays to keep connections.", report.Percent(full.Rate.Median))
}

// verdict says what a layer costs, as far as the rounds tell it from noise.
func (r *LayersResult) verdict(row *LayersRow) string {
	opens := fmt.Sprintf("%s: opening takes %s longer (%s to %s)", row.name(), report.Micros(row.Extra.Median), report.Micros(row.Extra.Low), report.Micros(row.Extra.High))
	switch {
	case row.Extra.holds(0):
		opens = fmt.Sprintf("%s: opening takes as long, as far as %s tell", row.name(), report.Plural(row.Extra.Rounds, "round", "rounds"))
	case row.Extra.Median < 0:
		opens = fmt.Sprintf("%s: opening is %s faster", row.name(), report.Micros(-row.Extra.Median))
	}
	switch rate := row.Rate; {
	case row.Layer.resumed() && row.Resumed == 0:
		return opens + ", for the server resumed no session."
	case rate.holds(1) && rate.Low < nearlyAll:
		return opens + fmt.Sprintf("; whether it slows commands these rounds do not tell (%s to %s of the rate).", report.Percent(rate.Low), report.Percent(rate.High))
	case rate.holds(1):
		return opens + ", commands are not slowed."
	case rate.Median < 1:
		return opens + fmt.Sprintf(", commands run at %s of the rate (%s to %s).", report.Percent(rate.Median), report.Percent(rate.Low), report.Percent(rate.High))
	default:
		return opens + fmt.Sprintf(", commands run at %s of the rate: more than the layer explains, so repeat it on a quieter machine.", report.Percent(rate.Median))
	}
}

func (r *LayersResult) verdictSection() report.Section {
	s := report.Section{Heading: "Held against " + r.Rows[0].name()}
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Extra != nil && row.Rate != nil {
			s.Prose = append(s.Prose, r.verdict(row))
		}
	}
	return s
}

// rounded formats CPU time that may not be known.
func rounded(us *float64) string {
	if us == nil {
		return "–"
	}
	return report.Fixed(*us, 1)
}

// interval formats an estimate.
func interval(e *Estimate, decimals int) string {
	if e == nil {
		return "–"
	}
	return fmt.Sprintf("%s (%s to %s)", report.Fixed(e.Median, decimals), report.Fixed(e.Low, decimals), report.Fixed(e.High, decimals))
}

func (r *LayersResult) connectSection() report.Section {
	bars := report.Bars{Title: "Median time to open a connection", Caption: "Shorter is better."}
	t := report.Table{
		Columns: []report.Column{
			{Name: "layer", Text: true},
			{Name: "p50", Unit: "µs"},
			{Name: "p99", Unit: "µs"},
			{Name: "TCP", Unit: "µs"},
			{Name: "TLS", Unit: "µs"},
			{Name: "handshake", Unit: "µs"},
			{Name: "server CPU", Unit: "µs"},
			{Name: "longer by", Unit: "µs"},
		},
		Caption: "TCP, TLS and Redis's handshake (logging in included) are medians. Longer by: the median over rounds, with its 95 % interval.",
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		bars.Items = append(bars.Items, report.Bar{Label: row.name(), Value: row.ConnectP50Us, Text: report.Micros(row.ConnectP50Us)})
		t.Rows = append(t.Rows, []string{
			row.name(), report.Fixed(row.ConnectP50Us, 0), report.Fixed(row.ConnectP99Us, 0), report.Fixed(row.TCPUs, 0), report.Fixed(row.TLSUs, 0),
			report.Fixed(row.HandshakeUs, 0), rounded(row.ServerPerDialUs), interval(row.Extra, 0),
		})
	}
	return report.Section{
		Heading: "To open a connection",
		Bars:    []report.Bars{bars},
		Plots:   []report.Plot{r.plot("Median time to open a connection", report.Axis{Label: "time", Unit: "µs", LogBase: 10}, func(n LayersRound) float64 { return n.ConnectUs })},
		Tables:  []report.Table{t},
	}
}

func (r *LayersResult) commandSection() report.Section {
	t := report.Table{
		Columns: []report.Column{
			{Name: "layer", Text: true},
			{Name: "rate", Unit: "1/s"},
			{Name: "p50", Unit: "µs"},
			{Name: "p99", Unit: "µs"},
			{Name: "server CPU", Unit: "µs"},
			{Name: "own CPU", Unit: "µs"},
			{Name: "rate, of the first", Unit: "×"},
		},
		Caption: fmt.Sprintf("One caller over one connection, SET and GET by turns, values of %s. CPU times are for each command; own: this process's. A resumed session runs its commands as a full one does.",
			report.Bytes(int64(r.Params.ValueSize))),
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		rate := 0.0
		if rates := estimate(ratesOf(row.Rounds)); rates != nil {
			rate = rates.Median
		}
		t.Rows = append(t.Rows, []string{
			row.name(), report.Fixed(rate, 0), report.Fixed(row.CommandP50Us, 1), report.Fixed(row.CommandP99Us, 1),
			rounded(row.ServerPerOpUs), rounded(row.ClientPerOpUs), interval(row.Rate, 2),
		})
	}
	return report.Section{
		Heading: "For each command",
		Plots:   []report.Plot{r.plot("Commands per second", report.Axis{Label: "commands", Unit: "1/s"}, func(n LayersRound) float64 { return n.OpsPerS })},
		Tables:  []report.Table{t},
	}
}

func ratesOf(rounds []LayersRound) []float64 {
	out := make([]float64, len(rounds))
	for i, n := range rounds {
		out[i] = n.OpsPerS
	}
	return out
}

// plot draws each layer over the rounds, so that noise and drift can be seen.
func (r *LayersResult) plot(title string, y report.Axis, value func(LayersRound) float64) report.Plot {
	p := report.Plot{Title: title, Caption: "One point for each round.", XAxis: report.Axis{Label: "round"}, YAxis: y}
	for n := range r.Rows[0].Rounds {
		p.X = append(p.X, float64(n+1))
	}
	for i := range r.Rows {
		series := report.Series{Name: r.Rows[i].name()}
		for _, round := range r.Rows[i].Rounds {
			series.Y = append(series.Y, value(round))
		}
		p.Series = append(p.Series, series)
	}
	return p
}
