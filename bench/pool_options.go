package bench

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// PoolOptions say what Pool does: Callers, each with one call at a time, share pools of
// each of the Sizes, and once the shared lane, by turns, in many short rounds. Make it
// with [DefaultPoolOptions].
type PoolOptions struct {
	// Target is the server; the zero value means a private one.
	Target Target
	// Sizes are the pools' sizes in connections, ascending, each 1 to 10,000. Default
	// 1, 2, 4, 8, 16, 32, 64, 128.
	Sizes []int
	// Callers is how many call at once, 1 to 100,000. Default 64.
	Callers int
	// Think is how long a caller rests between two calls on average, 0 to 1 min and at
	// most half of Slot. The rests are exponentially distributed. Default 0: not at all.
	Think time.Duration
	// Command is what is called, with the placeholders of a workload. Default
	// "GET __key__".
	Command string
	// SkipShared leaves out the shared lane, on which all callers pipeline over two
	// connections, and which not every command can use. Default false.
	SkipShared bool
	// Rounds is how often each has its turn, 3 to 1,000. Default 30. One more comes
	// first and does not count.
	Rounds int
	// Slot is how long a turn is measured, 20 ms to 1 min. Default 100 ms.
	Slot time.Duration
	// Keys is the number of keys, 1 to 1,000,000. Default 1,000.
	Keys int
	// ValueSize is the size of a value in bytes, 1 to 1 MiB. Default 100.
	ValueSize int
	// Seed begins all random numbers, the order of the turns too. Default 1.
	Seed uint64
	// Disturb allows a given server that is busy, a replica, or near a limit, and a
	// database with keys in it that a command without placeholders may meet. Default
	// false: refuse.
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultPoolOptions returns the defaults that the fields name.
func DefaultPoolOptions() PoolOptions {
	return PoolOptions{
		Sizes:   []int{1, 2, 4, 8, 16, 32, 64, 128},
		Callers: 64,
		Command: "GET __key__",
		Rounds:  30, Slot: 100 * time.Millisecond,
		Keys: 1_000, ValueSize: 100, Seed: 1,
	}
}

// Validate reports the first option that is out of bounds as an [OptionError].
func (o PoolOptions) Validate() error {
	var c check
	c.target(o.Target)
	c.ascending(o.Sizes, 10_000, "sizes")
	c.between(o.Callers, 1, 100_000, "callers")
	c.lasts(o.Think, 0, time.Minute, "think")
	c.between(o.Rounds, 3, 1_000, "rounds")
	c.lasts(o.Slot, 20*time.Millisecond, time.Minute, "slot")
	c.that(o.Think <= o.Slot/2, "slot", "%v is too short for callers who rest for %v; give %v or more", o.Slot, o.Think, 2*o.Think)
	c.between(o.Keys, 1, 1_000_000, "keys")
	c.between(o.ValueSize, 1, 1<<20, "value-size")
	if c.err != nil {
		return c.err
	}
	w := sweepWorkload(o.Keys, o.ValueSize, o.Command)
	if err := w.Validate(); err != nil {
		return &OptionError{Option: "command", Problem: fmt.Sprintf("%q: %v", o.Command, err)}
	}
	return nil
}

// poolSettle is what the plan takes opening and closing a pool for.
const poolSettle = 30 * time.Millisecond

// Plan says what Pool will do.
func (o PoolOptions) Plan() Plan {
	largest := o.Sizes[len(o.Sizes)-1]
	step := fmt.Sprintf("%s of pools of %s to %s, for %v each", report.Plural(o.Rounds+1, "round", "rounds"),
		report.Int(o.Sizes[0]), report.Plural(largest, "connection", "connections"), o.Slot)
	turns := len(o.Sizes)
	if !o.SkipShared {
		step += ", and of the shared lane"
		turns++
	}
	return Plan{
		Steps: []string{step + ": " + report.Plural(o.Callers, "caller", "callers") + " at once"},
		// Callers who rest all begin at once, and part during a rest that is not measured.
		Length: time.Duration((o.Rounds+1)*turns) * (o.Slot + o.Think + poolSettle),
		Conns:  largest + 2, // one watches, and one that the server may still be closing
		Memory: int64(largest+2)*connMemory + int64(o.Keys)*int64(o.ValueSize+valueOverhead) + int64(largest)*int64(o.ValueSize),
	}
}
