package bench_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/report"
)

// What an experiment saves can be read and shown again, also where it got nowhere.
func TestReadResult(t *testing.T) {
	env := bench.Environment{Time: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), ServerKind: bench.ServerPrivate}
	open := bench.DefaultRunOptions()
	open.Rate = 10
	for _, r := range []bench.Result{
		bench.NewRunResult(env, bench.DefaultRunOptions()), bench.NewRunResult(env, open),
		bench.NewChurnResult(env, bench.DefaultChurnOptions()), bench.NewConnectResult(env, bench.DefaultConnectOptions()),
		bench.NewStormResult(env, bench.DefaultStormOptions()), bench.NewIdleResult(env, bench.DefaultIdleOptions()),
		bench.NewMaxClientsResult(env, bench.DefaultMaxClientsOptions()), bench.NewSlowReadersResult(env, bench.DefaultSlowReadersOptions()),
		bench.NewLayersResult(env, bench.DefaultLayersOptions()), bench.NewZonesResult(env, bench.DefaultZonesOptions()),
		bench.NewPipelineResult(env, bench.DefaultPipelineOptions()), bench.NewPoolResult(env, bench.DefaultPoolOptions()),
	} {
		var doc, was, again bytes.Buffer
		if err := report.WriteJSON(&doc, r); err != nil {
			t.Fatal(err)
		}
		back, err := bench.ReadResult(&doc)
		if err != nil {
			t.Fatalf("%T: %v", r, err)
		}
		if err := report.WriteText(&was, r.Page(), 100); err != nil {
			t.Fatal(err)
		}
		if err := report.WriteText(&again, back.Page(), 100); err != nil {
			t.Fatal(err)
		}
		if was.String() != again.String() {
			t.Errorf("%T is shown otherwise:\n%s", r, again.String())
		}
	}
}

func TestReadResultRefuses(t *testing.T) {
	whole, err := json.Marshal(bench.NewRunResult(bench.Environment{}, bench.DefaultRunOptions()))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"": "empty", "hello": "no saved result", `{"schema":"evenkeel.size/v1"}`: "what can be read is",
		`{"schema":"evenkeel.bench.run/v1"}`: "missing or damaged", string(whole[:len(whole)/2]): "no saved result",
		strings.Replace(string(whole), `"loop":"closed"`, `"loop":"open"`, 1): "missing or damaged",
		strings.Replace(string(whole), `"conns":50`, `"conns":"many"`, 1):     "it is no evenkeel.bench.run/v1",
	} {
		if _, err := bench.ReadResult(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func TestRunForms(t *testing.T) {
	noLeaks(t)
	o := smallRun(2_000)
	r, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var table, hdr bytes.Buffer
	if err := r.CSV(&table); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(rows) != 4 || rows[3][0] != "total" || rows[3][3] != "2000" {
		t.Errorf("%v, %v", rows, err)
	}
	if err := r.HDRLog(&hdr); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(hdr.String(), "\nTag=service,"); n != len(r.Seconds) {
		t.Errorf("%d intervals of %d in\n%s", n, len(r.Seconds), hdr.String())
	}
}
