package bench_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// smallStorm is a run of two and a half seconds that a busy machine can bear.
func smallStorm(fault bench.Fault, lane bench.Lane) bench.StormOptions {
	o := bench.DefaultStormOptions()
	o.Fault, o.Lane = fault, lane
	o.Callers, o.Size, o.Timeout = 20, 10, 100*time.Millisecond
	o.Before, o.During, o.After = time.Second, 500*time.Millisecond, time.Second
	return o
}

// runStorm runs it and checks what must be so in every result.
func runStorm(t *testing.T, o bench.StormOptions) *bench.StormResult {
	t.Helper()
	r, err := bench.Storm(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Interrupted || r.Schema != bench.StormSchema || r.Fault != o.Fault || r.Environment.ServerVersion == "" {
		t.Errorf("head of the result: interrupted %v, schema %q, fault %q, environment %+v", r.Interrupted, r.Schema, r.Fault, r.Environment)
	}
	if len(r.Phases) != 3 || r.Phases[0].Name != bench.PhaseBefore || r.Phases[1].Name != bench.PhaseDuring || r.Phases[2].Name != bench.PhaseAfter {
		t.Fatalf("phases: %+v", r.Phases)
	}
	accepted, timeline := 0, 0
	for _, p := range r.Phases {
		accepted += p.DialsServer
		if p.Failed["wrong reply"] > 0 || p.Failed["key gone"] > 0 {
			t.Errorf("%s: %v", p.Name, p.Failed)
		}
		if p.DialsUnderWayMax > bench.StormDialsUnderWayMax {
			t.Errorf("%s: %d dials under way", p.Name, p.DialsUnderWayMax)
		}
		if p.LateP999Ms > p.LateMaxMs {
			t.Errorf("%s: late p99.9 %v above max %v", p.Name, p.LateP999Ms, p.LateMaxMs)
		}
	}
	last := 0.0
	for _, p := range r.Timeline {
		timeline += p.DialsServer
		if p.TMs <= last {
			t.Errorf("timeline goes from %v to %v", last, p.TMs)
		}
		last = p.TMs
	}
	if accepted != timeline {
		t.Errorf("%d dials in the phases, %d in the timeline", accepted, timeline)
	}
	if whole := (o.Before + o.During + o.After).Seconds() * 1000; last < 0.9*whole {
		t.Errorf("timeline ends at %v ms of %v", last, whole)
	}
	if r.OpenMaxServer > r.Params.MaxConns || r.OpenMaxServer == 0 {
		t.Errorf("open at most %d of %d", r.OpenMaxServer, r.Params.MaxConns)
	}
	if r.GoroutinesAfter > r.GoroutinesBefore {
		t.Errorf("goroutines: %d before, %d after", r.GoroutinesBefore, r.GoroutinesAfter)
	}
	if r.Phases[0].OK == 0 || r.Phases[2].OK == 0 && o.Fault != bench.FaultRefuse {
		t.Errorf("calls that succeeded: %d before, %d after", r.Phases[0].OK, r.Phases[2].OK)
	}
	return r
}

func TestStormPause(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r := runStorm(t, smallStorm(bench.FaultPause, bench.LaneExclusive))
	during := r.Phases[1]
	if during.DialsServer != 0 { // the probe waits for 2 s
		t.Errorf("%d dials during a pause of 500 ms", during.DialsServer)
	}
	if during.Failed["deadline"]+during.Failed["deadline: no conn came free"] == 0 {
		t.Errorf("nothing ran out of time: %v", during.Failed)
	}
	if r.Environment.ServerKind != bench.ServerPrivate || r.Environment.Address != "" {
		t.Errorf("environment: %+v", r.Environment)
	}
}

func TestStormStop(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r := runStorm(t, smallStorm(bench.FaultStop, bench.LaneShared))
	if r.Phases[1].DialsServer > 1 || r.OpenMaxServer > 3 { // the lane may want its second conn
		t.Errorf("%d dials during, %d open", r.Phases[1].DialsServer, r.OpenMaxServer)
	}
}

func TestStormRefuse(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := smallStorm(bench.FaultRefuse, bench.LaneShared)
	o.After = 3 * time.Second // beyond the longest backoff that half a second can lead to
	r := runStorm(t, o)
	during := r.Phases[1]
	// The first dial may already be over when counting begins, and the second one due only after the fault: the backoff is drawn.
	if during.DialsServer != 0 || during.DialsRefused < 1 || during.DialsRefused > 6 || during.DialsUnderWayMax > 1 {
		t.Errorf("during: %+v", during)
	}
	if during.Failed["told at once: endpoint down"] == 0 {
		t.Errorf("callers were not told why: %v", during.Failed)
	}
	if r.Phases[2].OK == 0 {
		t.Error("no call succeeded after the server was back")
	}
}

// TestStormKillGiven: a given server keeps running, without our keys, and the
// result names it without its password.
func TestStormKillGiven(t *testing.T) {
	server := evenkeeltest.StartServer(t, evenkeeltest.WithPassword("s3cret"))
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := smallStorm(bench.FaultKill, bench.LaneExclusive)
	o.Target = bench.Target{Network: "tcp", Address: server.Addr(), Password: "s3cret"}
	o.Disturb = true
	var phases []string
	o.Progress = func(e bench.Event) {
		if len(phases) == 0 || phases[len(phases)-1] != e.Phase {
			phases = append(phases, e.Phase)
		}
	}
	r := runStorm(t, o)
	if got := strings.Join(phases, " "); got != "before during after" {
		t.Errorf("progress: %s", got)
	}
	if dials := r.Phases[1].DialsServer + r.Phases[2].DialsServer; dials == 0 || dials > r.Params.MaxConns {
		t.Errorf("%d dials after the kill of %d", dials, r.Params.MaxConns)
	}
	if r.Environment.ServerKind != bench.ServerGiven || !strings.Contains(r.Environment.Address, server.Addr()) || strings.Contains(r.Environment.Address, "s3cret") {
		t.Errorf("environment: %+v", r.Environment)
	}
	keys, err := server.Do(t.Context(), "DBSIZE")
	if err != nil || keys != int64(0) {
		t.Errorf("%v keys left, %v", keys, err)
	}
}

// TestStormInterrupted: cut short while the server is frozen, Storm returns at
// once with what it has, and leaves no process.
func TestStormInterrupted(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := smallStorm(bench.FaultStop, bench.LaneExclusive)
	o.During = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var cut time.Time
	o.Progress = func(e bench.Event) {
		if e.Phase == bench.PhaseDuring && e.Elapsed > 0 && cut.IsZero() {
			cut = time.Now()
			cancel()
		}
	}
	before := children(t)
	r, err := bench.Storm(ctx, o)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error: %v", err)
	}
	if took := time.Since(cut); took > 8*time.Second {
		t.Errorf("returned %v after the cut", took)
	}
	if r == nil || !r.Interrupted || len(r.Phases) != 2 || len(r.Verdicts) != 0 || r.Phases[0].OK == 0 {
		t.Errorf("result: %+v", r)
	}
	if after := children(t); after > before {
		t.Errorf("%d processes left behind", after-before)
	}
}

// children counts our child processes, where /proc lists them; elsewhere it is 0.
func children(t *testing.T) int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err == nil { // a thread may have ended meanwhile
			n += len(strings.Fields(string(b)))
		}
	}
	return n
}

func TestStormRefusesBadOptions(t *testing.T) {
	o := bench.DefaultStormOptions()
	o.Callers = 0
	r, err := bench.Storm(t.Context(), o)
	var bad *bench.OptionError
	if r != nil || !errors.As(err, &bad) || bad.Option != "callers" {
		t.Errorf("%v, %v", r, err)
	}
}

func TestStormCannotConnect(t *testing.T) {
	ln, err := evenkeeltest.ListenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	o := bench.DefaultStormOptions()
	o.Target = bench.Target{Network: "tcp", Address: addr}
	o.Disturb = true
	if r, err := bench.Storm(t.Context(), o); r != nil || err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v, %v", r, err)
	}
}
