package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/internal/cli"
	"github.com/evenkeel-go/evenkeel/report"
)

// B is A but for its own flags, and what these replace.
func TestCompareFlags(t *testing.T) {
	f := &fake{}
	got := run(t, f, "bench", "compare", "--quiet", "--conns", "8", "--command", "GET __key__", "--command", "SET __key__ a,b", "--weight", "3,1", "--keys", "10", "--slot", "2s",
		"--", "--depth", "4", "--server-config", "io-threads 4", "--keys", "20")
	if got.code != cli.ExitDone || f.compare == nil {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	a, b := f.compare.A, f.compare.B
	if a.Conns != 8 || b.Conns != 8 || a.Depth != 1 || b.Depth != 4 || a.Workload.Keys.Count != 10 || b.Workload.Keys.Count != 20 || f.compare.Slot != 2*time.Second {
		t.Errorf("%+v\n%+v", a, b)
	}
	if len(a.ServerConfig) != 0 || len(b.ServerConfig) != 1 || b.ServerConfig[0] != "io-threads 4" {
		t.Errorf("%q and %q", a.ServerConfig, b.ServerConfig)
	}
	if diff := cmp.Diff(a.Workload.Commands, b.Workload.Commands); diff != "" || len(b.Workload.Commands) != 2 || b.Workload.Commands[1].Weight != 1 {
		t.Errorf("the commands differ: %s", diff)
	}

	f = &fake{}
	if got = run(t, f, strings.Fields("bench compare --quiet --preset twitter-storage -h 127.0.0.1 -- --command PING --url redis://10.0.0.1:7000/3")...); got.code != cli.ExitDone {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if a, b := f.compare.A, f.compare.B; a.Target.Address != "127.0.0.1:6379" || b.Target.Address != "10.0.0.1:7000" || b.Target.DB != 3 || b.Workload.Commands[0].Command != "PING" {
		t.Errorf("%v and %v: %+v", a.Target, b.Target, b.Workload.Commands)
	}

	f = &fake{}
	if got = run(t, f, strings.Fields("bench compare --quiet redis://a:1 redis://b:2")...); got.code != cli.ExitDone {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if a, b := f.compare.A, f.compare.B; a.Target.Address != "a:1" || b.Target.Address != "b:2" {
		t.Errorf("%v and %v", a.Target, b.Target)
	}

	for args, want := range map[string]string{
		"":                              "so far B is the same as A; give its flags after --",
		"redis://a:1":                   "1 arguments were given; give two URLs",
		"redis://a:1 redis://b:2 -p 5":  "two URLs name the servers; leave out --port",
		"-- --dept 4":                   "after --: unknown flag --dept; did you mean --depth?",
		"-- --pairs 4":                  "after --: unknown flag --pairs",
		"-- redis://b:2":                "after --: unexpected arguments: redis://b:2",
		"-- --depth 0":                  "--depth: 0 is out of bounds",
		"--pairs 3 -- --depth 2":        "--pairs: 3 is out of bounds",
		"-- --rate 100":                 "--rate: a closed loop and an open one",
		"-- --preset x":                 "after --: --preset:",
		"-- --command PING --preset a1": "after --: --preset and --command each say what to send",
	} {
		f := &fake{}
		got := run(t, f, append([]string{"bench", "compare"}, strings.Fields(args)...)...)
		if got.code != cli.ExitUsage || !strings.Contains(got.stderr, want) || f.compare != nil {
			t.Errorf("%s: exit %d, %q, want %q", args, got.code, got.stderr, want)
		}
	}
}

// saveRun writes a result with so many replies in each of twenty seconds.
func saveRun(t *testing.T, name string, perS int64) string {
	t.Helper()
	r := bench.NewRunResult(env(), bench.DefaultRunOptions())
	for i := range 20 {
		h := hist.New()
		h.RecordN(time.Millisecond, perS)
		r.Seconds = append(r.Seconds, bench.RunSecond{T: float64(i + 1), LengthS: 1, OK: perS, Histogram: h})
	}
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.WriteJSON(f, r); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCompareSavedResults(t *testing.T) {
	a, b := saveRun(t, "a.json", 1000), saveRun(t, "b.json", 1500)
	got := run(t, &fake{}, "bench", "compare", a, b)
	if got.code != cli.ExitDone || !strings.Contains(got.stdout, "B's throughput is 1.500 times A's") || !strings.Contains(got.stdout, "They were not taken by turns") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if got = run(t, &fake{}, "bench", "compare", "--json", "--html", page, a, b); got.code != cli.ExitDone || !strings.Contains(got.stdout, bench.CompareSchema) {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if _, err := os.Stat(page); err != nil {
		t.Error(err)
	}
	if got = run(t, &fake{}, "bench", "compare", a, b, "--", "--depth", "2"); got.code != cli.ExitUsage {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
	other := filepath.Join(t.TempDir(), "slo.json")
	if err := os.WriteFile(other, []byte(`{"schema":"`+bench.SLOSchema+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got = run(t, &fake{}, "bench", "compare", a, other); got.code != cli.ExitFailed || !strings.Contains(got.stderr, "it is no result of 'bench run'") {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
}
