package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestHelpGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"root":         {"--help"},
		"demo":         {"demo", "--help"},
		"bench":        {"bench", "--help"},
		"churn":        {"bench", "churn", "--help"},
		"connect":      {"bench", "connect", "--help"},
		"storm":        {"bench", "storm", "--help"},
		"idle":         {"bench", "idle", "--help"},
		"layers":       {"bench", "layers", "--help"},
		"slow-readers": {"bench", "slow-readers", "--help"},
		"maxclients":   {"bench", "maxclients", "--help"},
		"zones":        {"bench", "zones", "--help"},
		"pipeline":     {"bench", "pipeline", "--help"},
		"pool":         {"bench", "pool", "--help"},
		"run":          {"bench", "run", "--help"},
		"agent":        {"bench", "agent", "--help"},
		"compare":      {"bench", "compare", "--help"},
		"slo":          {"bench", "slo", "--help"},
		"presets":      {"bench", "presets", "--help"},
		"version":      {"version", "--help"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, &fake{}, args...)
			if got.code != cli.ExitDone || got.stderr != "" {
				t.Errorf("exit %d, stderr %q", got.code, got.stderr)
			}
			path := filepath.Join("testdata", name+".help")
			if *update {
				if err := os.WriteFile(path, []byte(got.stdout), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v (run the test with -update to make it)", err)
			}
			if diff := cmp.Diff(string(want), got.stdout); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Every wrong use ends with code 2, one line that says what to do, nothing on
// standard output, and nothing run.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want string // a part of the line
	}{
		{"dmo", `did you mean 'evenkeel demo'?`},
		{"frobnicate", "give bench, demo or version"},
		{"bench", "bench needs a command: agent, churn, compare, connect"},
		{"bench chrun", `did you mean 'evenkeel bench churn'?`},
		{"bench churn --parallels 3", "did you mean --parallel?"},
		{"bench churn --zzzzz", "unknown flag --zzzzz; see 'evenkeel bench churn --help'"},
		{"bench churn -Z", "unknown flag -Z"},
		{"bench churn s3cret", "unexpected arguments that belong to no flag (1)"},
		{"bench churn -p s3cret", "--port must be a whole number"},
		{"bench churn --size 99999999999999999999", "--size: the number is out of any bounds"},
		{"bench churn --duration 9", "--duration must be a duration, such as 500ms"},
		{"bench churn --url=", "--url is empty"},
		{"bench churn --socket=", "--socket is empty"},
		{"bench churn --host= -p 1", "--host is empty"},
		{"bench churn -p 0", "--port: 0 is out of bounds; give 1 to 65535"},
		{"bench churn -h x --password-file /dev/zero", "larger than 4 MiB"},
		{"bench churn --mode " + strings.Repeat("x", 100_000), "is unknown; give close-surplus"},
		{"bench churn --size", "needs an argument"},
		{"bench churn --size x", "--size must be a whole number"},
		{"bench churn --parallel 0", "--parallel: 0 is out of bounds; give 1 to 100,000"},
		{"bench churn --mode overflow,nonsense", "--mode: \"nonsense\" is unknown; give close-surplus, overflow"},
		{"bench churn --mode shared,shared", "given twice"},
		{"bench churn --duration 1ms", "--duration: 1ms is out of bounds"},
		{"bench churn -h", "flag needs an argument"},
		{"bench churn -h x -s y", "two servers"},
		{"bench churn --url redis://x -p 1", "leave out --port"},
		{"bench churn --url http://x", "--url: scheme is unknown; redis,"},
		{"bench churn --url x:y:z", "scheme is missing; write it as"},
		{"bench churn --url redis://h/zero", "database must be a number"},
		{"bench churn --url redis://h/0?colour=blue", "unknown parameter colour"},
		{"bench churn --url unix://", "of the socket is missing"},
		{"bench churn --url redis://h:99999", "port must be a number from 1 to 65535"},
		{"bench churn -h x -p 70000", "--port: 70000 is out of bounds; give 1 to 65535"},
		{"bench churn -a secret", "needs a server"},
		{"bench churn -h x --cacert ca.pem", "needs TLS"},
		{"bench churn -h x --tls --cert only.pem", "belong together"},
		{"bench churn -h x --tls --cacert /nonexistent.pem", "no such file"},
		{"bench churn -h x --tls --cacert " + empty, "holds no certificate"},
		{"bench churn -h x --password-file /nonexistent", "no such file"},
		{"bench churn -h x --password-file " + empty, "is empty"},
		{"bench churn -h x -n -1", "--db: database -1 is negative"},
		{"bench churn --html /nonexistent/dir/x.html", "--html: "},
		{"bench churn --html " + dir, "is a directory"},
		{"bench connect --handshake slow", `--handshake: "slow" is unknown; give pipelined, sequential`},
		{"bench storm --fault flood", `--fault: "flood" is unknown`},
		{"bench storm -h x", "add --disturb"},
		{"bench storm -h x --fault stop --disturb", "needs a private server"},
		{"-h localhost", "-h is the host"},
		{"version -h", "-h is the host"},
		{"version 1", "unexpected arguments"},
	} {
		t.Run(c.args, func(t *testing.T) {
			f := &fake{}
			got := run(t, f, strings.Fields(c.args)...)
			if got.code != cli.ExitUsage {
				t.Errorf("exit %d, want %d", got.code, cli.ExitUsage)
			}
			if got.stdout != "" {
				t.Errorf("stdout %q", got.stdout)
			}
			if n := strings.Count(got.stderr, "\n"); n != 1 || !strings.HasPrefix(got.stderr, "evenkeel: ") {
				t.Errorf("stderr is not one line of ours: %q", got.stderr)
			}
			if len(got.stderr) > 1100 || strings.Contains(got.stderr, "s3cret") {
				t.Errorf("stderr says too much: %.1200q", got.stderr)
			}
			if !strings.Contains(got.stderr, c.want) {
				t.Errorf("stderr %q lacks %q", got.stderr, c.want)
			}
			if f.churn != nil || f.connect != nil || f.storm != nil || f.demo != nil {
				t.Error("something was run")
			}
		})
	}
}

func TestOptionsFromFlags(t *testing.T) {
	f := &fake{}
	args := "bench churn --size 3 --overflow 7 --overflow-drain 9s --parallel 20 --interval 1ms --duration 2s --drain-watch 1s --create-burst 0 --create-interval 50ms --mode limited,shared --disturb"
	if got := run(t, f, strings.Fields(args)...); got.code != 0 {
		t.Fatal(got)
	}
	want := bench.ChurnOptions{
		Modes: []bench.ChurnMode{bench.ChurnLimited, bench.ChurnShared}, Size: 3, Overflow: 7, OverflowDrain: 9 * time.Second, Parallel: 20,
		Interval: time.Millisecond, Duration: 2 * time.Second, DrainWatch: time.Second, CreateBurst: 0, CreateInterval: 50 * time.Millisecond, Disturb: true,
	}
	f.churn.Progress = nil
	f.churn.Target.Network = ""
	if diff := cmp.Diff(want, *f.churn); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if got := run(t, f, "bench", "connect", "--skip-tls", "--handshake", "sequential", "--requests", "500"); got.code != 0 {
		t.Fatal(got)
	}
	if o := f.connect; o.TLS || !o.Auth || o.Handshake != bench.HandshakeSequential || o.Requests != 500 {
		t.Errorf("%+v", o)
	}
	if got := run(t, f, "bench", "storm", "--fault", "kill", "--lane", "shared", "--timeout", "20ms"); got.code != 0 {
		t.Fatal(got)
	}
	if o := f.storm; o.Fault != bench.FaultKill || o.Lane != bench.LaneShared || o.Timeout != 20*time.Millisecond {
		t.Errorf("%+v", o)
	}
}

func TestTarget(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("from file\r\nsecond line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	evk := map[string]string{"EVENKEEL_PASSWORD": "evk", "REDISCLI_AUTH": "cli"}
	for _, c := range []struct {
		name    string
		args    []string
		environ map[string]string
		want    bench.Target
		tls     bool
		sni     string
		skip    bool
	}{
		{name: "none", environ: evk, want: bench.Target{}},
		{name: "host", args: []string{"-h", "cache"}, want: bench.Target{Network: "tcp", Address: "cache:6379"}},
		{name: "ipv6", args: []string{"-h", "::1", "-p", "7000"}, want: bench.Target{Network: "tcp", Address: "[::1]:7000"}},
		{name: "port", args: []string{"-p", "7000", "-n", "3"}, want: bench.Target{Network: "tcp", Address: "127.0.0.1:7000", DB: 3}},
		{name: "socket", args: []string{"-s", "/run/redis.sock"}, want: bench.Target{Network: "unix", Address: "/run/redis.sock"}},
		{name: "env", args: []string{"-h", "c"}, environ: evk, want: bench.Target{Network: "tcp", Address: "c:6379", Password: "evk"}},
		{name: "env of redis-cli", args: []string{"-h", "c"}, environ: map[string]string{"REDISCLI_AUTH": "cli"}, want: bench.Target{Network: "tcp", Address: "c:6379", Password: "cli"}},
		{name: "argv over env", args: []string{"-h", "c", "-a", "argv"}, environ: evk, want: bench.Target{Network: "tcp", Address: "c:6379", Password: "argv"}},
		{name: "file over env", args: []string{"-h", "c", "--password-file", file}, environ: evk, want: bench.Target{Network: "tcp", Address: "c:6379", Password: "from file"}},
		{name: "url", args: []string{"--url", "redis://app:p%40ss@c:7000/2"}, environ: evk, want: bench.Target{Network: "tcp", Address: "c:7000", Username: "app", Password: "p@ss", DB: 2}},
		{name: "flags over url", args: []string{"--url", "valkey://app:x@c/2", "--user", "u", "-n", "0", "--password-file", file}, want: bench.Target{Network: "tcp", Address: "c:6379", Username: "u", Password: "from file"}},
		{name: "tls url", args: []string{"--url", "rediss://c"}, want: bench.Target{Network: "tcp", Address: "c:6379"}, tls: true, sni: "c"},
		{name: "tls flag", args: []string{"-h", "c", "--tls", "--sni", "n", "--insecure"}, want: bench.Target{Network: "tcp", Address: "c:6379"}, tls: true, sni: "n", skip: true},
		{name: "go-redis", args: []string{"--url", "valkeys://c?db=4&skip_verify=true&pool_size=9"}, want: bench.Target{Network: "tcp", Address: "c:6379", DB: 4}, tls: true, sni: "c", skip: true},
		{name: "redis-py", args: []string{"--url", "rediss://c?ssl_cert_reqs=none&username=u&password=p"}, want: bench.Target{Network: "tcp", Address: "c:6379", Username: "u", Password: "p"}, tls: true, sni: "c", skip: true},
		{name: "unix url", args: []string{"--url", "unix:///run/redis.sock?db=1"}, want: bench.Target{Network: "unix", Address: "/run/redis.sock", DB: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{}
			got := runWith(t.Context(), f, c.environ, append([]string{"bench", "churn"}, c.args...)...)
			if got.code != 0 {
				t.Fatal(got)
			}
			target := f.churn.Target
			conf := target.TLS
			target.TLS = nil
			if target != c.want {
				t.Errorf("got %s (user %q, password %q), want %s", target, target.Username, target.Password, c.want)
			}
			if (conf != nil) != c.tls {
				t.Fatalf("TLS %v, want %v", conf != nil, c.tls)
			}
			if conf != nil && (conf.ServerName != c.sni || conf.InsecureSkipVerify != c.skip) {
				t.Errorf("server name %q, unchecked %v", conf.ServerName, conf.InsecureSkipVerify)
			}
		})
	}
}

func TestPasswordIsWarnedOfAndNeverPrinted(t *testing.T) {
	const secret = "s3cret-word"
	for _, args := range [][]string{
		{"bench", "churn", "-h", "c", "-a", secret},
		{"bench", "churn", "--url", "redis://:" + secret + "@c"},
		{"bench", "churn", "--url", "redis://:" + secret + "@c", "--json"},
	} {
		got := run(t, &fake{err: errors.New("WRONGPASS for " + secret)}, args...)
		if got.code != cli.ExitFailed || !strings.Contains(got.stderr, "WRONGPASS for ***") {
			t.Errorf("%v: %+v", args, got)
		}
		if !strings.Contains(got.stderr, "warning: other users of this machine can read a password") {
			t.Errorf("%v: no warning in %q", args, got.stderr)
		}
		if strings.Contains(got.stdout+got.stderr, secret) {
			t.Errorf("%v: the password was printed: %+v", args, got)
		}
	}
	// A URL that does not parse is not quoted either.
	got := run(t, &fake{}, "bench", "churn", "--url", "redis://:"+secret+"%zz@c")
	if got.code != cli.ExitUsage || strings.Contains(got.stderr, secret) {
		t.Errorf("%+v", got)
	}
}

func TestOutputs(t *testing.T) {
	page := filepath.Join(t.TempDir(), "out.html")
	got := run(t, &fake{}, "bench", "churn", "--json", "--html", page)
	if got.code != 0 {
		t.Fatal(got)
	}
	dec := json.NewDecoder(strings.NewReader(got.stdout))
	var doc struct{ Schema string }
	if err := dec.Decode(&doc); err != nil || doc.Schema != bench.ChurnSchema {
		t.Errorf("schema %q, error %v", doc.Schema, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		t.Errorf("something follows the document: %v", err)
	}
	b, err := os.ReadFile(page)
	if err != nil || !bytes.HasPrefix(b, []byte("<!DOCTYPE html>")) {
		t.Errorf("page: %v", err)
	}
	for _, want := range []string{"what will run", "250 callers", "warm up (1 s)", "a note \ufffd[2J", "the page is in " + page} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr lacks %q: %q", want, got.stderr)
		}
	}

	got = run(t, &fake{}, "bench", "churn", "--quiet")
	if got.code != 0 || got.stderr != "" || !strings.HasPrefix(got.stdout, "What the pool does") {
		t.Errorf("quiet: %+v", got)
	}
}

func TestRunFails(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "out.html")
	if err := os.WriteFile(page, []byte("earlier"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &fake{err: errors.New("127.0.0.1:1: connection refused\nsecond line"), none: true}
	got := run(t, f, "bench", "churn", "-p", "1", "--json", "--html", page, "--quiet")
	if got.code != cli.ExitFailed || got.stdout != "" || got.stderr != "evenkeel: 127.0.0.1:1: connection refused second line\n" {
		t.Errorf("%+v", got)
	}
	if b, err := os.ReadFile(page); err != nil || string(b) != "earlier" {
		t.Errorf("the earlier page is gone: %q, %v", b, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestInterruptShowsWhatThereIs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	got := runWith(ctx, &fake{during: cancel}, nil, "bench", "churn", "--json")
	if got.code != cli.ExitFailed || !strings.Contains(got.stderr, "evenkeel: interrupted") {
		t.Errorf("%+v", got)
	}
	var doc struct{ Interrupted bool }
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || !doc.Interrupted {
		t.Errorf("%v: %s", err, got.stdout)
	}
}

func TestMissedThreshold(t *testing.T) {
	got := run(t, &fake{missed: true}, "bench", "storm", "--quiet")
	if got.code != cli.ExitFindings || got.stderr != "evenkeel: missed: open connections (101, at most 100)\n" {
		t.Errorf("%+v", got)
	}
}

func TestDemoWritesItsPage(t *testing.T) {
	t.Chdir(t.TempDir())
	if got := run(t, &fake{}, "demo"); got.code != 0 {
		t.Fatal(got)
	}
	if _, err := os.Stat("evenkeel-demo.html"); err != nil {
		t.Error(err)
	}
	f := &fake{}
	if got := run(t, f, "demo", "--html=", "--embedded"); got.code != 0 || !f.demo.Embedded {
		t.Errorf("%+v", got)
	}
}

func TestVersion(t *testing.T) {
	got := run(t, &fake{}, "version", "--json")
	var doc struct{ Schema, Evenkeel, Go string }
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || doc.Schema != "evenkeel.version/v1" || doc.Evenkeel == "" || doc.Go == "" {
		t.Errorf("%v: %+v", err, got)
	}
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if got := run(t, &fake{}, args...); got.code != 0 || !strings.HasPrefix(got.stdout, "evenkeel ") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := run(t, &fake{}, "completion", shell); got.code != 0 || !strings.Contains(got.stdout, "evenkeel") {
			t.Errorf("%s: exit %d, %d bytes", shell, got.code, len(got.stdout))
		}
	}
	got := run(t, &fake{}, "__complete", "bench", "storm", "--fault", "")
	for _, f := range bench.Faults() {
		if !strings.Contains(got.stdout, string(f)+"\n") {
			t.Errorf("--fault is not completed with %s: %q", f, got.stdout)
		}
	}
}

// A command whose experiment is missing must not exist, rather than pretend.
func TestMissingExperiment(t *testing.T) {
	var out, errs bytes.Buffer
	app := cli.App{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	if code := app.Run(t.Context(), []string{"demo"}); code != cli.ExitUsage || !strings.Contains(errs.String(), "unknown command") {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}
