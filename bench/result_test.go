package bench_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

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

func env(kind bench.ServerKind) bench.Environment {
	return bench.Environment{
		Time:     time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Evenkeel: "v0.1.0", Go: "go1.26.8", OS: "linux", Arch: "amd64", CPUs: 2,
		ServerKind: kind, Server: "redis", ServerVersion: "7.0.15",
	}
}

func churn(kind bench.ServerKind) *bench.ChurnResult {
	r := bench.NewChurnResult(env(kind), bench.DefaultChurnOptions())
	add := func(mode bench.ChurnMode, base time.Duration, openMax int, second func(i int) bench.ChurnSecond) {
		m := bench.ChurnModeResult{Mode: mode}
		lat := bench.NewLatency()
		for i := range 6 {
			s := second(i)
			s.T = float64(i + 1)
			m.Seconds = append(m.Seconds, s)
			lat.Record(base + time.Duration(i)*base/10)
		}
		m.Summarise(lat, openMax, 0)
		r.Modes = append(r.Modes, m)
	}
	add(bench.ChurnCloseSurplus, 9*time.Millisecond, 252, func(i int) bench.ChurnSecond {
		return bench.ChurnSecond{Open: 250 - i%2, New: 652 - 60*i, Available: i % 3, Pings: int64(22000 + 100*i), MeanUs: 9500 + 100*float64(i)}
	})
	add(bench.ChurnOverflow, 5*time.Millisecond, 250, func(i int) bench.ChurnSecond {
		return bench.ChurnSecond{Open: 250, New: []int{250, 4, 0, 2, 0, 0}[i], Available: 3, Pings: int64(36000 + 100*i), MeanUs: 5500}
	})
	add(bench.ChurnLimited, 5*time.Millisecond, 79, func(i int) bench.ChurnSecond {
		return bench.ChurnSecond{Open: 29 + 10*i, New: max(10, 29*(1-i)), Available: 0, Pings: int64(34000 + 100*i), MeanUs: 6000}
	})
	add(bench.ChurnShared, 400*time.Microsecond, 2, func(i int) bench.ChurnSecond {
		return bench.ChurnSecond{Open: 2, New: max(0, 2-2*i), Available: 2, Pings: int64(210000 + 1000*i), MeanUs: 410}
	})
	for i := range 6 {
		r.Modes[1].Drain = append(r.Modes[1].Drain, bench.ChurnDrain{T: float64(i), Open: 250 - 2*i, Expected: 250 - 2.4*float64(i)})
	}
	return r
}

func connect(kind bench.ServerKind) *bench.ConnectResult {
	r := bench.NewConnectResult(env(kind), bench.DefaultConnectOptions())
	add := func(mode bench.ConnectMode, auth, tls bool, us int, conns int64, layers map[string]float64) {
		lat := bench.NewLatency()
		for i := range 1000 {
			lat.Record(time.Duration(us*1000 + i*us/5))
		}
		row := bench.ConnectRow{Mode: mode, Auth: auth, TLS: tls, WallS: lat.MeanUs() * 1e-3, CPUUserS: new(0.1), CPUSysS: new(0.2), NewConnectionsServer: new(conns), LayersUs: layers}
		if !tls {
			row.CPUServerS = new(0.25)
		}
		row.SetLatency(lat)
		r.Rows = append(r.Rows, row)
	}
	add(bench.ConnectReuse, false, false, 48, 1, map[string]float64{})
	add(bench.ConnectReconnect, false, false, 265, 10_000, map[string]float64{bench.LayerTCP: 88.1, bench.LayerFirstCommand: 52.5})
	add(bench.ConnectReuse, true, false, 49, 1, map[string]float64{})
	add(bench.ConnectReconnect, true, false, 312, 10_000, map[string]float64{bench.LayerTCP: 89, bench.LayerAuth: 61.2, bench.LayerFirstCommand: 52})
	add(bench.ConnectReuse, false, true, 55, 1, map[string]float64{})
	add(bench.ConnectReconnect, false, true, 2100, 4_700, map[string]float64{bench.LayerTCP: 88, bench.LayerTLSFull: 1650, bench.LayerTLSResumed: 610, bench.LayerFirstCommand: 70})
	r.Compare()
	return r
}

func storm() *bench.StormResult {
	r := bench.NewStormResult(env(bench.ServerPrivate), bench.DefaultStormOptions())
	r.Phases = []bench.StormPhase{
		{Name: bench.PhaseBefore, DialsServer: 100, DialsUnderWayMax: 2, OK: 120_000, Failed: map[string]int64{}},
		{Name: bench.PhaseDuring, DialsServer: 1, DialsUnderWayMax: 1, OK: 200, Failed: map[string]int64{"deadline": 11_800, "stalled": 100}, LateMaxMs: 3.1, LateP999Ms: 1.2},
		{Name: bench.PhaseAfter, DialsServer: 99, DialsUnderWayMax: 2, OK: 296_000, Failed: map[string]int64{"deadline": 40}, LateMaxMs: 0.4, LateP999Ms: 0.1},
	}
	r.OpenMaxServer, r.GoroutinesBefore, r.GoroutinesAfter, r.RecoveryMs = 100, 4, 4, new(310.0)
	for i := range 100 {
		p := bench.StormPoint{TMs: float64(i+1) * 100, OKPerS: 60_000, OpenServer: 100}
		switch {
		case i < 2:
			p.OpenServer, p.DialsServer = 50*(i+1), 50
		case i >= 20 && i < 50:
			p.OKPerS, p.FailedPerS = 0, 4_000
		case i >= 50 && i < 53:
			p.OKPerS, p.DialsServer = float64(i-49)*15_000, 33
		}
		r.Timeline = append(r.Timeline, p)
	}
	r.Judge()
	return r
}

func depth() *bench.DepthResult {
	r := bench.NewDepthResult(env(bench.ServerPrivate), bench.DefaultDepthOptions())
	for i, d := range bench.DefaultDepthOptions().Depths {
		rate := []float64{67_000, 210_000, 710_000, 830_000, 880_000, 900_000}[i]
		p := bench.DepthPoint{Depth: d, Commands: int64(rate), OpsPerS: rate, AvgUs: float64(10*d) / rate * 1e6, P50Us: float64(9*d) / rate * 1e6, P99Us: float64(30*d) / rate * 1e6}
		if d == 1024 {
			p.Commands = 90_000
		}
		r.Points = append(r.Points, p)
	}
	r.FindKnee()
	return r
}

func poolSize() *bench.PoolSizeResult {
	r := bench.NewPoolSizeResult(env(bench.ServerPrivate), bench.DefaultPoolSizeOptions())
	for i, size := range bench.DefaultPoolSizeOptions().Sizes {
		rate := []float64{20_000, 38_000, 74_000, 128_000, 139_000, 141_000, 133_000, 120_000}[i]
		r.Points = append(r.Points, bench.PoolSizePoint{Size: size, OpsPerS: rate, P50Us: 200 / rate * 1e6, P99Us: 700 / rate * 1e6})
	}
	r.FindKnee()
	return r
}

func demo(kind bench.ServerKind) *bench.DemoResult {
	r := bench.NewDemoResult(env(kind))
	r.Connect, r.Churn = connect(kind), churn(kind)
	r.Depth, r.PoolSize = depth(), poolSize()
	r.Suggest()
	return r
}

type renderer interface{ Page() report.Page }

func TestGolden(t *testing.T) {
	for name, r := range map[string]renderer{
		"churn":        churn(bench.ServerPrivate),
		"connect":      connect(bench.ServerPrivate),
		"storm":        storm(),
		"idle":         idle(),
		"layers":       layers(),
		"slow-readers": slowReaders(),
		"maxclients":   maxClients(),
		"zones":        zones(),
		"pipeline":     pipelines(),
		"pool":         pools(),
		"depth":        depth(),
		"poolsize":     poolSize(),
		"demo":         demo(bench.ServerPrivate),
		"embedded":     demo(bench.ServerEmbedded),
	} {
		t.Run(name, func(t *testing.T) {
			var text, doc, html bytes.Buffer
			if err := report.WriteText(&text, r.Page(), 100); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", text.Bytes())
			if err := report.WriteJSON(&doc, r); err != nil {
				t.Fatal(err)
			}
			if name != "demo" && name != "embedded" { // made of the others
				golden(t, name+".json", doc.Bytes())
			}
			if err := report.WriteHTML(&html, r.Page()); err != nil {
				t.Fatal(err)
			}
			for _, width := range []int{80, 120} {
				text.Reset()
				if err := report.WriteText(&text, r.Page(), width); err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(text.String()) {
					if n := len([]rune(line)) - 1; n > width {
						t.Errorf("%d columns at width %d: %q", n, width, line)
					}
				}
			}
		})
	}
}

// The names are a promise to whoever reads the documents.
func TestJSONNames(t *testing.T) {
	for _, c := range []struct {
		doc  any
		want []string
	}{
		{churn(bench.ServerPrivate), []string{
			"schema", "environment", "params", "modes.0.mode", "modes.0.seconds.0.t", "modes.0.seconds.0.open", "modes.0.seconds.0.new",
			"modes.0.seconds.0.available", "modes.0.seconds.0.pings", "modes.0.seconds.0.mean_us", "modes.0.summary.pings_per_s",
			"modes.0.summary.new_total", "modes.0.summary.new_per_s_after_2s", "modes.0.summary.open_max", "modes.0.summary.open_max_server",
			"modes.0.summary.p50_us", "modes.0.summary.p99_us", "modes.0.summary.errors",
		}},
		{connect(bench.ServerPrivate), []string{
			"schema", "environment", "rows.1.mode", "rows.1.auth", "rows.1.tls", "rows.1.ops_per_s", "rows.1.avg_us", "rows.1.min_us", "rows.1.p50_us",
			"rows.1.p95_us", "rows.1.p99_us", "rows.1.max_us", "rows.1.wall_s", "rows.1.cpu_user_s", "rows.1.cpu_sys_s", "rows.1.cpu_server_s",
			"rows.1.new_connections_server", "rows.1.errors", "rows.1.layers_us.tcp", "ratios.reconnect_slowdown", "ratios.reconnect_slowdown_auth",
		}},
		{storm(), []string{
			"schema", "environment", "fault", "phases.0.name", "phases.0.dials_server", "phases.0.ok", "phases.0.failed", "phases.0.late_max_ms",
			"open_max_server", "goroutines_before", "goroutines_after", "recovery_ms",
		}},
		{demo(bench.ServerPrivate), []string{"schema", "environment", "connect.rows.0", "churn.modes.0", "depth.points.0", "poolsize.points.0", "suggestions.0.setting"}},
	} {
		b, err := json.Marshal(c.doc)
		if err != nil {
			t.Fatal(err)
		}
		var tree any
		if err := json.Unmarshal(b, &tree); err != nil {
			t.Fatal(err)
		}
		for _, path := range c.want {
			if !has(tree, strings.Split(path, ".")) {
				t.Errorf("%T: no field %s", c.doc, path)
			}
		}
	}
}

func has(tree any, path []string) bool {
	for _, step := range path {
		switch node := tree.(type) {
		case map[string]any:
			next, ok := node[step]
			if !ok {
				return false
			}
			tree = next
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(node) {
				return false
			}
			tree = node[i]
		default:
			return false
		}
	}
	return true
}

func TestChurnSummary(t *testing.T) {
	m := churn(bench.ServerPrivate).Modes[0].Summary
	if m.NewTotal != 652+592+532+472+412+352 {
		t.Errorf("new_total %d", m.NewTotal)
	}
	if want := float64(532+472+412+352) / 4; m.NewPerSAfter2s == nil || *m.NewPerSAfter2s != want {
		t.Errorf("new_per_s_after_2s %v, want %v", m.NewPerSAfter2s, want)
	}
	short := bench.ChurnModeResult{Seconds: []bench.ChurnSecond{{T: 1, New: 5}}}
	short.Summarise(bench.NewLatency(), 1, 3)
	if short.Summary.NewPerSAfter2s != nil || short.Summary.Errors != 3 {
		t.Errorf("a run of one second: %+v", short.Summary)
	}
}

func TestStormVerdicts(t *testing.T) {
	if missed := storm().Missed(); len(missed) > 0 {
		t.Fatalf("a run within its limits missed %+v", missed)
	}
	for name, spoil := range map[string]func(*bench.StormResult){
		"dials during":       func(r *bench.StormResult) { r.Phases[1].DialsServer = 2 },
		"under way during":   func(r *bench.StormResult) { r.Phases[1].DialsUnderWayMax = 3 },
		"under way after":    func(r *bench.StormResult) { r.Phases[2].DialsUnderWayMax = 3 },
		"over the limit":     func(r *bench.StormResult) { r.OpenMaxServer = 101 },
		"late":               func(r *bench.StormResult) { r.Phases[1].LateP999Ms = 5.1 },
		"slow recovery":      func(r *bench.StormResult) { r.RecoveryMs = new(1001.0) },
		"no recovery":        func(r *bench.StormResult) { r.RecoveryMs = nil },
		"leaked a goroutine": func(r *bench.StormResult) { r.GoroutinesAfter++ },
	} {
		r := storm()
		spoil(r)
		r.Judge()
		if missed := r.Missed(); len(missed) != 1 {
			t.Errorf("%s: missed %+v, want one", name, missed)
		}
	}
	r := storm()
	r.Interrupted = true
	r.Judge()
	if len(r.Verdicts) != 0 {
		t.Error("a run that was cut short was judged")
	}
}

func TestKnees(t *testing.T) {
	d := depth()
	if d.KneeDepth != 64 || !d.Points[5].Short || d.Points[4].Short {
		t.Errorf("knee %d, points %+v", d.KneeDepth, d.Points)
	}
	for i := range d.Points {
		d.Points[i].Commands = 1
	}
	d.FindKnee()
	if d.KneeDepth != 0 || !strings.Contains(d.Page().Lead, "too short") {
		t.Errorf("all short: knee %d, %q", d.KneeDepth, d.Page().Lead)
	}
	if p := poolSize(); p.KneeSize != 8 || p.BestSize != 32 {
		t.Errorf("knee %d, best %d", p.KneeSize, p.BestSize)
	}
}

// Whatever stands on a page when there is little or nothing must still render.
func TestEmptyResults(t *testing.T) {
	for _, r := range []renderer{
		bench.NewChurnResult(env(bench.ServerGiven), bench.DefaultChurnOptions()),
		bench.NewConnectResult(env(bench.ServerGiven), bench.DefaultConnectOptions()),
		bench.NewStormResult(env(bench.ServerGiven), bench.DefaultStormOptions()),
		bench.NewIdleResult(env(bench.ServerGiven), bench.DefaultIdleOptions()),
		bench.NewLayersResult(env(bench.ServerGiven), bench.DefaultLayersOptions()),
		bench.NewSlowReadersResult(env(bench.ServerGiven), bench.DefaultSlowReadersOptions()),
		bench.NewMaxClientsResult(env(bench.ServerGiven), bench.DefaultMaxClientsOptions()),
		bench.NewZonesResult(env(bench.ServerGiven), bench.DefaultZonesOptions()),
		bench.NewPipelineResult(env(bench.ServerGiven), bench.DefaultPipelineOptions()),
		bench.NewPoolResult(env(bench.ServerGiven), bench.DefaultPoolOptions()),
		bench.NewDepthResult(env(bench.ServerGiven), bench.DefaultDepthOptions()),
		bench.NewPoolSizeResult(env(bench.ServerGiven), bench.DefaultPoolSizeOptions()),
		bench.NewDemoResult(env(bench.ServerEmbedded)),
	} {
		var buf bytes.Buffer
		if err := errors.Join(report.WriteText(&buf, r.Page(), 0), report.WriteHTML(&buf, r.Page()), report.WriteJSON(&buf, r)); err != nil {
			t.Errorf("%T: %v", r, err)
		}
		if m := regexp.MustCompile(`NaN|Inf|%!`).FindString(buf.String()[:min(buf.Len(), 3000)]); m != "" {
			t.Errorf("%T says %q", r, m)
		}
	}
}
