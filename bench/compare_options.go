package bench

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/report"
)

// CompareOptions say what Compare does: it loads A and B by turns, in pairs of short
// windows. Make it with [DefaultCompareOptions].
type CompareOptions struct {
	// A and B are the two sides: two servers, or two loads of one. Compare decides about
	// Requests, Duration, Warmup and Interval by itself; Scale, Journal and Resume have no
	// meaning. Two private servers with the same program and configuration are one.
	A, B RunOptions
	// Pairs is how often A and B have their turns, and before that A against itself, 8 to
	// 500: fewer cannot be sure of three figures at once. Default 12.
	Pairs int
	// Slot is how long a turn takes, 50 ms to 10 min, a fifth of it as warm-up and no more
	// than a second. Default 1 s.
	Slot time.Duration
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultCompareOptions returns the defaults that the fields name.
func DefaultCompareOptions() CompareOptions {
	return CompareOptions{A: DefaultRunOptions(), B: DefaultRunOptions(), Pairs: minPairs + 4, Slot: time.Second}
}

// minPairs is the least at which even the widest interval, from the least to the
// greatest ratio, is sure enough of each of three figures.
const minPairs = 8

// Validate reports the first option that is out of bounds as an [OptionError], or what
// is wrong with a workload.
func (o CompareOptions) Validate() error {
	var c check
	c.between(o.Pairs, minPairs, 500, "pairs")
	c.lasts(o.Slot, 50*time.Millisecond, 10*time.Minute, "slot")
	for _, side := range []RunOptions{o.A, o.B} {
		c.that(side.Agents == 0, "agents", "a comparison makes its load by itself; leave it out")
		c.that(side.Scale == nil && side.Journal == "" && !side.Resume, "load", "a comparison has no schedule and no journal")
	}
	c.that((o.A.Rate > 0) == (o.B.Rate > 0), "rate", "a closed loop and an open one have different clocks; give both sides a rate, or neither")
	if c.err != nil {
		return c.err
	}
	for _, side := range []RunOptions{o.A, o.B} {
		side = o.turn(side)
		if err := side.Validate(); err != nil {
			return err
		}
	}
	if o.sameServer() && o.A.Workload.Keys.Prefix == o.B.Workload.Keys.Prefix && contents(&o.A) != contents(&o.B) {
		return &OptionError{Option: "key-prefix", Problem: "both sides write the same keys with other contents; give B keys of its own, such as --key-prefix " + KeyPrefix + "b:"}
	}
	return nil
}

// contents is what a side finds under its keys, to compare it by.
func contents(o *RunOptions) string {
	w := o.Workload
	if w.Keys.Count == 0 && w.Keys.File == "" {
		return ""
	}
	w.Keys.Dist = workload.Dist{}
	return oneLine([]any{w.Keys, w.Values, w.Preload, w.Verify})
}

// sameServer reports whether both sides load one server.
func (o CompareOptions) sameServer() bool {
	a, b := o.A.Target, o.B.Target
	if a.Private() != b.Private() {
		return false
	}
	if a.Private() {
		return o.A.ServerProgram == o.B.ServerProgram && oneLine(o.A.ServerConfig) == oneLine(o.B.ServerConfig)
	}
	return a.String() == b.String() && a.Username == b.Username
}

// sameKeys reports whether what A writes beforehand is what B needs.
func (o CompareOptions) sameKeys() bool { return o.sameServer() && contents(&o.A) == contents(&o.B) }

// turn is one turn of a side.
func (o CompareOptions) turn(side RunOptions) RunOptions {
	side.Requests, side.Duration, side.Interval = 0, o.Slot, time.Second
	side.Warmup = min(o.Slot/5, time.Second)
	return side
}

// Plan says what Compare will do. The workloads must be valid.
func (o CompareOptions) Plan() Plan {
	second := o.turn(o.B)
	second.SkipPreload = second.SkipPreload || o.sameKeys()
	a, b := o.turn(o.A).Plan(), second.Plan()
	turns := 4 * o.Pairs
	p := Plan{
		Conns: max(a.Conns, b.Conns), Memory: max(a.Memory, b.Memory),
		Length: a.Length + b.Length + time.Duration(turns-2)*(o.Slot+o.turn(o.A).Warmup),
	}
	if !o.sameServer() {
		p.Conns++
	}
	for i, steps := range [][]string{a.Steps, b.Steps} {
		for _, s := range steps {
			p.Steps = append(p.Steps, string("AB"[i])+": "+s)
		}
	}
	p.Steps = append(p.Steps, fmt.Sprintf("%s of A with itself, then %s of A and B, by turns", report.Plural(o.Pairs, "pair", "pairs"), report.Plural(o.Pairs, "pair", "pairs")))
	return p
}
