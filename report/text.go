package report

import (
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Widths of text output in columns: anything given to [WriteText] is brought
// into these bounds, and DefaultWidth is for output that is no terminal.
const (
	MinWidth     = 60
	MaxWidth     = 120
	DefaultWidth = 100
)

// WriteText writes the page for a terminal of the given width in columns,
// brought into [MinWidth, MaxWidth]; 0 means [DefaultWidth]. Plots are left out,
// and the words of a section follow its numbers: what it means is then what
// stands last on the screen. Control characters are replaced, so that no cell can move the cursor.
func WriteText(w io.Writer, p Page, width int) error {
	if width == 0 {
		width = DefaultWidth
	}
	t := textWriter{width: min(max(width, MinWidth), MaxWidth)}
	t.page(p)
	_, err := io.WriteString(w, t.String())
	return err
}

type textWriter struct {
	strings.Builder
	width int
}

func (t *textWriter) line(s string) {
	t.WriteString(strings.TrimRight(s, " "))
	t.WriteByte('\n')
}

func (t *textWriter) page(p Page) {
	title := clean(p.Title)
	t.line(title)
	t.line(strings.Repeat("=", utf8.RuneCountInString(title)))
	if p.Lead != "" {
		t.line("")
		t.paragraph("", p.Lead)
	}
	if len(p.Figures) > 0 {
		t.line("")
		t.figures(p.Figures)
	}
	for _, s := range p.Sections {
		t.section(s)
	}
	if len(p.Facts) > 0 {
		t.line("")
		t.facts(p.Facts)
	}
}

func (t *textWriter) section(s Section) {
	heading := clean(s.Heading)
	t.line("")
	t.line(heading)
	t.line(strings.Repeat("-", utf8.RuneCountInString(heading)))
	for _, b := range s.Bars {
		t.line("")
		t.bars(b)
	}
	for _, tab := range s.Tables {
		t.line("")
		t.table(tab)
	}
	for _, p := range s.Prose {
		t.line("")
		t.paragraph("", p)
	}
}

func (t *textWriter) figures(figures []Figure) {
	label, value := 0, 0
	for _, f := range figures {
		label = max(label, width(clean(f.Label)))
		value = max(value, width(clean(f.Value)))
	}
	for _, f := range figures {
		head := "  " + pad(clean(f.Label), label, false) + "  " + pad(clean(f.Value), value, true)
		if f.Note == "" {
			t.line(head)
			continue
		}
		t.hanging(head+"  ", f.Note)
	}
}

func (t *textWriter) facts(facts []Fact) {
	name := 0
	for _, f := range facts {
		name = max(name, width(clean(f.Name)))
	}
	for _, f := range facts {
		t.hanging(pad(clean(f.Name), name, false)+"  ", f.Value)
	}
}

func (t *textWriter) bars(b Bars) {
	if b.Title != "" {
		t.line(clean(b.Title))
	}
	label, text := 0, 0
	for _, it := range b.Items {
		label = max(label, width(clean(it.Label)))
		text = max(text, width(clean(it.Text)))
	}
	room := max(t.width-label-text-6, 10)
	for i, share := range shares(b.Items) {
		it := b.Items[i]
		n := int(math.Round(share * float64(room)))
		if n == 0 && share > 0 {
			n = 1
		}
		t.line("  " + pad(clean(it.Label), label, false) + "  " + pad(clean(it.Text), text, true) + "  " + strings.Repeat("▇", n))
	}
	if b.Caption != "" {
		t.paragraph("  ", b.Caption)
	}
}

// shares returns each item's value as a fraction of the largest.
func shares(items []Bar) []float64 {
	out := make([]float64, len(items))
	top := 0.0
	for i, it := range items {
		if it.Value > 0 && !math.IsInf(it.Value, 0) {
			out[i] = it.Value
			top = max(top, it.Value)
		}
	}
	for i := range out {
		if top > 0 {
			out[i] /= top
		}
	}
	return out
}

// minWrapped is the least room in which the words of a last column are broken.
const minWrapped = 24

// table prints the columns side by side. If they are too wide, the words of a
// last column of text are broken into lines; if that does not do, the table is
// broken into several under one another, each beginning with the first column.
func (t *textWriter) table(tab Table) {
	if tab.Title != "" {
		t.line(clean(tab.Title))
	}
	last := len(tab.Columns) - 1
	widths := make([]int, len(tab.Columns))
	total := 0
	for i, c := range tab.Columns {
		widths[i] = max(width(clean(c.Name)), width(clean(c.Unit)))
		for _, row := range tab.Rows {
			widths[i] = max(widths[i], width(clean(cell(row, i))))
		}
		total += 2 + widths[i]
	}
	if over := total - t.width; over > 0 && tab.Columns[last].Text {
		room := t.width - 4 - widths[0]
		if widths[last]-over >= minWrapped {
			room = widths[last] - over
		}
		widths[last] = max(min(widths[last], room), 1)
	}
	for first := 1; ; {
		end, used := first, 0
		if len(widths) > 0 {
			used = 2 + widths[0]
		}
		for end < len(widths) && (end == first || used+2+widths[end] <= t.width) {
			used += 2 + widths[end]
			end++
		}
		t.block(tab, widths, first, end)
		if end >= len(widths) {
			break
		}
		t.line("")
		first = end
	}
	if tab.Caption != "" {
		t.paragraph("  ", tab.Caption)
	}
}

// block prints the first column and those from first up to end.
func (t *textWriter) block(tab Table, widths []int, first, end int) {
	row := func(get func(i int) string) {
		var b strings.Builder
		for i := range widths {
			text := clean(get(i))
			switch {
			case i > 0 && (i < first || i >= end):
			case width(text) > widths[i]:
				// The last column, too wide for the line.
				head := b.String() + "  "
				t.wrap(head, strings.Repeat(" ", width(head)), text)
				return
			default:
				b.WriteString("  ")
				b.WriteString(pad(text, widths[i], !tab.Columns[i].Text))
			}
		}
		t.line(b.String())
	}
	row(func(i int) string { return tab.Columns[i].Name })
	for i, c := range tab.Columns {
		if c.Unit != "" && (i == 0 || (i >= first && i < end)) {
			row(func(i int) string { return tab.Columns[i].Unit })
			break
		}
	}
	row(func(i int) string { return strings.Repeat("─", widths[i]) })
	for _, r := range tab.Rows {
		row(func(i int) string { return cell(r, i) })
	}
}

func cell(row []string, i int) string {
	if i < len(row) {
		return row[i]
	}
	return ""
}

// paragraph breaks s at blanks; a word longer than the line stays whole.
func (t *textWriter) paragraph(indent, s string) { t.wrap(indent, indent, s) }

// hanging prints head, then s with its further lines indented below its first.
func (t *textWriter) hanging(head, s string) {
	t.wrap(head, strings.Repeat(" ", width(head)), s)
}

func (t *textWriter) wrap(first, rest, s string) {
	line, empty := first, true
	for word := range strings.FieldsSeq(clean(s)) {
		if !empty && width(line)+1+width(word) > t.width {
			t.line(line)
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	t.line(line)
}

// width counts code points: the package's own words hold no wide glyphs.
func width(s string) int { return utf8.RuneCountInString(s) }

func pad(s string, to int, right bool) string {
	fill := strings.Repeat(" ", max(to-width(s), 0))
	if right {
		return fill + s
	}
	return s + fill
}

// Line makes s safe to print on a terminal as part of one line: what a terminal
// would obey or could not show is replaced.
func Line(s string) string { return clean(s) }

func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsPrint(r) || r == '\u00a0':
			return r
		default:
			return '\ufffd'
		}
	}, s)
}
