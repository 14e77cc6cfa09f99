package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strconv"
)

//go:embed assets page
var files embed.FS

// WriteHTML writes the page as one HTML file that needs nothing beside it. Its
// Content-Security-Policy admits the embedded style and scripts by their hash
// and nothing else. A plot that cannot be drawn (positions that are not
// ascending, series of another length) is an error, and nothing is written.
func WriteHTML(w io.Writer, p Page) error {
	v := pageView{Page: p}
	if err := v.load(); err != nil {
		return err
	}
	for _, s := range p.Sections {
		sv := sectionView{Section: s}
		for _, b := range s.Bars {
			sv.BarViews = append(sv.BarViews, viewBars(b))
		}
		for _, pl := range s.Plots {
			if err := pl.check(); err != nil {
				return err
			}
			sv.PlotViews = append(sv.PlotViews, plotView{Title: pl.Title, Caption: pl.Caption, Kind: "lines", Data: pl.data()})
		}
		for _, m := range s.HeatMaps {
			if err := m.check(); err != nil {
				return err
			}
			sv.PlotViews = append(sv.PlotViews, plotView{Title: m.Title, Caption: m.Caption, Kind: "heat", Data: m.data()})
		}
		if s.Detail {
			v.DetailViews = append(v.DetailViews, sv)
		} else {
			v.SectionViews = append(v.SectionViews, sv)
		}
	}
	unit := regexp.MustCompile(`(\d) (%|(?:µs|ms|s|B|KiB|MiB|GiB|TiB)\b)`)
	funcs := template.FuncMap{
		"cell": cell,
		// A number and its unit stay on one line.
		"glue": func(s string) string { return unit.ReplaceAllString(s, "$1\u00a0$2") },
	}
	tmpl, err := template.New("page.html").Funcs(funcs).ParseFS(files, "page/page.html")
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := tmpl.Execute(&buf, v); err != nil {
		return err
	}
	_, err = w.Write(buf.Bytes())
	return err
}

type pageView struct {
	Page
	SectionViews []sectionView
	DetailViews  []sectionView
	Policy       string
	Style        template.CSS
	Library      template.JS
	Script       template.JS
}

type sectionView struct {
	Section
	BarViews  []barsView
	PlotViews []plotView
}

type plotView struct {
	Title, Caption string
	// Kind is the class by which the page's script knows how to draw Data.
	Kind string
	Data any
}

type barsView struct {
	Bars
	Views []barView
}

type barView struct {
	Bar
	// Length is a percentage of the largest bar.
	Length string
}

func viewBars(b Bars) barsView {
	v := barsView{Bars: b}
	for i, share := range shares(b.Items) {
		length := strconv.FormatFloat(share*100, 'f', 2, 64) + "%"
		v.Views = append(v.Views, barView{Bar: b.Items[i], Length: length})
	}
	return v
}

// load fills in the page's own style and scripts, and the policy that admits
// exactly these.
func (v *pageView) load() error {
	var parts [5][]byte
	for i, name := range []string{"assets/uPlot.min.css", "page/page.css", "assets/uPlot.LICENSE", "assets/uPlot.iife.min.js", "page/page.js"} {
		b, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		// The parser would end the element there and show the rest as text.
		if bytes.Contains(b, []byte("</s")) || bytes.Contains(b, []byte("<!--")) {
			return fmt.Errorf("report: %s would end its own element", name)
		}
		parts[i] = b
	}
	style := slices.Concat(parts[0], []byte("\n"), parts[1])
	// The licence asks that its text goes wherever the library goes.
	library := slices.Concat([]byte("/*!\n"), parts[2], []byte("*/\n"), parts[3])
	script := parts[4]
	v.Style, v.Library, v.Script = template.CSS(style), template.JS(library), template.JS(script)
	v.Policy = fmt.Sprintf("default-src 'none'; style-src %s; script-src %s %s; base-uri 'none'; form-action 'none'",
		sourceHash(style), sourceHash(library), sourceHash(script))
	return nil
}

func sourceHash(b []byte) string {
	sum := sha256.Sum256(b)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
