package bench

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// IdleOptions say what Idle does: it opens Conns connections, which then do
// nothing, and looks at what they cost. Make it with [DefaultIdleOptions].
type IdleOptions struct {
	// Target is the server; the zero value means a private one.
	Target Target
	// Conns is how many connections are opened, 1 to 1,000,000. Default 5,000.
	// Both sides need a file descriptor for each, which is checked beforehand.
	Conns int
	// Step is after how many the opening rests for a look, 1 to 1,000,000. Default
	// 1,000.
	Step int
	// Dialers is how many are opened at once, 1 to 1,000. Default 16.
	Dialers int
	// Pings is how many PINGs are timed at each look, 1 to 100,000. Default 200.
	Pings int
	// Settle is the longest wait for the server's buffers to shrink once all are
	// open, 0 to 10 min; 0 means not to wait. Default 10 s: servers halve the
	// buffers of idle connections about once a second.
	Settle time.Duration
	// Hold is how long the server's CPU is watched, once without and once with the
	// connections, 100 ms to 1 h. Default 5 s.
	Hold time.Duration
	// Disturb allows a given server that is busy, a replica, or near a limit.
	// Default false: refuse.
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultIdleOptions returns the defaults that the fields name.
func DefaultIdleOptions() IdleOptions {
	return IdleOptions{
		Conns:   5_000,
		Step:    1_000,
		Dialers: 16,
		Pings:   200,
		Settle:  10 * time.Second,
		Hold:    5 * time.Second,
	}
}

// Validate reports the first option that is out of bounds as an [OptionError].
func (o IdleOptions) Validate() error {
	var c check
	c.target(o.Target)
	c.between(o.Conns, 1, 1_000_000, "conns")
	c.between(o.Step, 1, 1_000_000, "step")
	c.that(o.Conns/o.Step <= 1_000, "step", "%d connections make more than 1,000 looks of %d; give at least %d", o.Conns, o.Step, (o.Conns+999)/1_000)
	c.between(o.Dialers, 1, 1_000, "dialers")
	c.between(o.Pings, 1, 100_000, "pings")
	c.lasts(o.Settle, 0, 10*time.Minute, "settle")
	c.lasts(o.Hold, 100*time.Millisecond, time.Hour, "hold")
	return c.err
}

// idleRate is how many conns a second the plan counts on.
const idleRate = 2_000

// Plan says what Idle will do.
func (o IdleOptions) Plan() Plan {
	return Plan{
		Steps: []string{
			fmt.Sprintf("watch the server without load for %v", o.Hold),
			fmt.Sprintf("open %s, %s at once, and look at the server after each %s",
				report.Plural(o.Conns, "connection", "connections"), report.Int(o.Dialers), report.Int(o.Step)),
			fmt.Sprintf("let them rest, and watch the server with them for %v", o.Hold),
		},
		Length: 2*o.Hold + o.Settle + time.Duration(o.Conns)*time.Second/idleRate,
		Conns:  o.Conns + 1,
		Memory: int64(o.Conns+1) * connMemory,
	}
}
