package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
)

// cli runs the program and returns its exit code and outputs.
func cli(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{nil, exitUsage, "no command given"},
		{[]string{"help"}, exitDone, "usage: benchmarks"},
		{[]string{"--help"}, exitDone, "usage: benchmarks"},
		{[]string{"closed", "-h"}, exitDone, "-callers"},
		{[]string{"fastest"}, exitUsage, `no command "fastest"`},
		{[]string{"pool", "-speed", "9"}, exitUsage, "-speed"},
		{[]string{"pool", "-rounds", "-1"}, exitUsage, "must not be negative"},
		{[]string{"pool", "-clients", "nobody"}, exitUsage, `"nobody" is none of`},
		{[]string{"closed", "-callers", "8,none"}, exitUsage, `"none" is no number`},
		{[]string{"closed", "-contexts", "never"}, exitUsage, `"never" is none of timeout, background`},
		{[]string{"closed", "-keys", "0"}, exitUsage, "at least 1"},
		{[]string{"pool", "extra"}, exitUsage, `unexpected argument "extra"`},
		{[]string{"raw", "-rounds", "0"}, exitUsage, "-rounds 1 to 1000"},
		{[]string{"raw", "-peer", "/nowhere/at/all"}, exitFailed, "-peer"},
		{[]string{"report"}, exitUsage, "one FILE"},
		{[]string{"report", "/nowhere/at/all"}, exitFailed, "no such file"},
		{[]string{"pool", "-server", "/nowhere/at/all"}, exitFailed, "/nowhere/at/all"},
	} {
		code, _, stderr := cli(t.Context(), test.args...)
		if code != test.code || !strings.Contains(stderr, test.says) {
			t.Errorf("%q: code %d and %q; want %d and %q", test.args, code, stderr, test.code, test.says)
		}
	}
}

// TestRunAndReport measures for a moment, and judges the file again: to the same end.
func TestRunAndReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "raw.jsonl")
	code, out, stderr := cli(t.Context(), "closed", "-rounds", "2", "-slot", "50ms", "-warmup", "1ms", "-callers", "1", "-contexts", "timeout", "-keys", "100", "-seed", "5", "-out", file)
	if code != exitDone { // two rounds are too few for any verdict
		t.Fatalf("code %d: %s", code, stderr)
	}
	raw, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	saved, err := record.Read(raw)
	if err != nil {
		t.Fatal(err)
	}
	env := saved.Environment
	if env.Seed != 5 || env.Server == "" || len(env.Modules) < 5 || len(saved.Slots) < 10 {
		t.Errorf("the file has %d slots and environment %+v", len(saved.Slots), env)
	}
	if !strings.Contains(stderr, "round 2 of 2") {
		t.Errorf("no progress: %q", stderr)
	}
	code, again, stderr := cli(t.Context(), "report", file)
	if code != exitDone {
		t.Fatalf("report: code %d: %s", code, stderr)
	}
	if want, _, _ := strings.Cut(out, "\nraw results:"); again != want {
		t.Errorf("the report of the file is\n%s\nthat of the run was\n%s", again, want)
	}
}

func TestInterruptedRunSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, stderr := cli(ctx, "pool", "-out", filepath.Join(t.TempDir(), "raw.jsonl"))
	if code != exitFailed || !strings.Contains(stderr, context.Canceled.Error()) {
		t.Errorf("code %d and %q; want %d and %q", code, stderr, exitFailed, context.Canceled)
	}
}
