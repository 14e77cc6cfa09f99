package bench_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

func readRun(t *testing.T, data []byte) *bench.RunResult {
	t.Helper()
	r, err := bench.ReadResult(bytes.NewReader(data))
	run, ok := r.(*bench.RunResult)
	if err != nil || !ok {
		t.Fatalf("%T, %v", r, err)
	}
	return run
}

// journalled runs with a journal, and returns the result and the journal.
func journalled(t *testing.T, o bench.RunOptions) (r *bench.RunResult, file []byte) {
	t.Helper()
	o.Journal = filepath.Join(t.TempDir(), "run.jsonl")
	r, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(o.Journal)
	if err != nil {
		t.Fatal(err)
	}
	return r, data
}

// What a journal says is what the run itself said.
func TestJournalHasAll(t *testing.T) {
	noLeaks(t)
	for _, rate := range []float64{0, 5_000} {
		o := smallRun(3_000)
		o.Rate, o.Interval = rate, 10*time.Millisecond
		was, data := journalled(t, o)
		got := readRun(t, data)
		if got.OK != 3_000 || got.Interrupted || got.Verdict.Reason != was.Verdict.Reason || len(got.Seconds) != len(was.Seconds) {
			t.Errorf("%d OK, interrupted %v, %d of %d points", got.OK, got.Interrupted, len(got.Seconds), len(was.Seconds))
		}
		if diff := cmp.Diff(figuresOf(was.Total.Times()), figuresOf(got.Total.Times())); diff != "" {
			t.Error(diff)
		}
		var text bytes.Buffer
		if err := got.Text(&text, 100); err != nil {
			t.Fatal(err)
		}
	}
}

// figuresOf leaves out what can differ in the last bit: a sum of floats by parts.
func figuresOf(t *bench.RunTimes) []any {
	return []any{t.Count, t.MinUs, t.P50Us, t.P90Us, t.P95Us, t.P99Us, t.P99Interval, t.P999Us, t.MaxUs}
}

// Cut anywhere, as by a kill -9 in the middle of a write, a journal still gives all of its
// whole intervals.
func TestJournalCutAnywhere(t *testing.T) {
	noLeaks(t)
	o := smallRun(2_000)
	o.Interval = 10 * time.Millisecond
	_, data := journalled(t, o)
	first := bytes.IndexByte(data, '\n') + 1
	last := int64(0)
	step := max((len(data)-first)/200, 1)
	for at := first; at < len(data); at += step {
		r := readRun(t, data[:at])
		if !r.Interrupted || r.OK < last {
			t.Fatalf("cut at %d: interrupted %v, %d OK after %d", at, r.Interrupted, r.OK, last)
		}
		last = r.OK
		var text bytes.Buffer
		if err := r.Text(&text, 100); err != nil {
			t.Fatal(err)
		}
	}
	if last != 2_000 {
		t.Errorf("all intervals hold %d", last)
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "half a first line": data[:first/2], "a line of garbage": append(bytes.Clone(data[:first]), "garbage\n"...),
		"no first line": data[first:], "another schema": bytes.Replace(data, []byte("journal/v1"), []byte("journal/v2"), 1),
	} {
		if _, err := bench.ReadResult(bytes.NewReader(bad)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// A run that was killed goes on where its journal ends, and makes exactly the requests
// that are left.
func TestResume(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	o := smallRun(4_000)
	o.Target, o.Disturb, o.Interval, o.Rate = given(s), true, 10*time.Millisecond, 20_000
	_, data := journalled(t, o)
	lines := bytes.SplitAfter(data, []byte("\n"))
	cut := bytes.Join(lines[:len(lines)/2], nil)
	was := readRun(t, cut)
	if was.OK == 0 || was.OK >= 4_000 {
		t.Fatalf("%d OK in half of %d lines", was.OK, len(lines))
	}
	o.Journal, o.Resume = filepath.Join(t.TempDir(), "cut.jsonl"), true
	if err := os.WriteFile(o.Journal, append(bytes.Clone(cut), `{"interval":{"t":`...), 0o600); err != nil {
		t.Fatal(err)
	}
	ask(t, s, "CONFIG", "RESETSTAT")
	r, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.OK != 4_000 || r.Server.Commands < 4_000-was.OK || r.Server.Commands > 4_000-was.OK+100 {
		t.Errorf("%d OK; %d were left, and the server had %d commands", r.OK, 4_000-was.OK, r.Server.Commands)
	}
	data, err = os.ReadFile(o.Journal)
	if err != nil {
		t.Fatal(err)
	}
	if again := readRun(t, data); again.OK != 4_000 || again.Interrupted || again.Total.Times().Count != 4_000 {
		t.Errorf("the journal has %d OK, interrupted %v", again.OK, again.Interrupted)
	}
	for what, change := range map[string]func(*bench.RunOptions){
		"complete":         func(*bench.RunOptions) {},
		"other parameters": func(o *bench.RunOptions) { o.Depth = 2 },
		"another workload": func(o *bench.RunOptions) { o.Workload.Keys.Count = 9 },
	} {
		o := o
		change(&o)
		if _, err := bench.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	o.Resume = false
	if _, err := bench.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("over a journal that is there: %v", err)
	}
}

// An interrupted run is one that can go on.
func TestResumeAfterInterrupt(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	o := smallRun(3_000)
	o.Target, o.Disturb, o.Interval, o.Rate = given(s), true, 10*time.Millisecond, 5_000
	o.Journal = filepath.Join(t.TempDir(), "run.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Observe = func(i *raw.Interval) {
		if i.OK() > 0 {
			cancel()
		}
	}
	if _, err := bench.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if n := ask(t, s, "DBSIZE"); n != "0" {
		t.Errorf("%s keys are left", n)
	}
	o.Observe, o.Resume = nil, true
	r, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.OK+r.Unanswered < 3_000 || r.Classes[0].Misses != 0 {
		t.Errorf("%d OK, %d unanswered, %d misses", r.OK, r.Unanswered, r.Classes[0].Misses)
	}
}
