package bench

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// Fault is what Storm does to the server.
type Fault string

// The faults of Storm.
const (
	// FaultPause makes the server hold all replies (CLIENT PAUSE).
	FaultPause Fault = "pause"
	// FaultKill makes the server close all connections at once, at the
	// beginning of the fault.
	FaultKill Fault = "kill"
	// FaultRefuse closes all connections and refuses new ones.
	FaultRefuse Fault = "refuse"
	// FaultStop freezes the server's process (SIGSTOP): the kernel goes on
	// accepting connections that nobody serves.
	FaultStop Fault = "stop"
)

// Faults lists the faults.
func Faults() []Fault { return []Fault{FaultPause, FaultKill, FaultRefuse, FaultStop} }

// Lane is the lane that the callers use.
type Lane string

// The lanes of Storm.
const (
	// LaneExclusive leases a connection to each call.
	LaneExclusive Lane = "exclusive"
	// LaneShared pipelines all calls on a few connections.
	LaneShared Lane = "shared"
)

// Lanes lists the lanes.
func Lanes() []Lane { return []Lane{LaneExclusive, LaneShared} }

// StormOptions say what Storm does: Callers call one after the other, each call
// with a deadline, while a fault comes and goes. Make it with
// [DefaultStormOptions].
type StormOptions struct {
	// Target is the server; the zero value means a private one. A given server
	// needs Disturb, and cannot be stopped or made to refuse.
	Target Target
	// Fault is what happens. Default pause.
	Fault Fault
	// Lane is the lane that the callers use. Default exclusive.
	Lane Lane
	// Callers is how many call at once, 1 to 100,000. Default 200.
	Callers int
	// Size is the pool's size, which is its limit too: there is no overflow.
	// 1 to 10,000. Default 100.
	Size int
	// Timeout is each call's deadline, 1 ms to 1 min. Default 50 ms.
	Timeout time.Duration
	// Before, During and After are the lengths of the phases. Before 1 s to
	// 10 min, default 2 s; During 100 ms to 10 min, default 3 s; After 1 s to
	// 10 min, default 5 s.
	Before, During, After time.Duration
	// Disturb allows a given server, whose other clients suffer the fault too.
	// Default false.
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultStormOptions returns the defaults that the fields name.
func DefaultStormOptions() StormOptions {
	return StormOptions{
		Fault:   FaultPause,
		Lane:    LaneExclusive,
		Callers: 200,
		Size:    100,
		Timeout: 50 * time.Millisecond,
		Before:  2 * time.Second,
		During:  3 * time.Second,
		After:   5 * time.Second,
	}
}

// Validate reports the first option that is out of bounds as an [OptionError].
func (o StormOptions) Validate() error {
	var c check
	c.target(o.Target)
	oneOf(&c, o.Fault, "fault", Faults())
	oneOf(&c, o.Lane, "lane", Lanes())
	if !o.Target.Private() {
		c.that(o.Fault == FaultPause || o.Fault == FaultKill, "fault",
			"%s needs a private server; give pause or kill, or no server", o.Fault)
		c.that(o.Disturb, "disturb", "the fault hits every client of %s; leave the server out for a private one, or add --disturb", o.Target)
	}
	c.between(o.Callers, 1, 100_000, "callers")
	c.between(o.Size, 1, 10_000, "size")
	c.lasts(o.Timeout, time.Millisecond, time.Minute, "timeout")
	c.lasts(o.Before, time.Second, 10*time.Minute, "before")
	c.lasts(o.During, 100*time.Millisecond, 10*time.Minute, "during")
	c.lasts(o.After, time.Second, 10*time.Minute, "after")
	return c.err
}

// Plan says what Storm will do.
func (o StormOptions) Plan() Plan {
	conns := o.maxConns() + 1 // one to bring the fault about
	return Plan{
		Steps: []string{
			fmt.Sprintf("before: %s on %s, each call within %v, for %v", report.Plural(o.Callers, "caller", "callers"), o.lane(), o.Timeout, o.Before),
			fmt.Sprintf("during: %s, for %v", o.Fault.words(), o.During),
			fmt.Sprintf("after: the same load for %v", o.After),
		},
		Length: o.Before + o.During + o.After,
		Conns:  conns,
		Memory: int64(conns) * connMemory,
	}
}

func (o StormOptions) lane() string {
	if o.Lane == LaneShared {
		return "the shared lane"
	}
	return fmt.Sprintf("an exclusive lane of %d", o.Size)
}

// The conns of the client besides the exclusive ones.
const (
	stormShared = 2 // of the shared lane
	stormProbe  = 1 // that finds out whether a stalled server answers
)

// maxConns is the limit of conns of the client under test.
func (o StormOptions) maxConns() int { return o.Size + stormShared + stormProbe }

// words says what the fault does.
func (f Fault) words() string {
	switch f {
	case FaultPause:
		return "the server holds all replies (CLIENT PAUSE)"
	case FaultKill:
		return "the server closes all connections (CLIENT KILL)"
	case FaultRefuse:
		return "the server is gone and refuses connections"
	case FaultStop:
		return "the server's process is frozen (SIGSTOP)"
	default:
		return string(f)
	}
}
