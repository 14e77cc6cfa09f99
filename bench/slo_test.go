package bench_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/report"
)

// smallSLO is a short search with a limit that any machine keeps at a low rate.
func smallSLO() bench.SLOOptions {
	o := bench.DefaultSLOOptions()
	o.Load = smallRun(0)
	o.Limit, o.Window, o.Confirm, o.Precision = time.Minute, 100*time.Millisecond, 1, 1
	return o
}

func TestSLOOfARate(t *testing.T) {
	noLeaks(t)
	o := smallSLO()
	o.Quantile, o.MaxTime = 0.5, 3*time.Second
	r, err := bench.SLO(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Steps) < 2 || r.Steps[0].Phase != bench.PhaseCeiling || r.Steps[0].RatePerS != 0 || r.Steps[0].Short != 0 {
		t.Fatalf("%+v", r.Steps)
	}
	if got := r.Steps[1].RatePerS / r.Steps[0].OKPerS; got < 0.69 || got > 0.71 {
		t.Errorf("it begins with %v of the closed loop's rate", got)
	}
	for _, s := range r.Steps[1:] {
		if s.Holds != (len(s.Why) == 0) || s.RatePerS <= 0 || s.Conns != o.Load.Conns || s.LengthS <= 0 {
			t.Errorf("%+v", s)
		}
		// Whether a rate holds is the machine's; that what held is at least so much, the answer's.
		if s.Holds && r.Answer.Ending == bench.EndingFound && s.Phase == bench.PhaseConfirm && r.Answer.Held > s.RatePerS {
			t.Errorf("held %v, confirmed at %v", r.Answer.Held, s.RatePerS)
		}
	}
	if r.Preload == nil || r.IdlePing == nil {
		t.Error("no preload or idle ping")
	}
	redraw(t, r)
}

// Connections are raised until there are no more.
func TestSLOOfConns(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	o := smallSLO()
	o.Load.Target, o.Load.Disturb, o.Load.Conns = given(s), true, 4
	o.Search, o.MaxConns = bench.SearchConns, 20
	r, err := bench.SLO(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var conns []int
	for _, step := range r.Steps {
		conns = append(conns, step.Conns)
		if !step.Holds {
			t.Errorf("%d connections: %v", step.Conns, step.Why)
		}
	}
	if want := []int{4, 8, 16, 20, 20}; !slices.Equal(conns, want) || r.Answer.Ending != bench.EndingEverything || r.Answer.Held != 20 || r.Answer.Confirmed != 1 {
		t.Errorf("%v, want %v: %+v", conns, want, r.Answer)
	}
	noKeys(t, s)
	redraw(t, r)
}

// A server with few places ends the search where they end.
func TestSLOStaysBelowMaxClients(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithMaxClients(30))
	o := smallSLO()
	o.Load.Target, o.Load.Conns, o.Load.Disturb = given(s), 4, true
	o.Search = bench.SearchConns
	noted := false
	o.Load.Progress = func(e bench.Event) { noted = noted || strings.Contains(e.Note, "so the search ends at") }
	r, err := bench.SLO(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Answer.Held > 29 || r.Answer.Held < 20 || !noted {
		t.Errorf("%+v, noted %v", r.Answer, noted)
	}
}

func TestSLOErrorsHoldNothing(t *testing.T) {
	noLeaks(t)
	o := smallSLO()
	o.Load.Workload.Commands[0].Command = "LPUSH __key__ x" // among strings
	o.Load.Workload.Preload = "SET __key__ x"
	o.MaxTime = time.Second
	r, err := bench.SLO(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Answer.Held != 0 {
		t.Errorf("%+v", r.Answer)
	}
	for _, s := range r.Steps {
		if s.Holds || !strings.Contains(strings.Join(s.Why, "; "), "WRONGTYPE") {
			t.Errorf("%+v", s)
		}
	}
}

func TestSLOCancelled(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := smallSLO()
	o.Load.Progress = func(e bench.Event) {
		if strings.HasPrefix(e.Phase, bench.PhaseSearch) {
			cancel()
		}
	}
	r, err := bench.SLO(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSLORefuses(t *testing.T) {
	for option, spoil := range map[string]func(*bench.SLOOptions){
		"search":    func(o *bench.SLOOptions) { o.Search = "luck" },
		"quantile":  func(o *bench.SLOOptions) { o.Quantile = 99 },
		"limit":     func(o *bench.SLOOptions) { o.Limit = 0 },
		"window":    func(o *bench.SLOOptions) { o.Window = time.Millisecond },
		"confirm":   func(o *bench.SLOOptions) { o.Confirm = 0 },
		"precision": func(o *bench.SLOOptions) { o.Precision = 0 },
		"max-time":  func(o *bench.SLOOptions) { o.Window = 2 * time.Minute },
		"max-conns": func(o *bench.SLOOptions) { o.MaxConns = -1 },
		"rate":      func(o *bench.SLOOptions) { o.Load.Rate = 10 },
		"conns":     func(o *bench.SLOOptions) { o.Load.Conns = 0 },
		"callers":   func(o *bench.SLOOptions) { o.Search, o.Load.Callers = bench.SearchConns, 5 },
	} {
		o := bench.DefaultSLOOptions()
		spoil(&o)
		_, err := bench.SLO(t.Context(), o)
		if blamed, ok := errors.AsType[*bench.OptionError](err); !ok || blamed.Option != option {
			t.Errorf("%v, want an OptionError for %s", err, option)
		}
	}
}

// redraw saves a result, reads it, and wants the same page of it.
func redraw(t *testing.T, r bench.Result) {
	t.Helper()
	var saved, before, after bytes.Buffer
	if err := report.WriteJSON(&saved, r); err != nil {
		t.Fatal(err)
	}
	again, err := bench.ReadResult(&saved)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(report.WriteHTML(&before, r.Page()), report.WriteHTML(&after, again.Page())); err != nil {
		t.Fatal(err)
	}
	if before.String() != after.String() {
		t.Error("the saved result has another page")
	}
}
