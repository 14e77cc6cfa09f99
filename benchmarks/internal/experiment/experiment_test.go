package experiment

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/clients"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/pools"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// collect returns options with slots too short to say anything of speed, though long
// enough for some calls on a busy machine, and where the slots go.
func collect(t *testing.T, server *evenkeeltest.Server) (Options, *[]record.Slot) {
	t.Helper()
	var slots []record.Slot
	return Options{
		Server: server, Rounds: 1, Slot: 100 * time.Millisecond, Warmup: time.Millisecond, Seed: 1, Progress: io.Discard,
		Sink: func(s record.Slot) error {
			slots = append(slots, s)
			return nil
		},
	}, &slots
}

// check makes sure that each client has been measured once in each case, and
// has the metrics.
func check(t *testing.T, slots []record.Slot, cases, perCase int, metrics ...record.Metric) {
	t.Helper()
	type key struct {
		label, client string
		round         int
	}
	seen := map[key]bool{}
	for _, s := range slots {
		if s.Failed != "" {
			t.Errorf("%s, %s: %s", s.Client, s.Case, s.Failed)
		}
		for _, m := range metrics {
			if v, ok := s.Metrics[m]; !ok || v < 0 {
				t.Errorf("%s, %s: %s = %v, %v", s.Client, s.Case, m, v, ok)
			}
		}
		if n := s.Metrics[record.Errors]; n != 0 {
			t.Errorf("%s, %s: %v errors", s.Client, s.Case, n)
		}
		seen[key{s.Case, s.Client, s.Round}] = true
	}
	if want := cases * perCase; len(slots) != want || len(seen) != want {
		t.Errorf("%d slots, %d of them distinct; want %d", len(slots), len(seen), want)
	}
}

func count(has func(clients.Spec) bool) int {
	n := 0
	for _, spec := range clients.All() {
		if has(spec) {
			n++
		}
	}
	return n
}

func TestClosed(t *testing.T) {
	o, slots := collect(t, evenkeeltest.StartServer(t))
	err := Closed(t.Context(), ClosedOptions{Options: o, Keys: 1000, ValueSize: 100, Callers: []int{1, 20}, Contexts: []string{WithDeadline, WithoutDeadline}})
	if err != nil {
		t.Fatal(err)
	}
	n := count(func(s clients.Spec) bool { return s.Open != nil })
	check(t, *slots, 4, n, record.OpsPerSecond, record.ClientCPU, record.ServerCPU, record.P99, record.Allocs, record.Conns)
	for _, s := range *slots {
		if s.Metrics[record.Conns] < 1 || s.Metrics[record.OpsPerSecond] <= 0 {
			t.Errorf("%s, %s: %v", s.Client, s.Case, s.Metrics)
		}
	}
}

func TestPipeline(t *testing.T) {
	o, slots := collect(t, evenkeeltest.StartServer(t))
	if err := Pipeline(t.Context(), PipelineOptions{Options: o, Keys: 1000, ValueSize: 100, Depths: []int{16}}); err != nil {
		t.Fatal(err)
	}
	n := count(func(s clients.Spec) bool { return s.OpenPipe != nil })
	check(t, *slots, 2, n, record.OpsPerSecond, record.ClientCPU)
}

func TestAllocs(t *testing.T) {
	o, slots := collect(t, evenkeeltest.StartServer(t))
	if err := Allocs(t.Context(), AllocsOptions{Options: o, ValueSize: 100, Calls: 100}); err != nil {
		t.Fatal(err)
	}
	n := count(func(s clients.Spec) bool { return s.Open != nil })
	check(t, *slots, 4, n+2, record.Allocs)
	for _, s := range *slots {
		if got := s.Metrics[record.Allocs]; s.Client == ContextAwaited && strings.Contains(s.Case, WithDeadline) && got < 2 {
			t.Errorf("a context with a deadline that is awaited costs %v allocations", got)
		}
	}
}

func TestMemory(t *testing.T) {
	o, slots := collect(t, evenkeeltest.StartServer(t))
	if err := Memory(t.Context(), MemoryOptions{Options: o, Conns: 20, OpenTimeout: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	n := count(func(s clients.Spec) bool { return s.OpenIdle != nil })
	check(t, *slots, 1, n, record.OpenRate, record.IdleCPU)
	for _, s := range *slots {
		if _, ok := s.Metrics[record.HeapPerConn]; !ok || s.Metrics[record.Conns] < 20 {
			t.Errorf("%s: %v", s.Client, s.Metrics)
		}
	}
}

func TestPool(t *testing.T) {
	o, slots := collect(t, nil)
	o.Slot = 30 * time.Millisecond
	if err := Pool(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	check(t, *slots, 6, len(pools.All()), record.NsPerOp, record.Allocs)
}

func TestClientsAreChosen(t *testing.T) {
	o, slots := collect(t, nil)
	o.Slot, o.Clients = 30*time.Millisecond, []string{pools.Channel}
	if err := Pool(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	check(t, *slots, 6, 1, record.NsPerOp)
	o.Clients = []string{"nobody"}
	if err := Pool(t.Context(), o); err == nil {
		t.Error("no error when nobody is measured")
	}
}

// TestRoundsInterleave: every client of a case comes before any comes again, and not
// always in the same order.
func TestRoundsInterleave(t *testing.T) {
	o, slots := collect(t, nil)
	o.Rounds = 20
	var turns []turn
	for _, label := range []string{"one", "two"} {
		for _, client := range []string{"a", "b", "c"} {
			turns = append(turns, turn{client, label, func(context.Context, uint64) (map[record.Metric]float64, error) {
				return map[record.Metric]float64{}, nil
			}})
		}
	}
	if err := o.rounds(t.Context(), "e", turns); err != nil {
		t.Fatal(err)
	}
	orders := map[string]bool{}
	for i := 0; i < len(*slots); i += 3 {
		var order []string
		for _, s := range (*slots)[i : i+3] {
			if first := (*slots)[i]; s.Round != first.Round || s.Case != first.Case {
				t.Fatalf("slots %d to %d are of different rounds or cases", i, i+2)
			}
			order = append(order, s.Client)
		}
		orders[strings.Join(order, "")] = true
		slices.Sort(order)
		if !slices.Equal(order, []string{"a", "b", "c"}) {
			t.Fatalf("a round had the clients %q", order)
		}
	}
	if len(orders) < 4 { // of 6; fewer have a chance of 1 in 10^6 with 40 fair draws
		t.Errorf("only the orders %v were used", orders)
	}
}

func TestRoundsGoOnAfterAFailure(t *testing.T) {
	o, slots := collect(t, nil)
	o.Rounds = 2
	err := o.rounds(t.Context(), "e", []turn{
		{"good", "c", func(context.Context, uint64) (map[record.Metric]float64, error) {
			return map[record.Metric]float64{}, nil
		}},
		{"bad", "c", func(context.Context, uint64) (map[record.Metric]float64, error) { return nil, errors.New("gave up") }},
	})
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, s := range *slots {
		if s.Failed != "" {
			failed++
		}
	}
	if len(*slots) != 4 || failed != 2 {
		t.Errorf("%d slots, %d failed; want 4 and 2", len(*slots), failed)
	}
}

func TestRoundsStopWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	o, slots := collect(t, nil)
	err := o.rounds(ctx, "e", []turn{{"a", "c", func(context.Context, uint64) (map[record.Metric]float64, error) {
		cancel(stop)
		return map[record.Metric]float64{}, nil
	}}})
	if !errors.Is(err, stop) || len(*slots) != 0 {
		t.Errorf("error %v and %d slots; want %v and none", err, len(*slots), stop)
	}
}

// TestLoadCountsWrongReplies: what is not the value stored is an error, not an operation.
func TestLoadCountsWrongReplies(t *testing.T) {
	o, _ := collect(t, evenkeeltest.StartServer(t))
	l := newLoader(&o, 2, 1)
	m, err := l.run(t.Context(), 1, func(worker int) step {
		if worker == 0 {
			return func(context.Context, uint64) error { return errWrongValue }
		}
		return func(ctx context.Context, _ uint64) error { return pause(ctx, time.Millisecond) }
	})
	if err != nil {
		t.Fatal(err)
	}
	if m[record.Errors] == 0 || m[record.OpsPerSecond] == 0 {
		t.Errorf("%v errors, %v ops/s; want both", m[record.Errors], m[record.OpsPerSecond])
	}
	_, err = l.run(t.Context(), 1, func(int) step {
		return func(context.Context, uint64) error { return errWrongValue }
	})
	if !errors.Is(err, errWrongValue) {
		t.Errorf("error %v when every reply is wrong, want %v", err, errWrongValue)
	}
}
