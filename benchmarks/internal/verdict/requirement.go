package verdict

import (
	"fmt"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/clients"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/experiment"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/pools"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
)

// Requirement is one thing that must hold.
type Requirement struct {
	// Case is empty when it must hold in every case of the experiment.
	Experiment, Case string
	Metric           record.Metric
	// Ours is the client that must fulfil it.
	Ours string
	// Peers are whom it is compared with: the best of them, by the median of the
	// metric. Empty: the metric itself is judged, not a ratio.
	Peers []string
	// Minus names what is taken off ours first, round by round.
	Minus string
	// Bound is the least (or, with AtMost, the greatest) ratio or value allowed.
	Bound  float64
	AtMost bool
	// Slack is added to a bound on a value, for what the process does by itself.
	Slack float64
}

// want is the bound in words.
func (r Requirement) want() string {
	sign := "≥"
	if r.AtMost {
		sign = "≤"
	}
	if len(r.Peers) > 0 {
		return fmt.Sprintf("%s %.3g×", sign, r.Bound)
	}
	return fmt.Sprintf("%s %.6g", sign, r.Bound)
}

// allocSlack allows for the runtime's own allocations while calls are counted.
const allocSlack = 0.02

// maxHeapPerConn is the most an idle conn may take.
const maxHeapPerConn = 8 << 10

// MemoryConns is how many idle conns are opened by default; what must hold of memory must
// hold for any number.
const MemoryConns = 500

// Callers are the numbers of callers that the requirements speak of.
func Callers() []int { return []int{1, 8, 64, 250, 1000} }

// Depths are the depths of explicit pipelines that the requirements speak of.
func Depths() []int { return []int{16, 256, 4096} }

// Requirements lists everything that must hold, in the order of the experiments.
func Requirements() []Requirement {
	var all []Requirement
	for _, contextKind := range []string{experiment.WithDeadline, experiment.WithoutDeadline} {
		for _, callers := range Callers() {
			all = append(all, closed(callers, contextKind)...)
		}
	}
	all = append(all, allocs()...)
	all = append(all, pipelines()...)
	all = append(all, pool()...)
	return append(all, memory()...)
}

// closed: at least so much faster than each, at less CPU, with a p99 that is no worse.
func closed(callers int, contextKind string) []Requirement {
	everyone := []string{clients.GoRedis, clients.Rueidis, clients.RueidisFlush, clients.Radix, clients.Redigo}
	asItComes, atItsBest := []string{clients.Rueidis}, []string{clients.RueidisFlush}
	against := func(peers []string, ops, cpu float64) []Requirement {
		of := Requirement{Experiment: "closed", Case: experiment.ClosedCase(callers, contextKind), Ours: clients.Evenkeel, Peers: peers}
		faster, cheaper, steadier := of, of, of
		faster.Metric, faster.Bound = record.OpsPerSecond, ops
		cheaper.Metric, cheaper.Bound, cheaper.AtMost = record.ClientCPU, cpu, true
		steadier.Metric, steadier.Bound, steadier.AtMost = record.P99, 1, true
		return []Requirement{faster, cheaper, steadier}
	}
	switch {
	case callers == 1:
		return against(everyone, 1, 1)
	case callers < 64:
		return against(asItComes, 1.05, 0.85)
	default:
		return append(against(asItComes, 2, 1), against(atItsBest, 1.3, 1)...)
	}
}

func allocs() []Requirement {
	var all []Requirement
	for _, contextKind := range []string{experiment.WithDeadline, experiment.WithoutDeadline} {
		for _, op := range []struct {
			name  string
			bound float64
		}{{experiment.OpGet, 1}, {experiment.OpSet, 0}} {
			all = append(all, Requirement{
				Experiment: "allocs", Case: experiment.AllocsCase(op.name, contextKind), Metric: record.Allocs,
				Ours: clients.Evenkeel, Minus: experiment.ContextAwaited, Bound: op.bound, AtMost: true, Slack: allocSlack,
			})
		}
	}
	return all
}

func pipelines() []Requirement {
	var all []Requirement
	peers := []string{clients.GoRedis, clients.Rueidis, clients.Radix, clients.Redigo}
	for _, op := range []string{experiment.OpSet, experiment.OpGet} {
		for _, depth := range Depths() {
			for _, ours := range []string{clients.Evenkeel, clients.EvenkeelConn} {
				all = append(all, Requirement{
					Experiment: "pipeline", Case: experiment.PipelineCase(op, depth), Metric: record.OpsPerSecond, Ours: ours, Peers: peers, Bound: 1,
				})
			}
		}
	}
	return all
}

func pool() []Requirement {
	var all []Requirement
	for _, use := range []struct {
		name  string
		bound float64
	}{{experiment.Solo, 1.0 / 2}, {experiment.Contended, 1.0 / 3}} {
		for _, contextKind := range []string{experiment.WithoutDeadline, experiment.Cancelable} {
			of := Requirement{Experiment: "pool", Case: experiment.PoolCase(use.name, contextKind), Ours: pools.Evenkeel, AtMost: true}
			time, alloc := of, of
			time.Metric, time.Bound, time.Peers = record.NsPerOp, use.bound, []string{pools.Puddle}
			alloc.Metric, alloc.Bound, alloc.Slack = record.Allocs, 0, allocSlack
			all = append(all, time, alloc)
		}
	}
	return all
}

func memory() []Requirement {
	of := Requirement{Experiment: "memory", Ours: clients.Evenkeel, AtMost: true}
	heap, goroutines := of, of
	heap.Metric, heap.Bound = record.HeapPerConn, maxHeapPerConn
	// A client may have a few goroutines of its own, but none for each conn.
	goroutines.Metric, goroutines.Bound, goroutines.Slack = record.GoroutinesPerConn, 0, allocSlack
	return []Requirement{heap, goroutines}
}
