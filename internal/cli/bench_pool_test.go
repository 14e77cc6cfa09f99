package cli_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/cli"
)

func TestPoolFlags(t *testing.T) {
	f := &fake{}
	got := run(t, f, "bench", "pool", "--callers", "200", "--sizes", "5,10", "--think", "5ms", "--command", "HGETALL __key__", "--skip-shared", "--quiet")
	if got.code != cli.ExitDone || f.pool == nil {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if o := f.pool; o.Callers != 200 || !slices.Equal(o.Sizes, []int{5, 10}) || o.Think != 5*time.Millisecond || o.Command != "HGETALL __key__" || !o.SkipShared {
		t.Errorf("%+v", o)
	}
	for args, want := range map[string]string{
		"--sizes 4,2":            "--sizes: 2 follows 4",
		"--callers 0":            "--callers: 0 is out of bounds",
		"--think 80ms":           "--slot: 100ms is too short",
		"--command=":             "--command:",
		"--user app":             "--user needs a server",
		"--slot 5ms --rounds 10": "--slot: 5ms is out of bounds",
	} {
		f := &fake{}
		got := run(t, f, append([]string{"bench", "pool"}, strings.Fields(args)...)...)
		if got.code != cli.ExitUsage || !strings.Contains(got.stderr, want) || f.pool != nil {
			t.Errorf("%s: exit %d, %q, want %q", args, got.code, got.stderr, want)
		}
	}
}
