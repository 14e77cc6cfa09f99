package bench

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// ChurnMode is a way to keep connections under a load that outgrows the pool.
type ChurnMode string

// The modes of Churn.
const (
	// ChurnCloseSurplus opens a connection when none is idle, and closes it
	// when the pool is full again: what clients did before overflow.
	ChurnCloseSurplus ChurnMode = "close-surplus"
	// ChurnOverflow keeps burst connections for a while and drains them slowly.
	ChurnOverflow ChurnMode = "overflow"
	// ChurnLimited adds a limit on creation: callers wait instead of dialing.
	ChurnLimited ChurnMode = "limited"
	// ChurnShared pipelines all callers on the shared lane's few connections.
	ChurnShared ChurnMode = "shared"
)

// AllChurnModes lists the modes in the order in which they are compared.
func AllChurnModes() []ChurnMode {
	return []ChurnMode{ChurnCloseSurplus, ChurnOverflow, ChurnLimited, ChurnShared}
}

// ChurnOptions say what Churn does: Parallel callers ping every Interval, for
// Duration in each mode. Make it with [DefaultChurnOptions].
type ChurnOptions struct {
	// Target is the server; the zero value means a private one.
	Target Target
	// Modes are run in order; at least one, each at most once. Default: all.
	Modes []ChurnMode
	// Size is how many exclusive connections are kept for good, 0 to 10,000.
	// Default 10.
	Size int
	// Overflow is how many more are kept for a while in the modes overflow and
	// limited, 0 to 60,000. Default 250, so that a connection for each of the
	// default callers fits.
	Overflow int
	// OverflowDrain is how long a full overflow takes to drain, 1 s to 1 h.
	// Default 100 s, as in the client.
	OverflowDrain time.Duration
	// Parallel is the number of callers, 1 to 100,000. Default 250.
	Parallel int
	// Interval is how long a caller rests between two pings, 0 to 1 min; 0 means
	// not at all. Default 100 µs.
	Interval time.Duration
	// Duration is how long each mode runs, 100 ms to 1 h. Default 6 s.
	Duration time.Duration
	// DrainWatch is how long the mode overflow is watched draining, 0 to 10 min; 0
	// means not at all. For this the burst is made once more, and OverflowDrain is
	// then no longer than DrainWatch, so that the whole curve is seen. Default 5 s.
	DrainWatch time.Duration
	// CreateBurst and CreateInterval limit creation in the mode limited: so many
	// connections beyond Size at once, then one per interval. Burst 0 to 10,000,
	// interval 1 ms to 1 min. Defaults 10 and 100 ms.
	CreateBurst    int
	CreateInterval time.Duration
	// Disturb allows load on a given server that is busy, a replica, or near a
	// limit. Default false: refuse.
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultChurnOptions returns the defaults that the fields name.
func DefaultChurnOptions() ChurnOptions {
	return ChurnOptions{
		Modes:          AllChurnModes(),
		Size:           10,
		Overflow:       248, // with Size 10 and the client's own two conns, MaxConns is 260
		OverflowDrain:  100 * time.Second,
		Parallel:       250,
		Interval:       100 * time.Microsecond,
		Duration:       6 * time.Second,
		DrainWatch:     5 * time.Second,
		CreateBurst:    10,
		CreateInterval: 100 * time.Millisecond,
	}
}

// MaxConns is the most conns of the exclusive lane in the modes overflow and
// limited. The client's own MaxConns is two more: a shared conn and the probe.
func (o ChurnOptions) MaxConns() int { return o.Size + o.Overflow }

// Validate reports the first option that is out of bounds as an [OptionError].
func (o ChurnOptions) Validate() error {
	var c check
	c.target(o.Target)
	c.that(len(o.Modes) > 0, "mode", "no mode is given; give at least one, or all")
	seen := map[ChurnMode]bool{}
	for _, m := range o.Modes {
		oneOf(&c, m, "mode", AllChurnModes())
		c.that(!seen[m], "mode", "%q is given twice; give each mode once", string(m))
		seen[m] = true
	}
	c.between(o.Size, 0, 10_000, "size")
	c.between(o.Overflow, 0, 60_000, "overflow")
	c.that(o.MaxConns() > 0, "overflow", "size and overflow are both 0; give room for one connection at least")
	c.between(o.Parallel, 1, 100_000, "parallel")
	c.lasts(o.Interval, 0, time.Minute, "interval")
	c.lasts(o.Duration, 100*time.Millisecond, time.Hour, "duration")
	c.lasts(o.OverflowDrain, time.Second, time.Hour, "overflow-drain")
	c.lasts(o.DrainWatch, 0, 10*time.Minute, "drain-watch")
	c.between(o.CreateBurst, 0, 10_000, "create-burst")
	c.lasts(o.CreateInterval, time.Millisecond, time.Minute, "create-interval")
	return c.err
}

// Plan says what Churn will do.
func (o ChurnOptions) Plan() Plan {
	p := Plan{Conns: 1}
	for _, m := range o.Modes {
		length := o.Duration
		conns := min(o.Parallel, o.MaxConns())
		switch m {
		case ChurnCloseSurplus:
			// Closing ones still count until the server has noticed.
			conns = 2 * o.Parallel
		case ChurnShared:
			conns = 2
		case ChurnOverflow:
			length += drainBurst + o.DrainWatch
		case ChurnLimited:
			grown := o.Size + o.CreateBurst + int(o.Duration/o.CreateInterval)
			conns = min(conns, grown)
		}
		p.Length += length
		p.Conns = max(p.Conns, conns+1)
		p.Steps = append(p.Steps, fmt.Sprintf("%s: %s ping every %v for %v", m, report.Plural(o.Parallel, "caller", "callers"), o.Interval, o.Duration))
	}
	p.Memory = int64(p.Conns) * connMemory
	return p
}
