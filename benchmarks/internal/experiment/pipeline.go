package experiment

import (
	"context"
	"errors"
	"fmt"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/clients"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
)

// PipelineOptions are the parameters of the pipeline experiment.
type PipelineOptions struct {
	Options
	Keys, ValueSize int
	Depths          []int
}

// Pipeline operations.
const (
	OpGet = "GET"
	OpSet = "SET"
)

// PipelineCase names the case of pipelines of one operation and depth.
func PipelineCase(op string, depth int) string { return fmt.Sprintf("op=%s depth=%d", op, depth) }

// Pipeline measures one goroutine that sends explicit pipelines on one conn. Quantiles
// are of whole pipelines; everything else is per command.
func Pipeline(ctx context.Context, o PipelineOptions) error {
	space, err := load(ctx, o.Server, o.Keys, o.ValueSize)
	if err != nil {
		return err
	}
	var turns []turn
	for _, op := range []string{OpSet, OpGet} {
		for _, depth := range o.Depths {
			l := newLoader(&o.Options, 1, float64(depth))
			for _, spec := range clients.All() {
				if spec.OpenPipe == nil {
					continue
				}
				turns = append(turns, turn{client: spec.Name, label: PipelineCase(op, depth), measure: pipelineSlot(&o, l, spec, space, op, depth)})
			}
		}
	}
	return o.rounds(ctx, "pipeline", turns)
}

func pipelineSlot(o *PipelineOptions, l *loader, spec clients.Spec, space *keyspace, op string, depth int) func(context.Context, uint64) (map[record.Metric]float64, error) {
	return func(ctx context.Context, seed uint64) (m map[record.Metric]float64, err error) {
		opening, cancel := context.WithTimeout(ctx, callTimeout)
		pipe, err := spec.OpenPipe(opening, o.Server.Addr())
		cancel()
		if err != nil {
			return nil, fmt.Errorf("%s: opening: %w", spec.Name, err)
		}
		defer func() { err = errors.Join(err, pipe.Close()) }()
		keys := make([]string, depth)
		return l.run(ctx, seed, func(int) step {
			return func(_ context.Context, r uint64) error {
				for i := range keys {
					keys[i] = space.key(r + uint64(i))
				}
				if op == OpSet {
					return pipe.SetAll(context.Background(), keys, space.value)
				}
				n, err := pipe.GetAll(context.Background(), keys)
				if err == nil && n != depth*len(space.value) {
					return errWrongValue
				}
				return err
			}
		})
	}
}
