package experiment

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// Options are what all experiments have in common.
type Options struct {
	// Server is the private server of the run. The pool experiment needs none.
	Server *evenkeeltest.Server
	// Rounds is how often each client is measured in each case, at least 1. Fewer than
	// 6 give no 95 % interval.
	Rounds int
	// Slot is how long a client is measured, Warmup how long it runs before.
	Slot, Warmup time.Duration
	// Clients restricts the run to these names; empty: all.
	Clients []string
	// Seed determines the order of turns and the keys.
	Seed uint64
	// Sink takes each slot as soon as it is measured.
	Sink func(record.Slot) error
	// Progress gets a line a round; it may be io.Discard.
	Progress io.Writer
}

func (o *Options) wants(client string) bool {
	return len(o.Clients) == 0 || slices.Contains(o.Clients, client)
}

// turn is one client in one case. measure returns the metrics of one slot.
type turn struct {
	client, label string
	measure       func(ctx context.Context, seed uint64) (map[record.Metric]float64, error)
}

// rounds takes all turns once a round: case by case, the clients of a case in shuffled
// order. A slot that fails is recorded as failed; the run goes on.
func (o *Options) rounds(ctx context.Context, experiment string, turns []turn) error {
	var labels []string
	byCase := map[string][]turn{}
	for _, t := range turns {
		if !o.wants(t.client) {
			continue
		}
		if byCase[t.label] == nil {
			labels = append(labels, t.label)
		}
		byCase[t.label] = append(byCase[t.label], t)
	}
	if len(labels) == 0 {
		return fmt.Errorf("experiment %s: no client to measure", experiment)
	}
	random := rand.New(rand.NewPCG(o.Seed, 0))
	start := time.Now()
	for round := 1; round <= o.Rounds; round++ {
		for _, label := range labels {
			order := slices.Clone(byCase[label])
			random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for _, t := range order {
				if err := o.take(ctx, experiment, round, t, random.Uint64()); err != nil {
					return err
				}
			}
		}
		elapsed := time.Since(start)
		left := elapsed / time.Duration(round) * time.Duration(o.Rounds-round)
		if _, err := fmt.Fprintf(o.Progress, "%s: round %d of %d done after %v, about %v left\n",
			experiment, round, o.Rounds, elapsed.Round(time.Second), left.Round(time.Second)); err != nil {
			return fmt.Errorf("experiment %s: progress: %w", experiment, err)
		}
	}
	return nil
}

func (o *Options) take(ctx context.Context, experiment string, round int, t turn, seed uint64) error {
	runtime.GC()
	if o.Server != nil {
		// A client should leave no conn behind; one that does must not cost the next.
		if _, err := o.Server.Do(ctx, "CLIENT", "KILL", "TYPE", "normal"); err != nil {
			return fmt.Errorf("experiment %s: clearing the server: %w", experiment, err)
		}
	}
	metrics, err := t.measure(ctx, seed)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	slot := record.Slot{Experiment: experiment, Case: t.label, Round: round, Client: t.client, Metrics: metrics}
	if err != nil {
		slot.Failed = err.Error()
		slot.Metrics = map[record.Metric]float64{}
	}
	if err := o.Sink(slot); err != nil {
		return fmt.Errorf("experiment %s: %w", experiment, err)
	}
	return nil
}

// pause waits, or returns the reason why the context has ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
