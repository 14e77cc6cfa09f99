package experiment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/measure"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/stats"
)

// Phases of a slot. The workers go through all of them without a pause, so that what is
// measured is a steady state.
const (
	phaseWarmup = iota
	phaseMeasure
	phaseStop
)

// retryPause keeps a client that fails at once from spinning.
const retryPause = time.Millisecond

// endTimeout is how long a call may outlast its slot, well above callTimeout.
const endTimeout = 15 * time.Second

var errStuck = fmt.Errorf("callers still hung %v after the slot", endTimeout)

// worker is one caller. Its counters are its own until it has ended.
type worker struct {
	ops, errors uint64
	firstError  error
	latencies   stats.Histogram
	_           [64]byte // the next worker's counters lie in another cache line
}

// step does weight operations, or fails.
type step func(ctx context.Context, r uint64) error

// loader keeps a number of workers busy for a slot. Its workers are reused from slot to
// slot, so that their memory is part of no client's bill.
type loader struct {
	workers []*worker
	// sampleEvery: one call in so many is timed, since reading the clock twice costs
	// as much as some clients' whole work per call. The same for every client.
	sampleEvery uint64
	// weight is how many operations a step is.
	weight float64
	warmup time.Duration
	slot   time.Duration
	server measure.Informer
}

// sampling times every call of few callers, who have few calls, and 1 in 8 of many.
func sampling(callers int) uint64 {
	if callers <= 8 {
		return 1
	}
	return 8
}

func newLoader(o *Options, callers int, weight float64) *loader {
	l := &loader{sampleEvery: sampling(callers), weight: weight, warmup: o.Warmup, slot: o.Slot, server: o.Server}
	for range callers {
		l.workers = append(l.workers, &worker{})
	}
	return l
}

// run lets every worker repeat its step, and returns what that cost while it was
// measured. stepFor makes the step of one worker.
func (l *loader) run(ctx context.Context, seed uint64, stepFor func(worker int) step) (map[record.Metric]float64, error) {
	var phase atomic.Int32
	var running sync.WaitGroup
	stop := func() error {
		phase.Store(phaseStop)
		return l.await(&running)
	}
	for i, w := range l.workers {
		*w = worker{}
		do := stepFor(i)
		random := newXorshift(seed, uint64(i))
		running.Go(func() { w.loop(ctx, &phase, do, random, uint64(i), l.sampleEvery) })
	}
	if err := pause(ctx, l.warmup); err != nil {
		return nil, errors.Join(err, stop())
	}
	serverBefore, err := measure.AskServer(ctx, l.server)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	before := measure.Now()
	phase.Store(phaseMeasure)
	if err := pause(ctx, l.slot); err != nil {
		return nil, errors.Join(err, stop())
	}
	phase.Store(phaseStop)
	after := measure.Now()
	serverAfter, err := measure.AskServer(ctx, l.server)
	if err := errors.Join(err, stop()); err != nil {
		return nil, err
	}
	return l.metrics(before, after, serverBefore, serverAfter)
}

// await waits until the workers have ended. A client that lets its callers hang must not
// hang the run: after a while they are left behind, and the next slot has new ones.
func (l *loader) await(running *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	timer := time.NewTimer(endTimeout)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C:
		for i := range l.workers {
			l.workers[i] = &worker{}
		}
		return errStuck
	}
}

// loop repeats the step until the slot is over. The workers start at different places of
// the sampling, so that they do not all read the clock in the same batch.
func (w *worker) loop(ctx context.Context, phase *atomic.Int32, do step, random xorshift, offset, sampleEvery uint64) {
	for n := offset; ; n++ {
		var start time.Time
		sampled := n%sampleEvery == 0
		if sampled {
			start = time.Now()
		}
		err := do(ctx, random.next())
		switch phase.Load() {
		case phaseMeasure:
			w.count(err, sampled, start)
		case phaseStop:
			return
		}
		if err != nil && pause(ctx, retryPause) != nil {
			return
		}
	}
}

func (w *worker) count(err error, sampled bool, start time.Time) {
	if err != nil {
		w.errors++
		if w.firstError == nil {
			w.firstError = err
		}
		return
	}
	w.ops++
	if sampled {
		w.latencies.Record(time.Since(start))
	}
}

func (l *loader) metrics(before, after measure.Usage, serverBefore, serverAfter measure.Server) (map[record.Metric]float64, error) {
	var total worker
	for _, w := range l.workers {
		total.ops += w.ops
		total.errors += w.errors
		total.latencies.Merge(&w.latencies)
		if total.firstError == nil {
			total.firstError = w.firstError
		}
	}
	if total.ops == 0 {
		return nil, noOpsError{total.firstError}
	}
	ops := float64(total.ops) * l.weight
	elapsed := after.At.Sub(before.At)
	clientCPU := after.CPU - before.CPU
	m := map[record.Metric]float64{
		record.OpsPerSecond: ops / elapsed.Seconds(),
		record.ClientCPU:    micros(clientCPU) / ops,
		record.Samples:      float64(total.latencies.Count()),
		record.Allocs:       float64(after.Mallocs-before.Mallocs) / ops,
		record.AllocBytes:   float64(after.AllocBytes-before.AllocBytes) / ops,
		record.Conns:        float64(serverAfter.Clients - 1), // less the control conn
		record.NewConns:     float64(serverAfter.Accepted - serverBefore.Accepted),
		record.Errors:       float64(total.errors),
	}
	if total.latencies.Count() > 0 {
		m[record.P50] = micros(total.latencies.Quantile(0.50))
		m[record.P99] = micros(total.latencies.Quantile(0.99))
		m[record.P999] = micros(total.latencies.Quantile(0.999))
	}
	serverCPU := serverAfter.CPU - serverBefore.CPU
	if commands := float64(serverAfter.Commands - serverBefore.Commands); commands > 0 {
		m[record.ServerCPU] = micros(serverCPU) / commands
		if reads := float64(serverAfter.Reads - serverBefore.Reads); reads > 0 {
			m[record.Batch] = commands / reads
		}
	}
	if after.Machine > 0 {
		others := after.Machine - before.Machine - clientCPU - serverCPU
		m[record.OtherCPU] = min(max(others.Seconds()/(elapsed.Seconds()*float64(cpus())), 0), 1)
	}
	return m, nil
}

// noOpsError says that no operation succeeded while measuring, and why.
type noOpsError struct{ first error }

func (e noOpsError) Error() string {
	if e.first == nil {
		return "no operation ended in the slot"
	}
	return "no operation succeeded: " + e.first.Error()
}

func (e noOpsError) Unwrap() error { return e.first }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
