package bench

import (
	"fmt"
	"io"
	"math"

	"github.com/evenkeel-go/evenkeel/report"
)

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *PoolResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *PoolResult) Page() report.Page {
	p := report.Page{
		Title:   fmt.Sprintf("How many connections %s need", report.Plural(r.Params.Callers, "caller", "callers")),
		Lead:    r.lead(),
		Figures: r.figures(),
		Facts:   r.Environment.facts(),
	}
	if len(r.Points) > 0 {
		p.Sections = append(p.Sections, r.ratesSection(), r.costSection())
	}
	if r.Fit != nil {
		p.Sections = append(p.Sections, r.fitSection())
	}
	return interrupted(p, r.Interrupted)
}

// enough is the size to recommend, nil for none.
func (r *PoolResult) enough() *PoolPoint { return r.point(r.EnoughSize) }

func (r *PoolResult) figures() []report.Figure {
	at := r.enough()
	if at == nil {
		return nil
	}
	out := []report.Figure{
		{Label: "enough for " + report.Plural(r.Params.Callers, "caller", "callers"), Value: report.Plural(at.Size, "connection", "connections"), Note: percent(at.Share.Median) + " of the best rate"},
		{Label: "with it", Value: report.Short(at.Rate.Median) + "/s", Note: "p99 " + report.Micros(at.P99Us) + ", the wait included"},
	}
	if s := r.Shared; s != nil && s.Share != nil {
		out = append(out, report.Figure{Label: "the shared lane, " + report.Plural(s.Size, "connection", "connections"), Value: report.Short(s.Rate.Median) + "/s", Note: "p99 " + report.Micros(s.P99Us)})
	}
	return out
}

func (r *PoolResult) lead() string {
	at, best := r.enough(), r.point(r.BestSize)
	switch {
	case len(r.Points) == 0:
		return "No round was completed, so there is no size to recommend."
	case best == nil || at == nil:
		return "No call came to its end within its turn, so there is no size to recommend: give a longer --slot."
	}
	text := fmt.Sprintf("For %s a pool of %s is enough: %s calls per second, ", report.Plural(r.Params.Callers, "caller", "callers"), report.Int(at.Size), report.Short(at.Rate.Median))
	if at == best {
		text += "the best of all sizes,"
	} else {
		text += fmt.Sprintf("%s (%s to %s) of the best,", percent(at.Share.Median), percent(at.Share.Low), percent(at.Share.High))
	}
	text += fmt.Sprintf(" with a p99 of %s, the wait for a connection included.", report.Micros(at.P99Us))
	if r.EnoughLow < r.EnoughHigh {
		text += fmt.Sprintf(" The rounds leave it open between %s and %s: more of them, or a quieter machine, narrow it.", report.Int(r.EnoughLow), report.Int(r.EnoughHigh))
	}
	return text + r.more(at) + r.shorter(at) + r.sharedAdvice(at) + r.limits(at)
}

// more says what more connections than enough bring.
func (r *PoolResult) more(at *PoolPoint) string {
	last := at
	for i := range r.Points {
		if r.useful(i) {
			last = &r.Points[i]
		}
	}
	if last == at || last.Share == nil {
		if at.Size < r.Params.Callers {
			return " No larger one was tried: sweep on."
		}
		return ""
	}
	what := report.Int(last.Size)
	if last.Size == r.Params.Callers {
		what += ", one for each caller,"
	}
	switch {
	case last.Share.High < recommendedShare:
		return fmt.Sprintf(" More is worse: %s get %s of the best rate.", what, percent(last.Share.Median))
	case last.Share.Median < recommendedShare:
		return fmt.Sprintf(" Whether more are worse the rounds do not tell: %s get %s (%s to %s) of the best rate.", what, percent(last.Share.Median), percent(last.Share.Low), percent(last.Share.High))
	default:
		return fmt.Sprintf(" More bring little: %s get %s of the best rate.", what, percent(last.Share.Median))
	}
}

// shorter names a larger pool whose calls take less time, which callers who rest may want
// where the rate is no more.
func (r *PoolResult) shorter(at *PoolPoint) string {
	p := r.point(r.P99Size)
	if p == nil || p.Size <= at.Size || p.P99.High >= at.P99.Low {
		return ""
	}
	return fmt.Sprintf(" For the shortest waits take %s: their p99 is %s.", report.Int(p.Size), report.Micros(p.P99Us))
}

// sharedAdvice compares with the shared lane.
func (r *PoolResult) sharedAdvice(at *PoolPoint) string {
	s := r.Shared
	if s == nil || s.Share == nil || at.Rate.Median <= 0 {
		return ""
	}
	text := fmt.Sprintf(" The shared lane gets %s the rate of that pool over %s", report.Times(s.Rate.Median/at.Rate.Median), report.Plural(s.Size, "connection", "connections"))
	if at.P99Us > 0 {
		text += ", with a p99 of " + report.Micros(s.P99Us)
	}
	if s.Rate.Low > at.Rate.High {
		text += ": use it where calls need no connection of their own"
	}
	return text + "."
}

// noneLeft is the share of all its processors beyond which a process, or a machine, has
// none left.
const noneLeft = 0.9

// limits says what else than the server may have set the rates.
func (r *PoolResult) limits(at *PoolPoint) string {
	text := ""
	if own := at.OwnCPUShare; own != nil && r.Environment.CPUs > 0 {
		cpus := float64(r.Environment.CPUs)
		switch all := *own + known(at.ServerCPUShare); {
		case *own > noneLeft*cpus:
			text += fmt.Sprintf(" %s: this process used %s of its %s processors, so a faster client machine would show more.", GeneratorBound, report.Short(*own), report.Int(r.Environment.CPUs))
		case r.Environment.ServerKind == ServerPrivate && all > noneLeft*cpus:
			text += fmt.Sprintf(" Server and callers share a machine of %s processors and used %s of them: on machines of their own both would do more.", report.Int(r.Environment.CPUs), report.Short(all))
		}
	}
	var failed int64
	first := ""
	for i := range r.Points {
		if failed += r.Points[i].Errors; first == "" {
			first = r.Points[i].Error
		}
	}
	if r.Shared != nil {
		if failed += r.Shared.Errors; first == "" {
			first = r.Shared.Error
		}
	}
	if failed > 0 {
		text += fmt.Sprintf(" %s failed, the first with: %s.", report.Plural(failed, "call", "calls"), first)
	}
	return text
}

// known is a number, 0 where it is not known.
func known(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// rows yields the points with their names in tables.
func (r *PoolResult) rows(each func(name string, p *PoolPoint)) {
	for i := range r.Points {
		each(report.Int(r.Points[i].Size), &r.Points[i])
	}
	if r.Shared != nil {
		each("shared, "+report.Int(r.Shared.Size), r.Shared)
	}
}

func (r *PoolResult) note(p *PoolPoint) string {
	if p == r.Shared {
		return ""
	}
	note := ""
	for _, mark := range []struct {
		size int
		name string
	}{{r.KneeSize, "knee"}, {r.EnoughSize, "enough"}, {r.BestSize, "best"}, {r.P99Size, "short"}} {
		if mark.size == p.Size {
			if note != "" {
				note += ", "
			}
			note += mark.name
		}
	}
	return note
}

func (r *PoolResult) ratesSection() report.Section {
	t := report.Table{
		Columns: []report.Column{
			{Name: "connections"},
			{Name: "rate", Unit: "1/s"},
			{Name: "of the best", Unit: "%"},
			{Name: "p50", Unit: "µs"},
			{Name: "p99", Unit: "µs"},
			{Name: "waited", Unit: "µs"},
			{Name: "errors"},
			{Name: "", Text: true},
		},
		Caption: fmt.Sprintf("Rates are medians over %s; of the best: its ratio in the same round, with its 95 %% interval. A call's time includes its wait for a connection; waited: the mean of that. "+
			"Knee: the smallest with 90 %% of the best rate; enough: the smallest with 95 %%; short: the smallest whose p99 is at most 10 %% longer than the shortest.", report.Plural(r.Params.Rounds, "round", "rounds")),
	}
	r.rows(func(name string, p *PoolPoint) {
		share, wait := "–", "–"
		if p.Share != nil {
			share = interval(&Estimate{Median: p.Share.Median * 100, Low: p.Share.Low * 100, High: p.Share.High * 100}, 0)
		}
		if p.WaitUs != nil {
			wait = report.Fixed(*p.WaitUs, 0)
		}
		t.Rows = append(t.Rows, []string{
			name, report.Fixed(p.Rate.Median, 0), share, report.Fixed(p.P50Us, 0), report.Fixed(p.P99Us, 0), wait, report.Int(p.Errors), r.note(p),
		})
	})
	load := fmt.Sprintf("%s call %s", report.Plural(r.Params.Callers, "caller", "callers"), r.Params.Command)
	if r.Params.ThinkUs > 0 {
		load += fmt.Sprintf(", each after a rest of %s on average", report.Micros(r.Params.ThinkUs))
	} else {
		load += " again and again, without a rest: the hardest load that they can make"
	}
	return report.Section{
		Heading: "Connections in the pool",
		Prose:   []string{load + ". A call leases a connection for one command and gives it back."},
		Plots:   r.plots(),
		Tables:  []report.Table{t},
	}
}

func (r *PoolResult) costSection() report.Section {
	t := report.Table{
		Columns: []report.Column{
			{Name: "connections"},
			{Name: "server CPU", Unit: "µs each"},
			{Name: "own CPU", Unit: "µs each"},
			{Name: "server", Unit: "% of a CPU"},
			{Name: "own", Unit: "% of a CPU"},
		},
		Caption: "Own: this process's, the callers and the client in it. More than 100 % is more than one CPU.",
	}
	r.rows(func(name string, p *PoolPoint) {
		t.Rows = append(t.Rows, []string{name, precise(p.ServerPerOpUs), precise(p.OwnPerOpUs), portion(p.ServerCPUShare), portion(p.OwnCPUShare)})
	})
	return report.Section{Heading: "What a call costs", Tables: []report.Table{t}}
}

// plots draw rate and times over the size, with the fit.
func (r *PoolResult) plots() []report.Plot {
	axis := report.Axis{Label: "connections in the pool", LogBase: 2}
	rates := report.Plot{
		Title: "Calls per second", Caption: "Where the line turns flat, more connections buy nothing; where it falls, they cost. Dashed: the fit, and the shared lane for comparison.",
		XAxis: axis, YAxis: report.Axis{Label: "calls", Unit: "1/s"}, Series: []report.Series{{Name: "rate"}},
	}
	times := report.Plot{
		Title: "Time of a call", Caption: "Its wait for a connection included. The scale is logarithmic.",
		XAxis: axis, YAxis: report.Axis{Label: "time", Unit: "µs", LogBase: 10}, Series: []report.Series{{Name: "p50"}, {Name: "p99"}, {Name: "waited, mean", Dashed: true}},
	}
	fit, shared := report.Series{Name: "fit", Dashed: true}, report.Series{Name: "shared lane", Dashed: true}
	for i := range r.Points {
		p := &r.Points[i]
		rates.X = append(rates.X, float64(p.Size))
		rates.Series[0].Y = append(rates.Series[0].Y, p.Rate.Median)
		if r.Fit != nil {
			fit.Y = append(fit.Y, r.Fit.at(float64(min(p.Size, r.Params.Callers))))
		}
		if r.Shared != nil {
			shared.Y = append(shared.Y, r.Shared.Rate.Median)
		}
		wait := math.NaN()
		if p.WaitUs != nil {
			wait = *p.WaitUs
		}
		for k, y := range []float64{p.P50Us, p.P99Us, wait} {
			times.Series[k].Y = append(times.Series[k].Y, y)
		}
	}
	times.X = rates.X
	for _, s := range []report.Series{fit, shared} {
		if len(s.Y) > 0 {
			rates.Series = append(rates.Series, s)
		}
	}
	return []report.Plot{rates, times}
}

// goodFit is the least R² of a fit that is worth a conclusion.
const goodFit = 0.9

func (r *PoolResult) fitSection() report.Section {
	f := r.Fit
	s := report.Section{
		Heading: "The Universal Scalability Law",
		Tables: []report.Table{{
			Columns: []report.Column{{Name: "number", Text: true}, {Name: "value"}, {Name: "what it is", Text: true}},
			Rows: [][]string{
				{"λ", report.Fixed(f.LambdaPerS, 0) + "/s", "the rate of one connection"},
				{"σ", report.Short(f.Sigma), "contention: the share of the work that is done one after the other"},
				{"κ", report.Fixed(f.Kappa, 6), "coherency: what each connection costs each other one"},
				{"R²", report.Fixed(f.R2, 3), "the share of the rates' variance that the fit explains"},
			},
			Caption: "X(n) = λ·n / (1 + σ·(n−1) + κ·n·(n−1)), by Neil J. Gunther; n is the size, or the callers where these are fewer. Fitted to the medians by least squares of the relative errors.",
		}},
	}
	switch {
	case f.R2 < goodFit:
		s.Prose = append(s.Prose, fmt.Sprintf("The law explains only %s of the variance: it describes these rates badly, so conclude nothing from its numbers.", percent(f.R2)))
	case f.PeakN != nil:
		text := fmt.Sprintf("The fitted rate is highest with %s connections (%s per second)", report.Short(*f.PeakN), report.Short(*f.PeakPerS))
		if *f.PeakN > float64(r.Points[len(r.Points)-1].Size) || *f.PeakN > float64(r.Params.Callers) {
			s.Prose = append(s.Prose, text+", which is beyond what was measured: within it, more never hurt.")
		} else {
			s.Prose = append(s.Prose, text+"; beyond that, each one more costs the others more than it brings.")
		}
	case f.Sigma > 0:
		s.Prose = append(s.Prose, fmt.Sprintf("The fit has no peak: more connections bring less and less, up to %s per second, but do not hurt.", report.Short(f.LambdaPerS/f.Sigma)))
	default:
		s.Prose = append(s.Prose, "The rate grows in proportion to the connections, as far as was measured: sweep on.")
	}
	return s
}
