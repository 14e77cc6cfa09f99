package experiment

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/clients"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/measure"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
)

// MemoryOptions are the parameters of the memory experiment. Slot is how long the conns
// are watched while idle; Warmup how long they settle before.
type MemoryOptions struct {
	Options
	// Conns is how many idle conns each client opens, as far as it can be made to.
	Conns int
	// OpenTimeout bounds the opening of them all.
	OpenTimeout time.Duration
}

// MemoryCase names the case of so many idle conns.
func MemoryCase(conns int) string { return fmt.Sprintf("idle conns=%d", conns) }

// pollEvery is the time between two looks at the number of conns.
const pollEvery = 5 * time.Millisecond

// Memory measures what idle conns cost the client: live heap, stacks, goroutines, and CPU
// time while nobody uses them.
func Memory(ctx context.Context, o MemoryOptions) error {
	var turns []turn
	for _, spec := range clients.All() {
		if spec.OpenIdle == nil {
			continue
		}
		turns = append(turns, turn{client: spec.Name, label: MemoryCase(o.Conns), measure: func(ctx context.Context, _ uint64) (map[record.Metric]float64, error) {
			return memorySlot(ctx, &o, spec)
		}})
	}
	return o.rounds(ctx, "memory", turns)
}

// footprint is the memory in use, after two collections: one alone leaves what
// sync.Pools hold.
type footprint struct {
	heap, stack uint64
	goroutines  int
}

func footprintNow() footprint {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{heap: m.HeapAlloc, stack: m.StackInuse, goroutines: runtime.NumGoroutine()}
}

func memorySlot(ctx context.Context, o *MemoryOptions, spec clients.Spec) (m map[record.Metric]float64, err error) {
	n := o.Conns
	if spec.MaxIdle > 0 {
		n = min(n, spec.MaxIdle)
	}
	// The client before may have conns that the server has not yet seen closed.
	if _, err := awaitClients(ctx, o, func(open int64) bool { return open == 1 }); err != nil {
		return nil, fmt.Errorf("waiting for the conns of the client before to go: %w", err)
	}
	if err := pause(ctx, o.Warmup); err != nil { // its goroutines are still ending
		return nil, err
	}
	empty := footprintNow()
	start := time.Now()
	opening, cancel := context.WithTimeout(ctx, o.OpenTimeout)
	defer cancel()
	idle, err := spec.OpenIdle(opening, o.Server.Addr(), n)
	if err != nil {
		return nil, fmt.Errorf("%s: opening %d conns: %w", spec.Name, n, err)
	}
	defer func() { err = errors.Join(err, idle.Close()) }()
	open, err := awaitClients(ctx, o, func(open int64) bool { return open >= int64(n)+1 })
	if err != nil {
		return nil, fmt.Errorf("%s: waiting for %d conns, %d are open: %w", spec.Name, n, open-1, err)
	}
	took := time.Since(start)
	if err := pause(ctx, o.Warmup); err != nil {
		return nil, err
	}
	full := footprintNow()
	cpu, watched := measure.CPU(), time.Now()
	if err := pause(ctx, o.Slot); err != nil {
		return nil, err
	}
	cpu = measure.CPU() - cpu
	conns := float64(open - 1)
	return map[record.Metric]float64{
		record.Conns:             conns,
		record.HeapPerConn:       (float64(full.heap) - float64(empty.heap)) / conns,
		record.StackPerConn:      (float64(full.stack) - float64(empty.stack)) / conns,
		record.GoroutinesPerConn: float64(full.goroutines-empty.goroutines) / conns,
		record.OpenRate:          conns / took.Seconds(),
		record.IdleCPU:           micros(cpu) / time.Since(watched).Seconds(),
	}, nil
}

// awaitClients polls the server's number of conns until it is what is wanted.
func awaitClients(ctx context.Context, o *MemoryOptions, wanted func(int64) bool) (open int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.OpenTimeout)
	defer cancel()
	for {
		s, err := measure.AskServer(ctx, o.Server)
		if err != nil {
			return open, err
		}
		open = s.Clients
		if wanted(open) {
			return open, nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return open, err
		}
	}
}
