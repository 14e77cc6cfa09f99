package cli_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/evenkeel-go/evenkeel/internal/cli"
)

func TestAgentFlags(t *testing.T) {
	f := &fake{}
	if got := run(t, f, strings.Fields("bench agent --join 10.0.0.1:7000 --name web1 --once")...); got.code != cli.ExitDone || f.agent == nil {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if o := f.agent; o.Join.Address != "10.0.0.1:7000" || o.Target.Address != "10.0.0.1:7000" || o.Name != "web1" || !o.Once {
		t.Errorf("%+v", o)
	}
	f = &fake{}
	if got := runWith(t.Context(), f, map[string]string{"EVENKEEL_PASSWORD": "pw"}, strings.Fields("bench agent --join redis://tools:1 -h cache")...); got.code != cli.ExitDone {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if o := f.agent; o.Join.Address != "tools:1" || o.Target.Address != "cache:6379" || o.Target.Password != "pw" || o.Name == "" {
		t.Errorf("%+v", o)
	}
	if got := run(t, &fake{err: errors.New("the server is gone")}, "bench", "agent", "--join", "x:1"); got.code != cli.ExitFailed || !strings.Contains(got.stderr, "the server is gone") {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
	// Ctrl-C is how an agent ends.
	ctx, cancel := context.WithCancel(t.Context())
	if got := runWith(ctx, &fake{during: cancel}, nil, "bench", "agent", "--join", "x:1"); got.code != cli.ExitDone {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
	for args, want := range map[string]string{
		"":                     "--join is missing",
		"--join ftp://x":       "--join: ",
		"--join x:1 --name=":   "", // the machine's
		"--join x:1 --url y:z": "--url",
	} {
		got := run(t, &fake{}, append([]string{"bench", "agent"}, strings.Fields(args)...)...)
		if want != "" && (got.code != cli.ExitUsage || !strings.Contains(got.stderr, want)) {
			t.Errorf("%s: exit %d, %q, want %q", args, got.code, got.stderr, want)
		}
	}
}

func TestRunByAgents(t *testing.T) {
	f := &fake{}
	if got := run(t, f, strings.Fields("bench run --quiet --url redis://cache:6379/15 --agents 3 --via tools:7000")...); got.code != cli.ExitDone || f.load == nil {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if o := f.load; o.Agents != 3 || o.Via.Address != "tools:7000" || o.Target.Address != "cache:6379" {
		t.Errorf("%+v", o)
	}
	for args, want := range map[string]string{
		"--agents 3":                             "--agents: they cannot reach a private server",
		"--via x:1":                              "--via is for the messages of agents",
		"-h x --agents 3 --metrics 127.0.0.1:0":  "--metrics: agents have none",
		"-h x --agents 3 --journal j":            "--journal: agents keep none",
		"-h x --agents 60":                       "--conns: 50 are too few for 60 agents",
		"-h x --agents 3 --via http://127.0.0.1": "--via: ",
	} {
		f := &fake{}
		got := run(t, f, append([]string{"bench", "run"}, strings.Fields(args)...)...)
		if got.code != cli.ExitUsage || !strings.Contains(got.stderr, want) || f.load != nil {
			t.Errorf("%s: exit %d, %q, want %q", args, got.code, got.stderr, want)
		}
	}
}
