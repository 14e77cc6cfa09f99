package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/internal/cli"
	"github.com/evenkeel-go/evenkeel/report"
)

func TestReport(t *testing.T) {
	dir := t.TempDir()
	save := func(name string, doc any) string {
		t.Helper()
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := report.WriteJSON(f, doc); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	load := save("run.json", bench.NewRunResult(env(), bench.DefaultRunOptions()))
	idle := save("idle.json", bench.NewIdleResult(env(), bench.DefaultIdleOptions()))
	for _, c := range []struct {
		args string
		code int
		want string // on either output
	}{
		{load, cli.ExitDone, "Run: GET and SET, one to one"},
		{load + " " + idle, cli.ExitDone, "2 results"},
		{load + " --json", cli.ExitDone, `"schema": "evenkeel.bench.run/v1"`},
		{load + " --csv", cli.ExitDone, "command,loop,"},
		{load + " --hdr " + filepath.Join(dir, "x.hdr"), cli.ExitDone, "Run"},
		{load + " " + idle + " --html " + filepath.Join(dir, "x.html"), cli.ExitDone, "the page is in"},
		{"", cli.ExitUsage, "no file is given"},
		{load + " " + idle + " --json", cli.ExitUsage, "give one file"},
		{load + " --json --csv", cli.ExitUsage, "give one of them"},
		{idle + " --csv", cli.ExitFailed, "--csv is for runs"},
		{idle + " --hdr " + filepath.Join(dir, "y.hdr"), cli.ExitFailed, "--hdr is for runs"},
		{filepath.Join(dir, "nowhere.json"), cli.ExitFailed, "no such file"},
		{dir, cli.ExitFailed, dir},
	} {
		got := run(t, &fake{}, append([]string{"bench", "report"}, strings.Fields(c.args)...)...)
		if got.code != c.code || !strings.Contains(got.stdout+got.stderr, c.want) {
			t.Errorf("%q: exit %d, %s%s", c.args, got.code, got.stdout, got.stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "y.hdr")); err == nil {
		t.Error("an empty log is left")
	}
}
