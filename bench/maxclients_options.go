package bench

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// MaxClientsOptions say what MaxClients does: it opens connections until the
// server turns them away, and looks at what a full server is like. Make it with
// [DefaultMaxClientsOptions].
type MaxClientsOptions struct {
	// Target is the server; the zero value means a private one. A given one cannot
	// be used by anybody else meanwhile, so it needs Disturb.
	Target Target
	// Limit is the maxclients of a private server. On a given server it is the most
	// that its own may be. 10 to 1,000,000. Default 100.
	Limit int
	// Attempts is how many more connections are tried once the server is full, 1 to
	// 10,000. Default 50.
	Attempts int
	// Callers call through an Evenkeel client with its default settings while the
	// server is full, 1 to 1,000, for Watch, 100 ms to 10 min. Defaults 10 and 3 s.
	Callers int
	Watch   time.Duration
	// Recover is the longest wait for the client to be served once there is room
	// again, 100 ms to 10 min. Default 15 s; the client's longest backoff is 10 s.
	Recover time.Duration
	// Disturb allows a given server. Default false.
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultMaxClientsOptions returns the defaults that the fields name.
func DefaultMaxClientsOptions() MaxClientsOptions {
	return MaxClientsOptions{Limit: 100, Attempts: 50, Callers: 10, Watch: 3 * time.Second, Recover: 15 * time.Second}
}

// Validate reports the first option that is out of bounds as an [OptionError].
func (o MaxClientsOptions) Validate() error {
	var c check
	c.target(o.Target)
	c.that(o.Target.Private() || o.Disturb, "disturb",
		"while %s is full no other client can enter; leave the server out for a private one, or add --disturb", o.Target)
	c.between(o.Limit, 10, 1_000_000, "limit")
	c.between(o.Attempts, 1, 10_000, "attempts")
	c.between(o.Callers, 1, 1_000, "callers")
	c.lasts(o.Watch, 100*time.Millisecond, 10*time.Minute, "watch")
	c.lasts(o.Recover, 100*time.Millisecond, 10*time.Minute, "recover")
	return c.err
}

// Plan says what MaxClients will do.
func (o MaxClientsOptions) Plan() Plan {
	limit := report.Int(o.Limit)
	if !o.Target.Private() {
		limit = "its maxclients, at most " + limit
	}
	return Plan{
		Steps: []string{
			"open connections until the server is full (" + limit + "), then try " + report.Int(o.Attempts) + " more",
			fmt.Sprintf("%s call through an Evenkeel client for %v while it is full", report.Plural(o.Callers, "caller", "callers"), o.Watch),
			fmt.Sprintf("close them, and wait up to %v until new clients enter", o.Recover),
		},
		Length: o.Watch + o.Recover + time.Duration(o.Limit+o.Attempts)*time.Second/idleRate,
		Conns:  o.Limit,
		Memory: int64(o.Limit) * connMemory,
	}
}
