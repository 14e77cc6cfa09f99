package bench_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// fleet are agents in this process.
type fleet struct {
	group sync.WaitGroup
	errs  []error
	mu    sync.Mutex
	notes []string
	stop  []context.CancelFunc
}

// startAgents has so many agents wait for one run each.
func startAgents(t *testing.T, n int, s *evenkeeltest.Server) *fleet {
	t.Helper()
	f := &fleet{errs: make([]error, n)}
	for i := range n {
		ctx, cancel := context.WithCancel(t.Context())
		f.stop = append(f.stop, cancel)
		o := bench.AgentOptions{Join: given(s), Target: given(s), Name: fmt.Sprintf("agent%d", i), Once: true}
		o.Progress = func(e bench.Event) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if e.Note != "" {
				f.notes = append(f.notes, e.Note)
			}
		}
		f.group.Go(func() { f.errs[i] = bench.Agent(ctx, o) })
	}
	t.Cleanup(func() {
		for _, cancel := range f.stop {
			cancel()
		}
		f.group.Wait()
	})
	return f
}

func byAgents(s *evenkeeltest.Server, n int) bench.RunOptions {
	o := smallRun(0)
	o.Target, o.Disturb, o.Agents = given(s), true, n
	o.Duration, o.Interval = time.Second, 100*time.Millisecond
	return o
}

func TestAgentsShareALoad(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	f := startAgents(t, 3, s)
	o := byAgents(s, 3)
	o.Rate = 3_000
	r, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	f.group.Wait()
	if err := errors.Join(f.errs...); err != nil {
		t.Errorf("%v", err)
	}
	if r.Scheduled != 3_000 || r.OK+r.Failed+r.Unanswered+r.Backlog != 3_000 || r.Failed != 0 || r.Classes[0].Misses != 0 || r.Total.Response.Count != r.OK {
		t.Errorf("%d scheduled, %d OK, %d failed, %d unanswered, %d never sent, %d misses", r.Scheduled, r.OK, r.Failed, r.Unanswered, r.Backlog, r.Classes[0].Misses)
	}
	if len(r.Agents) != 3 || len(r.Verdict.Workers) != 3 || r.Opened != 8 || r.Preload == nil || r.Preload.Keys != 500 {
		t.Fatalf("%+v, %d workers, %d connections, preload %+v", r.Agents, len(r.Verdict.Workers), r.Opened, r.Preload)
	}
	var ok, seconds int64
	for _, a := range r.Agents {
		ok += a.OK
		if a.Lost != "" || !strings.HasPrefix(a.Name, "agent") || a.OK == 0 || a.P99Us <= 0 || a.Environment.Go == "" {
			t.Errorf("%+v", a)
		}
	}
	for _, p := range r.Seconds {
		seconds += p.OK
	}
	if ok != r.OK || seconds != r.OK {
		t.Errorf("%d by agent and %d over time, of %d", ok, seconds, r.OK)
	}
	var text strings.Builder
	if err := r.Text(&text, 120); err != nil || !strings.Contains(text.String(), "Agents\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
	redraw(t, r)
	agentsLeaveLittle(t, s)
}

// agentsLeaveLittle wants no key of a workload, and a TTL for those of messages.
func agentsLeaveLittle(t *testing.T, s *evenkeeltest.Server) {
	t.Helper()
	v, err := s.Do(t.Context(), "KEYS", "*")
	if err != nil {
		t.Fatal(err)
	}
	keys, _ := v.([]any)
	for _, k := range keys {
		name, _ := k.(string)
		ttl, err := s.Do(t.Context(), "PTTL", name)
		if n, _ := ttl.(int64); err != nil || n <= 0 || !strings.HasPrefix(name, "evenkeel:agents:") {
			t.Errorf("%s was left, with a TTL of %v ms (%v)", name, ttl, err)
		}
	}
}

func TestAgentsMakeExactlyTheRequests(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	f := startAgents(t, 3, s)
	o := byAgents(s, 2)
	o.Duration, o.Requests = 0, 1_001
	r, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.OK != 1_001 || len(r.Agents) != 2 {
		t.Errorf("%d OK of %+v", r.OK, r.Agents)
	}
	// The third is not chosen, and waits for another run.
	o.Agents = 1
	if r, err = bench.Run(t.Context(), o); err != nil || r.OK != 1_001 || len(r.Agents) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	f.group.Wait()
}

// What a lost agent did is not counted, and said.
func TestALostAgentIsNotCounted(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	f := startAgents(t, 3, s)
	o := byAgents(s, 3)
	o.Duration = 3 * time.Second
	once := sync.OnceFunc(func() { f.stop[1]() })
	o.Progress = func(e bench.Event) {
		if e.Phase == "load" && strings.Contains(e.Status, "agent0") { // all have begun
			once()
		}
	}
	r, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	lost, sum := 0, int64(0)
	for _, a := range r.Agents {
		sum += a.OK
		if strings.HasPrefix(a.Name, "agent1") != (a.Lost != "") || a.Lost != "" && a.OK != 0 {
			t.Errorf("%+v", a)
		}
		if a.Lost != "" {
			lost++
		}
	}
	if lost != 1 || sum != r.OK || r.OK == 0 {
		t.Errorf("%d lost, %d of %d", lost, sum, r.OK)
	}
	var text strings.Builder
	if err := r.Text(&text, 120); err != nil || !strings.Contains(text.String(), "1 agent was lost (agent1-") {
		t.Errorf("%v\n%s", err, text.String())
	}
	agentsLeaveLittle(t, s)
}

// Both sides end a run together when the coordinator is interrupted.
func TestACoordinatorThatIsInterrupted(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	f := startAgents(t, 2, s)
	ctx, cancel := context.WithCancel(t.Context())
	o := byAgents(s, 2)
	o.Duration = time.Hour
	o.Progress = func(e bench.Event) {
		if strings.Contains(e.Status, "agent0") && strings.Contains(e.Status, "agent1") {
			cancel()
		}
	}
	r, err := bench.Run(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || r.OK == 0 || !r.Interrupted {
		t.Errorf("%v", err)
	}
	f.group.Wait()
	for _, err := range f.errs {
		if err == nil || !strings.Contains(err.Error(), "the coordinator has ended the run") {
			t.Errorf("%v", err)
		}
	}
	agentsLeaveLittle(t, s)
}

func TestAgentsLoadOnlyTheirOwnServer(t *testing.T) {
	noLeaks(t)
	s, other := evenkeeltest.StartServer(t), evenkeeltest.StartServer(t)
	f := startAgents(t, 1, s)
	ctx, cancel := context.WithCancel(t.Context())
	o := byAgents(s, 1)
	o.Target, o.Via = given(other), given(s)
	o.Progress = func(e bench.Event) {
		if strings.Contains(e.Note, "refused: it loads redis://"+other.Addr()+", and this agent only redis://"+s.Addr()) {
			cancel()
		}
	}
	if r, err := bench.Run(ctx, o); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", r, err)
	}
	f.stop[0]()
	f.group.Wait()
	noKeys(t, other)
}

func TestAgentsRefuse(t *testing.T) {
	at := bench.Target{Network: "tcp", Address: "127.0.0.1:1"}
	for option, spoil := range map[string]func(*bench.RunOptions){
		"agents":   func(o *bench.RunOptions) { o.Agents = -1 },
		"journal":  func(o *bench.RunOptions) { o.Journal = "x" },
		"conns":    func(o *bench.RunOptions) { o.Conns = 2 },
		"requests": func(o *bench.RunOptions) { o.Requests = 2 },
		"callers":  func(o *bench.RunOptions) { o.Callers = 2 },
		"url":      func(o *bench.RunOptions) { o.Via = bench.Target{Network: "tcp", Address: "nowhere"} },
		"key-file": func(o *bench.RunOptions) { o.Workload.Keys.File = "keys" },
	} {
		o := smallRun(0)
		o.Target, o.Agents, o.Duration = at, 3, time.Second
		spoil(&o)
		_, err := bench.Run(t.Context(), o)
		if blamed, ok := errors.AsType[*bench.OptionError](err); !ok || blamed.Option != option {
			t.Errorf("%v, want an OptionError for %s", err, option)
		}
	}
	for option, o := range map[string]bench.AgentOptions{
		"join": {Target: at, Name: "x"},
		"url":  {Join: at, Name: "x"},
		"name": {Join: at, Target: at},
	} {
		err := bench.Agent(t.Context(), o)
		if blamed, ok := errors.AsType[*bench.OptionError](err); !ok || blamed.Option != option {
			t.Errorf("%v, want an OptionError for %s", err, option)
		}
	}
}
