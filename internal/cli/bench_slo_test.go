package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/internal/cli"
)

func TestSLOFlags(t *testing.T) {
	f := &fake{}
	got := run(t, f, strings.Fields("bench slo --quiet --search conns --rate 500 --limit 2ms --quantile 0.999 --conns 8 --keys 10 --at-least 1000")...)
	if got.code != cli.ExitDone || f.slo == nil {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if o := f.slo; o.Search != bench.SearchConns || o.Load.Rate != 500 || o.Limit != 2*time.Millisecond || o.Quantile != 0.999 || o.Load.Conns != 8 || o.Load.Workload.Keys.Count != 10 {
		t.Errorf("%+v", o)
	}
	// The fake holds 1,000.
	got = run(t, &fake{}, "bench", "slo", "--at-least", "1001")
	if got.code != cli.ExitFindings || !strings.Contains(got.stderr, "what holds (1,000, at least 1,001)") {
		t.Errorf("exit %d, %q", got.code, got.stderr)
	}
	for args, want := range map[string]string{
		"--rate 5":        "--rate: it is what is searched for",
		"--at-least -1":   "--at-least: -1 is no number",
		"--quantile 99":   "--quantile: 99 is out of bounds",
		"--max-time 10s":  "--max-time: 10s has no room for 4 windows of 5s",
		"--timeout 1s":    "--timeout is the client's; give --callers as well",
		"--search depth":  `--search: "depth" is unknown; give rate, conns`,
		"redis://x:6379/": "unexpected arguments",
	} {
		f := &fake{}
		got := run(t, f, append([]string{"bench", "slo"}, strings.Fields(args)...)...)
		if got.code != cli.ExitUsage || !strings.Contains(got.stderr, want) || f.slo != nil {
			t.Errorf("%s: exit %d, %q, want %q", args, got.code, got.stderr, want)
		}
	}
}
