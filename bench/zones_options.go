package bench

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// ZonesOptions say what Zones does: in each round it times a PING to each endpoint,
// one after the other, and now and then a new connection too. Make it with
// [DefaultZonesOptions], and give it Targets.
type ZonesOptions struct {
	// Targets are the endpoints, 1 to 100. There is no default: they are given.
	Targets []Target
	// Duration is how long to look, 100 ms to 24 h. Default 10 s.
	Duration time.Duration
	// Interval is the time between two rounds, 1 ms to 1 min. Default 20 ms. A round
	// that takes longer is followed by the next at once.
	Interval time.Duration
	// ConnectEvery is after how many rounds a new connection is opened to each, 1 to
	// 1,000,000. Default 20.
	ConnectEvery int
	// Timeout is how long one PING or dial may take, 10 ms to 1 min. Default 2 s.
	Timeout time.Duration
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultZonesOptions returns the defaults that the fields name.
func DefaultZonesOptions() ZonesOptions {
	return ZonesOptions{Duration: 10 * time.Second, Interval: 20 * time.Millisecond, ConnectEvery: 20, Timeout: 2 * time.Second}
}

// maxZones is how many endpoints can be compared.
const maxZones = 100

// Validate reports the first option that is out of bounds as an [OptionError].
func (o ZonesOptions) Validate() error {
	var c check
	c.that(len(o.Targets) > 0, "url", "no endpoint is given; give at least one, such as redis://replica-a.internal:6379")
	c.that(len(o.Targets) <= maxZones, "url", "%d endpoints are too many; give at most %d", len(o.Targets), maxZones)
	for _, t := range o.Targets {
		c.that(!t.Private(), "url", "an endpoint without an address is none; give its host and port")
		c.target(t)
	}
	c.lasts(o.Duration, 100*time.Millisecond, 24*time.Hour, "duration")
	c.lasts(o.Interval, time.Millisecond, time.Minute, "interval")
	c.between(o.ConnectEvery, 1, 1_000_000, "connect-every")
	c.lasts(o.Timeout, 10*time.Millisecond, time.Minute, "timeout")
	return c.err
}

// Plan says what Zones will do. It is light enough for any server: it asks nobody
// for leave.
func (o ZonesOptions) Plan() Plan {
	n := len(o.Targets)
	return Plan{
		Steps: []string{fmt.Sprintf("every %v a PING to each of %s, by turns, and every %v a new connection to each",
			o.Interval, report.Plural(n, "endpoint", "endpoints"), time.Duration(o.ConnectEvery)*o.Interval)},
		Length: o.Duration,
		Conns:  2 * n,
		Memory: 2 * int64(n) * connMemory,
	}
}
