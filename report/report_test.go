package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel-go/evenkeel/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file of testdata, or rewrites the file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update to make it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// page uses every part of the model, with text that must not get through raw.
func page() report.Page {
	return report.Page{
		Title:   "What a connection costs",
		Lead:    "A connection for each command is 5.53× slower than reuse. " + strings.Repeat("More words that have to be wrapped. ", 4),
		Figures: []report.Figure{{Label: "reuse", Value: "20,695/s"}, {Label: "reconnect", Value: "3,742/s", Note: "5.53× slower, and a note that is rather long so that it has to go on in a second line of the terminal"}},
		Sections: []report.Section{{
			Heading: "Rows",
			Prose:   []string{"Each row is one way to use a connection.", "An error of the server: <script>alert(1)</script> \x1b[31mred\nnext line."},
			Bars: []report.Bars{{Title: "Commands per second", Caption: "Longer is better.", Items: []report.Bar{
				{Label: "reuse", Value: 20695, Text: "20,695/s"},
				{Label: "reconnect", Value: 3742, Text: "3,742/s"},
				{Label: "none", Value: math.NaN(), Text: "–"},
			}}},
			Tables: []report.Table{{
				Title: "Latency",
				Columns: []report.Column{
					{Name: "mode", Text: true},
					{Name: "ops", Unit: "1/s"},
					{Name: "p99", Unit: "µs"},
				},
				Rows:    [][]string{{"reuse", "20,695", "61.2"}, {"<b>reconnect</b>", "3,742", "1,240"}, {"short row"}},
				Caption: "p99: one call in a hundred took longer.",
			}},
			Plots: []report.Plot{{
				Title:   "Open connections",
				Caption: "The shaded part is the fault.",
				XAxis:   report.Axis{Label: "time", Unit: "s"},
				YAxis:   report.Axis{Label: "open", LogBase: 10},
				X:       []float64{0, 1, 2},
				Series: []report.Series{
					{Name: "server </script>", Y: []float64{1, 0, 100}, Step: true},
					{Name: "limit", Y: []float64{100, math.Inf(1), math.NaN()}, Dashed: true},
				},
				Bands: []report.Band{{From: 1, To: 2, Label: "pause"}},
			}},
			HeatMaps: []report.HeatMap{heatMap()},
		}, {
			Heading: "Behind it",
			Detail:  true,
			Prose:   []string{"Folded up."},
		}, {
			Heading: "After the detail",
			Prose:   []string{"HTML shows this one first."},
		}},
		Facts: []report.Fact{{Name: "server", Value: "redis 7.0.15"}, {Name: "cpus", Value: "2"}},
	}
}

func heatMap() report.HeatMap {
	return report.HeatMap{
		Title: "Where the times lie", Caption: "Darker: more </script> of them.", What: "requests",
		XAxis: report.Axis{Label: "time", Unit: "s"}, YAxis: report.Axis{Label: "took", Unit: "µs", LogBase: 10},
		X: []float64{0, 1, 2}, Y: []float64{1, 10, 100, 1000}, Counts: [][]int64{{1, 200, 0}, {0, 7, 3}},
	}
}

func TestTextGolden(t *testing.T) {
	var buf bytes.Buffer
	if err := report.WriteText(&buf, page(), 80); err != nil {
		t.Fatal(err)
	}
	golden(t, "page.txt", buf.Bytes())
	for line := range strings.Lines(buf.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
		if strings.ContainsRune(line, '\x1b') {
			t.Errorf("an escape reaches the terminal: %q", line)
		}
	}
}

func TestWideTableIsBroken(t *testing.T) {
	tab := report.Table{Columns: []report.Column{{Name: "key", Text: true}}, Rows: [][]string{{"row"}}}
	for range 12 {
		tab.Columns = append(tab.Columns, report.Column{Name: "a rather wide one"})
		tab.Rows[0] = append(tab.Rows[0], "1")
	}
	var buf bytes.Buffer
	p := report.Page{Title: "wide", Sections: []report.Section{{Heading: "h", Tables: []report.Table{tab}}}}
	if err := report.WriteText(&buf, p, 80); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(buf.String(), "a rather wide one"); n != 12 {
		t.Errorf("%d of 12 columns shown", n)
	}
	if n := strings.Count(buf.String(), "row"); n != 4 {
		t.Errorf("the key column is shown %d times, want once per part (4)", n)
	}
	for line := range strings.Lines(buf.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

func TestLastTextColumnIsWrapped(t *testing.T) {
	tab := report.Table{
		Columns: []report.Column{{Name: "setting", Text: true}, {Name: "why", Text: true}},
		Rows:    [][]string{{"Size", strings.Repeat("because of the numbers ", 6) + "end"}},
	}
	var buf bytes.Buffer
	p := report.Page{Title: "wrapped", Sections: []report.Section{{Heading: "h", Tables: []report.Table{tab}}}}
	if err := report.WriteText(&buf, p, 60); err != nil {
		t.Fatal(err)
	}
	golden(t, "wrapped.txt", buf.Bytes())
}

func TestHTMLGolden(t *testing.T) {
	var buf bytes.Buffer
	if err := report.WriteHTML(&buf, page()); err != nil {
		t.Fatal(err)
	}
	// The library is long and checked by its sum.
	library := regexp.MustCompile(`(?s)<script>/\*!.*?</script>`)
	golden(t, "page.html", library.ReplaceAll(buf.Bytes(), []byte("<script>uPlot</script>")))
}

func TestHTMLIsSelfContained(t *testing.T) {
	var buf bytes.Buffer
	if err := report.WriteHTML(&buf, page()); err != nil {
		t.Fatal(err)
	}
	html := buf.String()
	if m := regexp.MustCompile(`(?i)<(script|link|img|iframe)[^>]*\s(src|href)|@import|url\(`).FindString(html); m != "" {
		t.Errorf("the page loads something: %q", m)
	}
	if m := regexp.MustCompile(`\s(style|on[a-z]+)="`).FindString(html); m != "" {
		t.Errorf("the policy would block the inline attribute %q", m)
	}
	for _, raw := range []string{"<script>alert", "<b>reconnect", "server </script>"} {
		if strings.Contains(html, raw) {
			t.Errorf("%q is not escaped", raw)
		}
	}
	if !strings.Contains(html, "Copyright (c) 2022 Leon Sorokin") {
		t.Error("the licence of uPlot is missing")
	}
}

// The browser refuses a style or script whose hash is not in the policy, so a
// template that added as much as a blank would break every page.
func TestHTMLPolicyAdmitsItsParts(t *testing.T) {
	var buf bytes.Buffer
	if err := report.WriteHTML(&buf, page()); err != nil {
		t.Fatal(err)
	}
	policy := regexp.MustCompile(`Security-Policy" content="([^"]*)"`).FindStringSubmatch(buf.String())
	if policy == nil {
		t.Fatal("no policy")
	}
	got := strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(policy[1])
	parts := regexp.MustCompile(`(?s)<(?:style|script)>(.*?)</(?:style|script)>`).FindAllStringSubmatch(buf.String(), -1)
	if len(parts) != 3 {
		t.Fatalf("%d inline elements, want a style and two scripts", len(parts))
	}
	for i, p := range parts {
		sum := sha256.Sum256([]byte(p[1]))
		if hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(got, hash) {
			t.Errorf("element %d: policy %q lacks %s", i, got, hash)
		}
	}
}

func TestAssetSums(t *testing.T) {
	versions, err := os.ReadFile("assets/VERSIONS")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(versions)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		b, err := os.ReadFile(filepath.Join("assets", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(b); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s is not the file that VERSIONS names", name)
		}
	}
	if n != 3 {
		t.Errorf("%d files named, want 3", n)
	}
}

func TestPlotRefused(t *testing.T) {
	for name, p := range map[string]report.Plot{
		"descending":  {X: []float64{2, 1}},
		"nan":         {X: []float64{math.NaN()}},
		"length":      {X: []float64{1}, Series: []report.Series{{Name: "s"}}},
		"log of zero": {X: []float64{0}, XAxis: report.Axis{LogBase: 2}},
		"base":        {YAxis: report.Axis{LogBase: 3}},
		"band":        {Bands: []report.Band{{From: 1, To: math.Inf(1)}}},
	} {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			err := report.WriteHTML(&buf, report.Page{Title: "x", Sections: []report.Section{{Heading: "h", Plots: []report.Plot{p}}}})
			if err == nil || buf.Len() > 0 {
				t.Errorf("err %v and %d bytes, want an error and none", err, buf.Len())
			}
		})
	}
}

func TestHeatMapRefused(t *testing.T) {
	for name, spoil := range map[string]func(*report.HeatMap){
		"no cell":      func(m *report.HeatMap) { m.X, m.Y, m.Counts = nil, nil, nil },
		"no row":       func(m *report.HeatMap) { m.Y, m.Counts = m.Y[:1], [][]int64{{}, {}} },
		"x edges":      func(m *report.HeatMap) { m.X = m.X[:2] },
		"y edges":      func(m *report.HeatMap) { m.Y = append(m.Y, 10_000) },
		"uneven":       func(m *report.HeatMap) { m.Counts[1] = m.Counts[1][:2] },
		"an edge of 0": func(m *report.HeatMap) { m.Y[0] = 0 },
		"same edges":   func(m *report.HeatMap) { m.X[1] = m.X[0] },
		"nan":          func(m *report.HeatMap) { m.X[0] = math.NaN() },
		"base":         func(m *report.HeatMap) { m.YAxis.LogBase = 7 },
	} {
		t.Run(name, func(t *testing.T) {
			m := heatMap()
			spoil(&m)
			var buf bytes.Buffer
			err := report.WriteHTML(&buf, report.Page{Title: "x", Sections: []report.Section{{Heading: "h", HeatMaps: []report.HeatMap{m}}}})
			if err == nil || buf.Len() > 0 {
				t.Errorf("err %v and %d bytes, want an error and none", err, buf.Len())
			}
		})
	}
}

func TestJSON(t *testing.T) {
	type doc struct {
		Schema string  `json:"schema"`
		Text   string  `json:"text"`
		F      float64 `json:"f"`
	}
	var buf bytes.Buffer
	if err := report.WriteJSON(&buf, &doc{"evenkeel.test/v1", "a<b & µ", 1.5}); err != nil {
		t.Fatal(err)
	}
	golden(t, "doc.json", buf.Bytes())

	buf.Reset()
	late := struct {
		Text   string `json:"text"`
		Schema string `json:"schema"`
	}{"x", "y"}
	for _, bad := range []any{late, doc{}, []int{1}} {
		if err := report.WriteJSON(&buf, bad); !errors.Is(err, report.ErrNoSchema) {
			t.Errorf("%+v: %v, want ErrNoSchema", bad, err)
		}
	}
	if err := report.WriteJSON(&buf, doc{"s", "", math.NaN()}); err == nil {
		t.Error("NaN was accepted")
	}
	if buf.Len() > 0 {
		t.Errorf("a refused document left %q", &buf)
	}
}
