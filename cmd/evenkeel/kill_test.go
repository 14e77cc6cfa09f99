package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// runDoc is what these tests read of a result.
type runDoc struct {
	Schema      string
	Interrupted bool
	OK          int64 `json:"ok"`
	Failed      int64 `json:"failed"`
	Seconds     []struct {
		T  float64
		OK int64 `json:"ok"`
	}
	Agents []struct {
		Name, Lost string
		OK         int64 `json:"ok"`
	}
}

// A kill -9 in the middle of a long run loses at most the interval that was under way:
// what the journal has can be reported, and the run goes on from there.
func TestKilledRunIsReportedAndResumed(t *testing.T) {
	t.Parallel()
	s := evenkeeltest.StartServer(t)
	journal := filepath.Join(t.TempDir(), "run.jsonl")
	args := []string{
		"bench", "run", "--url", "redis://" + s.Addr(), "--disturb", "--keys", "100", "--warmup", "0s", "--duration", "6s", "--interval", "100ms", "--rate", "500",
		"--journal", journal, "--json",
	}
	written := make(chan int64, 1) // intervals that were there when it was killed
	var once sync.Once
	got := program(t, func(_ string, p *os.Process) {
		once.Do(func() {
			go func() {
				tick := time.NewTicker(5 * time.Millisecond)
				defer tick.Stop()
				n := int64(0)
				for n < 12 {
					<-tick.C
					text, _ := os.ReadFile(journal)
					n = int64(strings.Count(string(text), "\n")) - 1 // the first line is the head
				}
				_ = p.Kill()
				written <- n
			}()
		})
	}, nil, args...)
	killed := <-written
	if got.code == 0 || got.stdout != "" {
		t.Fatalf("it was not killed: exit %d, %s", got.code, got.stderr)
	}
	read := func() runDoc {
		t.Helper()
		got := program(t, nil, nil, "bench", "report", journal, "--json")
		var doc runDoc
		if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || got.code != 0 {
			t.Fatalf("exit %d, %v: %s", got.code, err, got.stderr)
		}
		return doc
	}
	doc := read()
	if n := int64(len(doc.Seconds)); n < killed || doc.OK < 40*killed || !doc.Interrupted || doc.Failed != 0 {
		t.Errorf("%d points with %d requests of %d intervals that were written; interrupted %v, %d failed", n, doc.OK, killed, doc.Interrupted, doc.Failed)
	}
	got = program(t, nil, nil, append(args, "--resume")...)
	if got.code != 0 {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if whole := read(); whole.Interrupted || whole.OK+whole.Failed < 2_900 || whole.OK > 3_010 {
		t.Errorf("%d OK of 3,000 at 500 a second in 6 s, interrupted %v", whole.OK, whole.Interrupted)
	}
}

// An agent that is killed is reported, and its share is not counted.
func TestKilledAgentIsLost(t *testing.T) {
	t.Parallel()
	s := evenkeeltest.StartServer(t)
	url := "redis://" + s.Addr()
	var agents [2]*exec.Cmd
	for i := range agents {
		agents[i] = exec.CommandContext(context.WithoutCancel(t.Context()), binary, "bench", "agent", "--join", url, "--name", fmt.Sprintf("agent%d", i), "--quiet")
		if err := agents[i].Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = agents[i].Process.Kill()
			_ = agents[i].Wait()
		})
	}
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { // kill the second when the load has begun
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for watching.Err() == nil {
			<-tick.C
			if n, err := s.InfoInt(watching, "clients", "connected_clients"); err == nil && n > 20 {
				if v, err := s.InfoInt(watching, "stats", "instantaneous_ops_per_sec"); err == nil && v > 500 {
					_ = agents[1].Process.Kill()
					return
				}
			}
		}
	}()
	got := program(t, nil, nil, "bench", "run", "--url", url, "--disturb", "--agents", "2", "--keys", "100", "--conns", "30", "--duration", "4s", "--rate", "2000", "--json")
	var doc runDoc
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || got.code != 1 || !strings.Contains(got.stderr, "missed: agents (agent1-") {
		t.Fatalf("exit %d, %v: %s", got.code, err, got.stderr)
	}
	if len(doc.Agents) != 2 || doc.Failed != 0 {
		t.Fatalf("%+v", doc)
	}
	var sum int64
	for _, a := range doc.Agents {
		sum += a.OK
		if killed := strings.HasPrefix(a.Name, "agent1"); killed != (a.Lost != "") || killed && a.OK != 0 {
			t.Errorf("%+v", a)
		}
	}
	if doc.OK != sum || doc.OK < 3_000 || doc.OK > 4_000 {
		t.Errorf("%d, and %d by agent: want the half of 8,000 that the other made", doc.OK, sum)
	}
}
