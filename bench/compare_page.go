package bench

import (
	"fmt"
	"io"
	"strings"

	"github.com/evenkeel-go/evenkeel/report"
)

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *CompareResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *CompareResult) Page() report.Page {
	p := report.Page{Title: "A and B", Lead: r.lead(), Facts: r.facts()}
	for i := range r.Metrics {
		m := &r.Metrics[i]
		p.Figures = append(p.Figures, report.Figure{Label: m.Name + ", B ÷ A", Value: ratioText(m.Ratio.Median), Note: m.verdictText()})
	}
	if len(r.Metrics) > 0 {
		p.Sections = append(p.Sections, r.metricsSection())
	}
	if len(r.Pairs) > 0 {
		p.Sections = append(p.Sections, r.pairsSection())
	}
	if len(r.Differences) > 0 {
		p.Sections = append(p.Sections, r.differencesSection())
	}
	if r.A.Failed+r.B.Failed > 0 {
		p.Sections = append(p.Sections, r.failuresSection())
	}
	return interrupted(p, r.Interrupted)
}

func ratioText(ratio float64) string { return report.Fixed(ratio, 3) }

// span is the interval alone.
func span(e *Estimate) string { return ratioText(e.Low) + " to " + ratioText(e.High) }

func (m *CompareMetric) verdictText() string {
	switch m.Verdict {
	case VerdictBetter:
		return "B is better"
	case VerdictWorse:
		return "B is worse"
	default:
		return "no difference shown"
	}
}

func (r *CompareResult) lead() string {
	if len(r.Metrics) == 0 {
		return "No pair of turns was completed, so there is nothing to say."
	}
	var differ, same []string
	for i := range r.Metrics {
		m := &r.Metrics[i]
		if m.Verdict == VerdictNone {
			same = append(same, fmt.Sprintf("%s (%s, while %s %s)", m.Name, span(&m.Ratio), r.itself(), span(&m.Noise)))
			continue
		}
		differ = append(differ, fmt.Sprintf("%s is %s times A's (%s), which is %s", m.Name, ratioText(m.Ratio.Median), span(&m.Ratio), m.Verdict))
	}
	var out []string
	if len(differ) > 0 {
		out = append(out, "B's "+report.List(differ)+".")
	}
	if len(same) > 0 {
		out = append(out, "No difference that these measurements can show: "+report.List(same)+".")
	}
	if n := min(len(r.Pairs), len(r.Noise)); r.Paired && n < minPairs {
		out = append(out, fmt.Sprintf("%s are too few to call a difference; %d are needed.", report.Plural(n, "pair", "pairs"), minPairs))
	}
	if !r.Paired {
		out = append(out, "They were not taken by turns: whatever else changed between them is in these figures too.")
	}
	var bound []string
	for _, side := range []struct {
		name string
		s    *CompareSide
	}{{"A", &r.A}, {"B", &r.B}} {
		if side.s.Failed > 0 {
			out = append(out, fmt.Sprintf("%s of %s's requests failed (%s) and are in no figure.", report.Percent(side.s.failedShare()), side.name, sayCounts(side.s.Errors)))
		}
		if n := side.s.bound(); n != "" {
			bound = append(bound, n+" of "+side.name)
		}
	}
	if len(bound) > 0 {
		out = append(out, fmt.Sprintf("%s: in %s the generator was the limit, so that a difference of the servers may be larger.", GeneratorBound, report.List(bound)))
	}
	return strings.Join(out, " ")
}

// itself says what noise was measured by.
func (r *CompareResult) itself() string {
	if r.Paired {
		return "A against itself has"
	}
	return "each by itself wandered by"
}

func (r *CompareResult) metricsSection() report.Section {
	s := report.Section{Heading: "Figures", Prose: []string{fmt.Sprintf(
		"A ratio is B's figure over A's. Its interval is wide enough for all %d of them to be right with 95 %% confidence. A difference is called only when the interval excludes 1 and the "+
			"ratio lies beyond the noise.", len(r.Metrics))}}
	if r.Paired {
		s.Prose[0] += " The noise is how far A against itself is from 1, taken in the same way just before."
	} else {
		s.Prose[0] += " The noise is how far each run wandered from its first half to its second."
	}
	t := report.Table{Columns: []report.Column{
		{Name: "figure", Text: true}, {Name: "A"}, {Name: "B"}, {Name: "unit", Text: true}, {Name: "B ÷ A"}, {Name: "interval"}, {Name: "noise"}, {Name: "verdict", Text: true},
	}}
	for i := range r.Metrics {
		m := &r.Metrics[i]
		t.Rows = append(t.Rows, []string{
			m.Name, report.Short(m.A), report.Short(m.B), m.Unit, ratioText(m.Ratio.Median), span(&m.Ratio), span(&m.Noise), m.verdictText(),
		})
	}
	s.Tables = append(s.Tables, t)
	return s
}

func (r *CompareResult) pairsSection() report.Section {
	s := report.Section{Heading: "Pairs", Detail: true}
	t := report.Table{Columns: []report.Column{{Name: "pair"}, {Name: "first", Text: true}}}
	for _, kind := range metricKinds {
		t.Columns = append(t.Columns, report.Column{Name: "A " + kind.name, Unit: kind.unit}, report.Column{Name: "B " + kind.name, Unit: kind.unit})
	}
	var plots []report.Plot
	for range metricKinds {
		plots = append(plots, report.Plot{
			XAxis: report.Axis{Label: "pair"}, YAxis: report.Axis{Label: "ratio", LogBase: 2},
			Series: []report.Series{{Name: "B ÷ A"}, {Name: "A against itself"}, {Name: "the same", Dashed: true}},
		})
	}
	for i, p := range r.Pairs {
		first := "AB"[(r.PairsWanted+i)%2 : (r.PairsWanted+i)%2+1]
		row := []string{report.Int(i + 1), first}
		for n, kind := range metricKinds {
			row = append(row, report.Short(kind.of(p.A)), report.Short(kind.of(p.B)))
			plots[n].Title = "B's " + kind.name + " over A's"
			plots[n].X = append(plots[n].X, float64(i+1))
			ratio, noise := kind.of(p.B)/kind.of(p.A), 0.0 // no point of what is missing
			if i < len(r.Noise) {
				noise = kind.of(r.Noise[i].B) / kind.of(r.Noise[i].A)
			}
			for k, y := range []float64{ratio, noise, 1} {
				plots[n].Series[k].Y = append(plots[n].Series[k].Y, y)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	s.Plots, s.Tables = plots, []report.Table{t}
	return s
}

func (r *CompareResult) differencesSection() report.Section {
	t := report.Table{Columns: []report.Column{{Name: "what differs besides, A's and B's", Text: true}}}
	for _, d := range r.Differences {
		t.Rows = append(t.Rows, []string{d})
	}
	return report.Section{Heading: "What else differs", Tables: []report.Table{t}}
}

func (r *CompareResult) failuresSection() report.Section {
	t := report.Table{Columns: []report.Column{{Name: "what failed", Text: true}, {Name: "A"}, {Name: "B"}}}
	codes := map[string]int64{}
	for _, side := range []*CompareSide{&r.A, &r.B} {
		for code, n := range side.Errors {
			codes[code] += n
		}
	}
	for _, code := range byCount(codes) {
		t.Rows = append(t.Rows, []string{code, report.Int(r.A.Errors[code]), report.Int(r.B.Errors[code])})
	}
	return report.Section{Heading: "What failed", Tables: []report.Table{t}}
}

func (r *CompareResult) facts() []report.Fact {
	var facts []report.Fact
	for _, side := range []struct {
		name string
		s    *CompareSide
	}{{"A", &r.A}, {"B", &r.B}} {
		if side.s.Name != "" {
			facts = append(facts, report.Fact{Name: side.name, Value: side.s.Name})
		}
		for _, f := range side.s.Environment.facts() {
			if side.name == "B" && f.Name != "server" && f.Name != "settings" && r.Paired {
				continue // it is A's machine
			}
			facts = append(facts, report.Fact{Name: side.name + ", " + f.Name, Value: f.Value})
		}
		facts = append(facts,
			report.Fact{Name: side.name + ", load", Value: side.s.Params.text()},
			report.Fact{Name: side.name + ", what was sent", Value: side.s.Workload.Caption()})
	}
	if r.Paired {
		facts = append(facts, report.Fact{Name: "turns", Value: fmt.Sprintf("%s of %s each, after %s of A with itself",
			report.Plural(len(r.Pairs), "pair", "pairs"), report.Micros(r.SlotS*1e6), report.Plural(len(r.Noise), "pair", "pairs"))})
	}
	return facts
}
