package experiment

import (
	"context"
	"errors"
	"fmt"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/clients"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/measure"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
)

// Two stand among the clients for what a call's context costs by itself: made and
// canceled, and also asked for its Done channel, which it makes only then. Who obeys a
// cancellation while it waits must ask.
const (
	ContextAlone   = "context alone"
	ContextAwaited = "context awaited"
)

// AllocsOptions are the parameters of the allocation experiment.
type AllocsOptions struct {
	Options
	ValueSize int
	// Calls is how many calls a slot counts.
	Calls int
}

// AllocsCase names the case of one operation with contexts of one kind.
func AllocsCase(op, contextKind string) string { return fmt.Sprintf("op=%s ctx=%s", op, contextKind) }

// Allocs counts the heap allocations of GET and of SET apart, one caller, a fixed number
// of calls.
func Allocs(ctx context.Context, o AllocsOptions) error {
	const keys = 1000
	space, err := load(ctx, o.Server, keys, o.ValueSize)
	if err != nil {
		return err
	}
	var turns []turn
	for _, op := range []string{OpGet, OpSet} {
		for _, contextKind := range []string{WithoutDeadline, WithDeadline} {
			label := AllocsCase(op, contextKind)
			turns = append(turns, contextTurn(&o, ContextAlone, label, contextKind, func(context.Context, uint64) error { return nil }))
			turns = append(turns, contextTurn(&o, ContextAwaited, label, contextKind, func(ctx context.Context, _ uint64) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				default:
					return nil
				}
			}))
			for _, spec := range clients.All() {
				if spec.Open == nil {
					continue
				}
				turns = append(turns, turn{client: spec.Name, label: label, measure: allocsSlot(&o, spec, space, op, contextKind)})
			}
		}
	}
	return o.rounds(ctx, "allocs", turns)
}

func contextTurn(o *AllocsOptions, client, label, contextKind string, call step) turn {
	return turn{client: client, label: label, measure: func(ctx context.Context, _ uint64) (map[record.Metric]float64, error) {
		return countAllocs(ctx, o.Calls, contextKind, call)
	}}
}

func allocsSlot(o *AllocsOptions, spec clients.Spec, space *keyspace, op, contextKind string) func(context.Context, uint64) (map[record.Metric]float64, error) {
	return func(ctx context.Context, _ uint64) (m map[record.Metric]float64, err error) {
		kv, err := openKV(ctx, o.Server.Addr(), spec, space)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, kv.Close()) }()
		call := set
		if op == OpGet {
			call = get
		}
		return countAllocs(ctx, o.Calls, contextKind, func(ctx context.Context, r uint64) error { return call(ctx, kv, space, r) })
	}
}

// countAllocs calls a tenth of the calls beforehand, to fill the client's own caches.
func countAllocs(ctx context.Context, calls int, contextKind string, call step) (map[record.Metric]float64, error) {
	one := func(i int) error {
		if contextKind == WithoutDeadline {
			return call(context.Background(), uint64(i))
		}
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		return call(ctx, uint64(i))
	}
	var before measure.Usage
	warmup := calls / 10
	for i := range warmup + calls {
		if i == warmup {
			before = measure.Now()
		}
		if err := one(i); err != nil {
			return nil, err
		}
		if i%1000 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	after := measure.Now()
	return map[record.Metric]float64{
		record.Allocs:     float64(after.Mallocs-before.Mallocs) / float64(calls),
		record.AllocBytes: float64(after.AllocBytes-before.AllocBytes) / float64(calls),
	}, nil
}
