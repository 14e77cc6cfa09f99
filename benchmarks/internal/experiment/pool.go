package experiment

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/measure"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/pools"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
)

// How a pool is used.
const (
	// Solo: one goroutine, so never a wait.
	Solo = "solo"
	// Contended: many goroutines on few conns, each putting back at once what it took.
	Contended = "contended"
	// Yielding: the same, but each lets others run while it has a conn, as any holder
	// does that waits for a reply.
	Yielding = "yielding"
)

// contenders share the conns of a pool when it is contended.
const contenders = 64

// Cancelable is the kind of context that can end but has no deadline; one a goroutine,
// since pools are also used with a context that lives as long as a request.
const Cancelable = "cancelable"

// PoolCase names the case of one use with contexts of one kind.
func PoolCase(use, contextKind string) string { return fmt.Sprintf("use=%s ctx=%s", use, contextKind) }

// Pool measures taking a conn out of a pool and putting it back, without any network.
func Pool(ctx context.Context, o Options) error {
	var turns []turn
	for _, use := range []string{Solo, Contended, Yielding} {
		for _, contextKind := range []string{WithoutDeadline, Cancelable} {
			for _, spec := range pools.All() {
				turns = append(turns, turn{client: spec.Name, label: PoolCase(use, contextKind), measure: func(ctx context.Context, _ uint64) (map[record.Metric]float64, error) {
					return poolSlot(ctx, &o, spec, use, contextKind)
				}})
			}
		}
	}
	return o.rounds(ctx, "pool", turns)
}

// poolWorker counts its own cycles, in a cache line of its own.
type poolWorker struct {
	ops uint64
	err error
	_   [64]byte
}

func poolSlot(ctx context.Context, o *Options, spec pools.Spec, use, contextKind string) (map[record.Metric]float64, error) {
	cycle, closePool, err := spec.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Name, err)
	}
	defer closePool()
	goroutines, hold := contenders, func() {}
	switch use {
	case Solo:
		goroutines, hold = 1, nil
	case Contended:
		hold = nil
	case Yielding:
		hold = runtime.Gosched
	}
	workers := make([]poolWorker, goroutines)
	var phase atomic.Int32
	var running sync.WaitGroup
	for i := range workers {
		running.Go(func() {
			ctx := context.Background()
			if contextKind == Cancelable {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				defer cancel()
			}
			workers[i].loop(ctx, &phase, cycle, hold)
		})
	}
	stop := func() {
		phase.Store(phaseStop)
		running.Wait()
	}
	if err := pause(ctx, o.Warmup); err != nil {
		stop()
		return nil, err
	}
	before := measure.Now()
	phase.Store(phaseMeasure)
	err = pause(ctx, o.Slot)
	phase.Store(phaseStop)
	after := measure.Now()
	running.Wait()
	if err != nil {
		return nil, err
	}
	var ops uint64
	for i := range workers {
		ops += workers[i].ops
		if workers[i].err != nil {
			return nil, fmt.Errorf("%s: %w", spec.Name, workers[i].err)
		}
	}
	if ops == 0 {
		return nil, noOpsError{}
	}
	return map[record.Metric]float64{
		record.NsPerOp:    float64(after.At.Sub(before.At)) / float64(ops),
		record.ClientCPU:  micros(after.CPU-before.CPU) / float64(ops),
		record.Allocs:     float64(after.Mallocs-before.Mallocs) / float64(ops),
		record.AllocBytes: float64(after.AllocBytes-before.AllocBytes) / float64(ops),
	}, nil
}

func (w *poolWorker) loop(ctx context.Context, phase *atomic.Int32, cycle pools.Cycle, hold func()) {
	for {
		if err := cycle(ctx, hold); err != nil {
			w.err = err
			return
		}
		switch phase.Load() {
		case phaseMeasure:
			w.ops++
		case phaseStop:
			return
		}
	}
}
