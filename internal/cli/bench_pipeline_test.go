package cli_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/evenkeel-go/evenkeel/internal/cli"
)

func TestPipelineFlags(t *testing.T) {
	f := &fake{}
	got := run(t, f, "bench", "pipeline", "--command", "INCR __key__", "--command", "LPUSH __key__ a,b", "--depths", "1,2,3", "--conns", "1", "--quiet")
	if got.code != cli.ExitDone || f.pipeline == nil {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if o := f.pipeline; !slices.Equal(o.Commands, []string{"INCR __key__", "LPUSH __key__ a,b"}) || !slices.Equal(o.Depths, []int{1, 2, 3}) || o.Workers != 1 {
		t.Errorf("%+v", o)
	}
	for args, want := range map[string]string{
		"--depths 4,2":                 "--depths: 2 follows 4",
		"--depths x":                   "--depths",
		"--command GET\x00'":           "--command:",
		"--conns 2 --workers 3":        "--workers: 3 threads have 2 connections to serve",
		"--rounds 2":                   "--rounds: 2 is out of bounds",
		"redis://cache.internal:6379/": "unexpected arguments",
	} {
		f := &fake{}
		got := run(t, f, append([]string{"bench", "pipeline"}, strings.Fields(args)...)...)
		if got.code != cli.ExitUsage || !strings.Contains(got.stderr, want) || f.pipeline != nil {
			t.Errorf("%s: exit %d, %q, want %q", args, got.code, got.stderr, want)
		}
	}
}
