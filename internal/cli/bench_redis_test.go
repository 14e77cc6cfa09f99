package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/internal/cli"
)

// redis-benchmark's flags mean what they mean there.
func TestRedisBenchmarkFlags(t *testing.T) {
	for _, c := range []struct {
		args  string
		lines int // of -q, or 0
		right func(*bench.RunOptions) bool
	}{
		{"-n 10000 -t set,get -k 0 -q", 2, func(o *bench.RunOptions) bool { return o.Requests == 10_000 && o.ReconnectEvery == 1 }},
		{"-n 10000 -t set,get -k 1 -q", 2, func(o *bench.RunOptions) bool { return o.ReconnectEvery == 0 && o.Depth == 1 && o.Conns == 50 }},
		{"-n 10000 -t set,get -P 16 -q", 2, func(o *bench.RunOptions) bool { return o.Depth == 16 && !o.Sliding }},
		{"-n 10000 -t set,get -P 256 -q", 2, func(o *bench.RunOptions) bool { return o.Depth == 256 }},
		{"-n 10000 -t set,get -P 4096 -q", 2, func(o *bench.RunOptions) bool { return o.Depth == 4096 && o.Requests == 10_000 }},
		{"-q", 20, func(o *bench.RunOptions) bool {
			return o.Target.Address == "127.0.0.1:6379" && o.Requests == 100_000 && o.Duration == 0 && o.Keep && o.SkipPreload && o.Disturb
		}},
		{"-h 192.168.1.1 -p 7000 -n 5 -c 20 -t ping -q", 2, func(o *bench.RunOptions) bool {
			return o.Target.Address == "192.168.1.1:7000" && o.Conns == 20
		}},
		{"-s /tmp/x.sock -t get --csv", 0, func(o *bench.RunOptions) bool {
			return o.Target.Network == "unix" && o.Target.Address == "/tmp/x.sock"
		}},
		{"-t set -n 1000000 -r 100000000 -d 8 -q", 1, func(o *bench.RunOptions) bool {
			return o.Workload.Keys.Count == 100_000_000 && !o.Workload.Keys.Literal && o.Workload.Values.Size.Bytes == 8
		}},
		{"-t set -r 9 --sequential --seed 7 -3 --dbnum 4 --threads 2 -q", 1, func(o *bench.RunOptions) bool {
			return o.Workload.Keys.Dist.Kind == workload.Sequential && o.Seed == 7 && o.RESP3 && o.Target.DB == 4 && o.Workers == 2
		}},
		{"--duration 9 --warmup 2 --rps 500 -t set -q", 1, func(o *bench.RunOptions) bool {
			return o.Duration == 9*time.Second && o.Requests == 0 && o.Warmup == 2*time.Second && o.Rate == 500
		}},
		{"--cluster -t set -q", 1, func(o *bench.RunOptions) bool {
			return o.Cluster && o.Workload.Commands[0].Args[1] == "key:{tag}:__rand_int__"
		}},
		{"--enable-tracking -t get -q", 1, func(o *bench.RunOptions) bool { return len(o.Greeting) == 1 }},
		{"-r 10000 -n 10000 -q eval 'return redis.call(\"ping\")' 0", 1, func(o *bench.RunOptions) bool {
			return len(o.Workload.Commands[0].Args) == 3 && o.Workload.Title == `eval return redis.call("ping") 0`
		}},
		{"-q -n 5 set a -1", 1, func(o *bench.RunOptions) bool { return o.Workload.Commands[0].Args[2] == "-1" }},
		{"-u redis://u:pw@h:9/3 -t get -q", 1, func(o *bench.RunOptions) bool {
			return o.Target.Address == "h:9" && o.Target.Password == "pw" && o.Target.DB == 3
		}},
	} {
		f := &fake{}
		got := run(t, f, append([]string{"bench"}, quoted(c.args)...)...)
		if got.code != cli.ExitDone || f.load == nil || !c.right(f.load) {
			t.Errorf("%q: exit %d, %s, %+v", c.args, got.code, got.stderr, f.load)
			continue
		}
		if n := strings.Count(got.stdout, " requests per second, p50="); c.lines > 0 && (n != c.lines || !strings.HasSuffix(got.stdout, "msec\n\n")) {
			t.Errorf("%q: %d lines of %d:\n%s", c.args, n, c.lines, got.stdout)
		}
	}
}

func TestRedisBenchmarkUsage(t *testing.T) {
	for args, want := range map[string]string{
		"-t nonsense":            "there is no test",
		"-n 5 --duration 3":      "exclude each other",
		"-k 2":                   "-k: 2 is neither",
		"-n 0":                   "-n must be 1 or more",
		"-c 0":                   "--conns: 0 is out of bounds",
		"-I -c 9":                "evenkeel bench idle -h 127.0.0.1 -p 6379 --conns 9",
		"--threads 99":           "--threads: 99 is out of bounds",
		"-P 0":                   "--depth: 0 is out of bounds",
		"--rdma":                 "unknown flag --rdma",
		"-q -d 999999999999 get": "out of bounds",
		"ping extra -n":          "",
	} {
		f := &fake{}
		got := run(t, f, append([]string{"bench"}, quoted(args)...)...)
		if want == "" {
			if got.code != cli.ExitDone {
				t.Errorf("%q: exit %d, %s", args, got.code, got.stderr)
			}
			continue
		}
		if got.code != cli.ExitUsage || f.load != nil || !strings.Contains(got.stderr, want) || got.stdout != "" {
			t.Errorf("%q: exit %d, run %v, %s%s", args, got.code, f.load != nil, got.stderr, got.stdout)
		}
	}
}

// Errors are no successes: they are said, and the exit code tells.
func TestRedisBenchmarkErrors(t *testing.T) {
	got := run(t, &fake{missed: true}, "bench", "-t", "set", "-q")
	if got.code != cli.ExitFindings || !strings.Contains(got.stderr, "12 × OOM") {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}
	got = run(t, &fake{}, "bench", "-a", "s3cret-word", "-t", "set", "-q")
	if got.code != cli.ExitDone || !strings.Contains(got.stderr, "REDISCLI_AUTH") || strings.Contains(got.stdout+got.stderr, "s3cret-word") {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}
}
