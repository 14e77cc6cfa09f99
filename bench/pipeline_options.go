package bench

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/report"
)

// PipelineOptions say what Pipeline does: Conns connections keep Depth requests in
// flight each, for each command and each depth by turns, in many short rounds. Make it
// with [DefaultPipelineOptions].
type PipelineOptions struct {
	// Target is the server; the zero value means a private one.
	Target Target
	// Commands are what is sent, each measured by itself, 1 to 16, with the placeholders
	// of a workload. Default SET and GET.
	Commands []string
	// Depths are how many requests are in flight on a connection, ascending, each 1 to
	// 65,536. Default 1, 4, 16, 64, 256, 1024, 4096.
	Depths []int
	// Conns is the number of connections, 1 to 10,000. Default 10.
	Conns int
	// Workers is the number of threads that serve them, 1 to Conns and at most 1,024.
	// Default half of the processors, at least 1 and at most 16.
	Workers int
	// Sliding sends one more request for each reply. Default false: Depth at once, and
	// then none until all of their replies are there, as a program's pipeline does.
	Sliding bool
	// Rounds is how often each has its turn, 3 to 1,000. Default 20. One more comes
	// first and does not count.
	Rounds int
	// Slot is how long a turn takes, 20 ms to 1 min. Default 100 ms.
	Slot time.Duration
	// Keys is the number of keys, 1 to 1,000,000. Default 1,000.
	Keys int
	// ValueSize is the size of a value in bytes, 1 to 1 MiB. Default 100.
	ValueSize int
	// Seed begins all random numbers, the order of the turns too. Default 1.
	Seed uint64
	// Portable uses the engine over net.Conn also where there is a faster one. Default
	// false.
	Portable bool
	// Disturb allows a given server that is busy, a replica, or near a limit, and a
	// database with keys in it that commands without placeholders may meet. Default
	// false: refuse.
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultPipelineOptions returns the defaults that the fields name.
func DefaultPipelineOptions() PipelineOptions {
	return PipelineOptions{
		Commands: []string{"SET __key__ __data__", "GET __key__"},
		Depths:   []int{1, 4, 16, 64, 256, 1024, 4096},
		Conns:    10,
		Workers:  min(max(runtime.GOMAXPROCS(0)/2, 1), maxAutoWorkers, 10),
		Rounds:   20, Slot: 100 * time.Millisecond,
		Keys: 1_000, ValueSize: 100, Seed: 1,
	}
}

// maxSweepCommands is how many commands one sweep can have.
const maxSweepCommands = 16

// Validate reports the first option that is out of bounds as an [OptionError], or what
// is wrong with a command.
func (o PipelineOptions) Validate() error {
	var c check
	c.target(o.Target)
	c.that(len(o.Commands) > 0 && len(o.Commands) <= maxSweepCommands, "command", "there are %d; give 1 to %d", len(o.Commands), maxSweepCommands)
	c.ascending(o.Depths, raw.MaxDepth, "depths")
	c.between(o.Conns, 1, 10_000, "conns")
	c.between(o.Workers, 1, raw.MaxWorkers, "workers")
	c.that(o.Workers <= o.Conns, "workers", "%d threads have %s to serve; give at most as many", o.Workers, report.Plural(o.Conns, "connection", "connections"))
	c.between(o.Rounds, 3, 1_000, "rounds")
	c.lasts(o.Slot, 20*time.Millisecond, time.Minute, "slot")
	c.between(o.Keys, 1, 1_000_000, "keys")
	c.between(o.ValueSize, 1, 1<<20, "value-size")
	if c.err != nil {
		return c.err
	}
	for _, text := range o.Commands {
		w := sweepWorkload(o.Keys, o.ValueSize, text)
		if err := w.Validate(); err != nil {
			return &OptionError{Option: "command", Problem: fmt.Sprintf("%q: %v", text, err)}
		}
	}
	return nil
}

// sweepWorkload is a workload of such commands over keys of the experiments.
func sweepWorkload(keys, valueSize int, commands ...string) workload.Workload {
	var w workload.Workload
	for _, text := range commands {
		w.Commands = append(w.Commands, workload.Command{Command: text})
	}
	if strings.Contains(strings.Join(commands, " "), "__") { // a placeholder needs them
		w.Keys = workload.Keys{Count: int64(keys), Prefix: KeyPrefix, Digits: 7}
		w.Values = workload.Values{Size: workload.Size{Bytes: int64(valueSize)}}
	}
	return w
}

// Plan says what Pipeline will do.
func (o PipelineOptions) Plan() Plan {
	deepest := int64(o.Depths[len(o.Depths)-1])
	turns := (o.Rounds + 1) * len(o.Commands) * len(o.Depths)
	return Plan{
		Steps: []string{fmt.Sprintf("%s of %s each: %s to %s in flight on each of %s, for %v",
			report.Plural(o.Rounds+1, "round", "rounds"), report.Plural(len(o.Commands), "command", "commands"),
			report.Int(o.Depths[0]), report.Plural(deepest, "request", "requests"), report.Plural(o.Conns, "connection", "connections"), o.Slot)},
		Length: time.Duration(turns) * o.Slot,
		Conns:  o.Conns + 2, // one watches, and one that the server may still be closing
		// Each connection may have all of its requests and replies waiting.
		Memory: int64(o.Conns+2)*connMemory + int64(o.Conns)*deepest*int64(o.ValueSize+64)*2 + int64(o.Keys)*int64(o.ValueSize+valueOverhead),
	}
}
