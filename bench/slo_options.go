package bench

import (
	"fmt"
	"strconv"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/report"
)

// Search is what SLO raises.
type Search string

// What SLO can raise.
const (
	// SearchRate raises the requests per second, in open loop.
	SearchRate Search = "rate"
	// SearchConns raises the number of connections, each of which sends its next request
	// when the reply has come, or all together at RunOptions.Rate if there is one.
	SearchConns Search = "conns"
)

// Searches lists them.
func Searches() []Search { return []Search{SearchRate, SearchConns} }

// SLOOptions say what SLO does: it searches for the highest rate, or the largest number
// of connections, at which a quantile of the times stays within a limit. Make it with
// [DefaultSLOOptions].
type SLOOptions struct {
	// Load is the server, what is sent and how. SLO decides about Rate or Conns by
	// itself, and about Requests, Duration, Warmup and Interval; Scale, Journal and
	// Resume have no meaning.
	Load RunOptions
	// Search is what is raised. Default rate.
	Search Search
	// Quantile of the times is what counts, 0.5 to 0.9999. Default 0.99.
	Quantile float64
	// Limit is what it may be at most, 1 µs to 1 min. With a rate the time of a request
	// counts from when it was due. Default 5 ms.
	Limit time.Duration
	// Window is how long each look takes, 100 ms to 10 min. It is up to four times as
	// long where the rate is so low that fewer than ten replies would lie beyond
	// Quantile. Default 5 s.
	Window time.Duration
	// Confirm is how many windows in a row have to hold at the answer, 1 to 20. Default 3.
	Confirm int
	// Precision is how far apart what held and what did not may be in the end, as a
	// share, 0.005 to 1. Default 0.05.
	Precision float64
	// MaxTime ends the search, 1 s to 24 h; no window begins that could not end in it.
	// Default 3 min.
	MaxTime time.Duration
	// MaxConns is the most that a search for connections opens, 1 to 1,048,576. Default
	// 10,000, or what this side and the server have room for if that is less.
	MaxConns int
}

// DefaultSLOOptions returns the defaults that the fields name.
func DefaultSLOOptions() SLOOptions {
	return SLOOptions{
		Load: DefaultRunOptions(), Search: SearchRate, Quantile: 0.99, Limit: 5 * time.Millisecond,
		Window: 5 * time.Second, Confirm: 3, Precision: 0.05, MaxTime: 3 * time.Minute, MaxConns: 10_000,
	}
}

// Validate reports the first option that is out of bounds as an [OptionError], or what
// is wrong with the workload.
func (o SLOOptions) Validate() error {
	var c check
	oneOf(&c, o.Search, "search", Searches())
	c.that(o.Quantile >= 0.5 && o.Quantile <= 0.9999, "quantile", "%g is out of bounds; give 0.5 to 0.9999, such as 0.99", o.Quantile)
	c.lasts(o.Limit, time.Microsecond, time.Minute, "limit")
	c.lasts(o.Window, 100*time.Millisecond, 10*time.Minute, "window")
	c.between(o.Confirm, 1, 20, "confirm")
	c.that(o.Precision >= 0.005 && o.Precision <= 1, "precision", "%g is out of bounds; give a share from 0.005 to 1", o.Precision)
	c.lasts(o.MaxTime, time.Second, 24*time.Hour, "max-time")
	c.that(o.Window <= o.MaxTime/time.Duration(o.Confirm+1), "max-time", "%v has no room for %s of %v; give more time or a shorter --window",
		o.MaxTime, report.Plural(o.Confirm+1, "window", "windows"), o.Window)
	c.between(o.MaxConns, 1, raw.MaxConns, "max-conns")
	c.that(o.Search == SearchConns || o.Load.Rate == 0, "rate", "it is what is searched for; leave it out, or give --search conns")
	c.that(o.Search == SearchRate || o.Load.Callers == 0, "callers", "connections are searched for without a client; leave it out, or give --search rate")
	c.that(o.Load.Agents == 0, "agents", "a search makes its load by itself; leave it out")
	c.that(o.Load.Scale == nil && o.Load.Journal == "" && !o.Load.Resume, "load", "a search has no schedule and no journal")
	if c.err != nil {
		return c.err
	}
	return o.window(o.Load.Rate, o.Load.Conns).Validate()
}

// window is one window's run.
func (o SLOOptions) window(rate float64, conns int) RunOptions {
	w := o.Load
	w.Rate, w.Conns = rate, conns
	w.Workers = max(min(w.Workers, conns), 1)
	w.Poisson = w.Poisson && rate > 0
	w.Requests, w.Duration = 0, o.Window
	w.Warmup = min(time.Second, o.Window/5)
	w.Interval = time.Second
	return w
}

// Plan says what SLO will do. The workload must be valid.
func (o SLOOptions) Plan() Plan {
	p := o.window(o.Load.Rate, o.Load.Conns).Plan()
	what := "requests a second"
	if o.Search == SearchConns {
		what = "connections"
		p.Conns = o.MaxConns + 1
		p.Memory += int64(o.MaxConns-o.Load.Conns) * connMemory
	}
	p.Steps[len(p.Steps)-1] = fmt.Sprintf("search for the most %s at which the %s of the times is within %s, in windows of %v, and confirm it %s",
		what, quantileName(o.Quantile), report.Micros(micros(o.Limit)), o.Window, report.Plural(o.Confirm, "time", "times"))
	p.Length = p.Length - o.window(0, 1).Duration - o.window(0, 1).Warmup + o.MaxTime
	return p
}

// quantileName is a quantile as people call it: p99, p99.9.
func quantileName(q float64) string { return "p" + strconv.FormatFloat(q*100, 'g', 6, 64) }
