package bench_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench"
)

// smallDemo runs all that the demo does, in little.
func smallDemo() bench.DemoOptions {
	o := bench.DefaultDemoOptions()
	o.Connect.Requests = 200
	churn := smallChurn(bench.AllChurnModes()...)
	churn.Duration = 150 * time.Millisecond
	o.Churn = churn
	o.Depth.Depths, o.Depth.Conns, o.Depth.Duration = []int{1, 16}, 2, 100*time.Millisecond
	o.PoolSize.Sizes, o.PoolSize.Callers, o.PoolSize.Duration = []int{1, 4}, 20, 100*time.Millisecond
	return o
}

func TestDemo(t *testing.T) {
	noLeaks(t)
	r, err := bench.Demo(t.Context(), smallDemo())
	if err != nil {
		t.Fatal(err)
	}
	if r.Interrupted || r.Environment.ServerKind != bench.ServerPrivate || r.Connect == nil || r.Churn == nil || r.Depth == nil || r.PoolSize == nil {
		t.Fatalf("%+v", r)
	}
	if len(r.Connect.Rows) != 4 || len(r.Churn.Modes) != 4 || len(r.Depth.Points) != 2 || len(r.PoolSize.Points) != 2 || len(r.Suggestions) == 0 {
		t.Errorf("%d rows, %d modes, %d depths, %d sizes, %d suggestions", len(r.Connect.Rows), len(r.Churn.Modes), len(r.Depth.Points), len(r.PoolSize.Points), len(r.Suggestions))
	}
}

func TestDemoCancelled(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := smallDemo()
	o.Progress = func(e bench.Event) {
		if contains(e.Phase, "churn: overflow") {
			cancel()
		}
	}
	r, err := bench.Demo(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || r.Connect == nil || r.Connect.Interrupted || r.Churn == nil || !r.Churn.Interrupted || r.Depth != nil {
		t.Fatalf("%+v, %v", r, err)
	}
}

// mini is miniredis as the command line embeds it.
type mini struct{ *miniredis.Miniredis }

func (mini) Name() string { return "miniredis" }

func (m mini) Conns() (accepted int64, open int) {
	return int64(m.TotalConnectionCount()), m.CurrentConnectionCount()
}

func (m mini) Close() error { m.Miniredis.Close(); return nil }

func TestDemoEmbedded(t *testing.T) {
	noLeaks(t)
	o := smallDemo()
	o.Embedded = true
	o.StartEmbedded = func() (bench.EmbeddedServer, error) {
		m, err := miniredis.Run()
		return mini{m}, err
	}
	told := false
	o.Progress = func(e bench.Event) { told = told || contains(e.Note, "counts are shown rather than times") }
	r, err := bench.Demo(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !told || r.Environment.ServerKind != bench.ServerEmbedded || r.Environment.Server != "miniredis" || r.Depth != nil || r.PoolSize != nil {
		t.Errorf("told %v, %+v", told, r)
	}
	if len(r.Connect.Rows) != 2 || *r.Connect.Rows[0].NewConnectionsServer != 1 || *r.Connect.Rows[1].NewConnectionsServer != 200 {
		t.Errorf("rows %+v", r.Connect.Rows)
	}
	for _, m := range r.Churn.Modes {
		if m.Summary.NewTotal == 0 || m.Summary.OpenMaxServer == 0 || m.Summary.Errors != 0 {
			t.Errorf("%s: %+v", m.Mode, m.Summary)
		}
	}
	if p := o.Plan(); len(p.Steps) != 5 {
		t.Errorf("plan %q", p.Steps)
	}

	o.StartEmbedded = func() (bench.EmbeddedServer, error) { return nil, errors.New("no port") }
	if r, err := bench.Demo(t.Context(), o); r != nil || err == nil || !contains(err.Error(), "no port") {
		t.Errorf("%+v, %v", r, err)
	}
}

// What the demo suggests must be a Config that the client takes.
func TestSuggestionsFitTogether(t *testing.T) {
	r := demo(bench.ServerPrivate)
	cfg := evenkeel.DefaultConfig("localhost:6379")
	fields := map[string]*int{"Size": &cfg.Size, "Overflow": &cfg.Overflow, "MaxConns": &cfg.MaxConns}
	for _, s := range r.Suggestions {
		if field := fields[s.Setting]; field != nil {
			*field = number(t, s.Value)
			delete(fields, s.Setting)
		}
	}
	if len(fields) > 0 {
		t.Errorf("not suggested: %v", fields)
	}
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
}

// number reads what report.Int writes.
func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
