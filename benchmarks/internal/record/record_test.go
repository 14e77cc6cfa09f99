package record

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sample() Run {
	return Run{
		Environment: Environment{
			Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Command: []string{"closed"}, Go: "go1.26", OS: "linux/amd64",
			CPUs: 2, GOMAXPROCS: 2, Modules: map[string]string{"example.org/client": "v1.2.3"}, Seed: 7,
		},
		Slots: []Slot{
			{Experiment: "closed", Case: "callers=8 ctx=timeout", Round: 1, Client: "one", Metrics: map[Metric]float64{OpsPerSecond: 1234.5}},
			{Experiment: "closed", Case: "callers=8 ctx=timeout", Round: 1, Client: "two", Metrics: map[Metric]float64{}, Failed: "no route"},
		},
	}
}

func write(t *testing.T, run Run) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, run.Environment)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range run.Slots {
		if err := w.Slot(s); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

func TestRoundTrip(t *testing.T) {
	want := sample()
	text := write(t, want)
	if n := bytes.Count(text, []byte("\n")); n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
	got, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read differs from written (-want +got):\n%s", diff)
	}
}

func TestReadAnInterruptedRun(t *testing.T) {
	text := write(t, sample())
	got, err := Read(bytes.NewReader(text[:len(text)-10]))
	if err == nil || len(got.Slots) != 1 {
		t.Errorf("got %d slots and error %v; want 1 slot and an error", len(got.Slots), err)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty":          "",
		"not JSON":       "ops/s 5\n",
		"another schema": `{"schema":"evenkeel.benchmarks/v0","environment":{}}`,
		"no environment": `{"slot":{}}`,
		"a second one":   `{"schema":"` + Schema + `","environment":{}}` + "\n" + `{"schema":"` + Schema + `","environment":{}}`,
	} {
		if _, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestWriterRefusesWhatIsNoNumber(t *testing.T) {
	w, err := NewWriter(&bytes.Buffer{}, Environment{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		if err := w.Slot(Slot{Metrics: map[Metric]float64{P99: v}}); err == nil {
			t.Errorf("%v was written", v)
		}
	}
}

func TestHere(t *testing.T) {
	env := Here(t.Context(), []string{"pool"}, []string{"example.org/not/linked"})
	if env.CPUs < 1 || env.Go == "" || env.Date.IsZero() || !slices.Equal(env.Command, []string{"pool"}) {
		t.Errorf("incomplete: %+v", env)
	}
	if got := env.Modules["example.org/not/linked"]; got != "unknown" {
		t.Errorf("version of a module that is not linked in is %q", got)
	}
	if !strings.Contains(env.String(), env.Go) {
		t.Errorf("String() = %q does not name the Go version", env.String())
	}
}
