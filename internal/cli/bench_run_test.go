package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/internal/cli"
)

// quoted splits a command line at blanks; 'several words' stay together.
func quoted(line string) []string {
	var args []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}

func TestRunWorkloadFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte("name: mine\nkeys: {count: 7, prefix: x}\ncommands: [{command: GET __key__}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  string
		right func(*bench.RunOptions) bool
	}{
		{"", func(o *bench.RunOptions) bool {
			return o.Workload.Name == "default" && o.Duration == 10*time.Second && o.Requests == 0
		}},
		{"--requests 5", func(o *bench.RunOptions) bool { return o.Requests == 5 && o.Duration == 0 }},
		{"--requests 5 --duration 1m", func(o *bench.RunOptions) bool { return o.Requests == 5 && o.Duration == time.Minute }},
		{"--conns 1", func(o *bench.RunOptions) bool { return o.Conns == 1 && o.Workers == 1 }},
		{"--preset twitter-storage --keys 5000", func(o *bench.RunOptions) bool {
			return o.Workload.Name == "twitter-storage" && o.Workload.Keys.Count == 5000
		}},
		{"--workload " + file + " --value-size 1-9 --key-dist zipf:0.8", func(o *bench.RunOptions) bool {
			return o.Workload.Name == "mine" && o.Workload.Keys.Dist.Exponent == 0.8
		}},
		{"--command 'SET __key__ __data__' --command 'GET __key__' --weight 1,9 --value-size 10=1,20=3", func(o *bench.RunOptions) bool {
			return len(o.Workload.Commands) == 2 && o.Workload.Commands[1].Weight == 9 && o.Workload.Values.Size.Kind == workload.List
		}},
		{"--command PING", func(o *bench.RunOptions) bool { return o.Workload.Keys.Count == 0 }},
		{"--keys 2000000", func(o *bench.RunOptions) bool { return o.Workload.Keys.Digits == 7 }},
		{"--rate 100 --scale-at 1h=2 --scale-every 2h --poisson", func(o *bench.RunOptions) bool {
			return o.Rate == 100 && o.Scale.Factor(time.Hour) == 2 && o.Poisson
		}},
	} {
		f := &fake{}
		got := run(t, f, append([]string{"bench", "run"}, quoted(c.args)...)...)
		if got.code != cli.ExitDone || f.load == nil || !c.right(f.load) {
			t.Errorf("%q: exit %d, %s, %+v", c.args, got.code, got.stderr, f.load)
		}
	}
}

func TestRunUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--preset twitter-storag", "did you mean twitter-storage"},
		{"--workload /nonexistent.yaml", "no such file"},
		{"--workload x --preset y", "give one of them"},
		{"--weight 3", "goes with --command"},
		{"--command PING --weight 1,2", "there are 2 for 1 commands"},
		{"--command 'GET __kye__'", "__key__"},
		{"--keys 0", "keys"},
		{"--key-dist zipf", "zipf:0.99"},
		{"--value-size big", "64-1024"},
		{"--value-size 9-1", "9 is more than max"},
		{"--miss-rate 2", "0 to 1"},
		{"--rate -1", "--rate: -1 is out of bounds"},
		{"--poisson", "--poisson"},
		{"--scale-at 1h", "8h=1.5"},
		{"--max-errors -1", "--max-errors"},
		{"--requests 0 --duration 0s", "--duration: without"},
		{"--conns 4 --workers 8", "--workers: 8 threads"},
	} {
		f := &fake{}
		got := run(t, f, append([]string{"bench", "run"}, quoted(c.args)...)...)
		if got.code != cli.ExitUsage || f.load != nil || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, run %v, %q", c.args, got.code, f.load != nil, got.stderr)
		}
		if !strings.Contains(got.stderr, c.want) {
			t.Errorf("%q: %q lacks %q", c.args, got.stderr, c.want)
		}
	}
}

func TestRunFailedRequests(t *testing.T) {
	for args, want := range map[string]int{"": cli.ExitFindings, "--max-errors 11": cli.ExitFindings, "--max-errors 12": cli.ExitDone} {
		got := run(t, &fake{missed: true}, append([]string{"bench", "run"}, strings.Fields(args)...)...)
		if got.code != want || !strings.Contains(got.stdout, "12 × OOM") {
			t.Errorf("%q: exit %d, want %d", args, got.code, want)
		}
	}
	if got := run(t, &fake{err: errors.New("gone"), none: true}, "bench", "run"); got.code != cli.ExitFailed {
		t.Errorf("exit %d", got.code)
	}
}

func TestPresets(t *testing.T) {
	got := run(t, &fake{}, "bench", "presets")
	if got.code != cli.ExitDone || !strings.Contains(got.stdout, "rpcperf-b62") {
		t.Errorf("exit %d, %s", got.code, got.stdout)
	}
	got = run(t, &fake{}, "bench", "presets", "rpcperf-b62")
	if w, err := workload.Parse(strings.NewReader(got.stdout)); err != nil || w.Name != "rpcperf-b62" {
		t.Errorf("%v: %s", err, got.stdout)
	}
	if got := run(t, &fake{}, "bench", "presets", "rpcperf"); got.code != cli.ExitUsage || !strings.Contains(got.stderr, "did you mean rpcperf-b62") {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}
}
