package raw

import (
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/bench/workload"
)

// ClassResult is what became of the requests of one class.
type ClassResult struct {
	Class workload.Class
	// OK are replies that were no errors. Of those to a Read, Misses are nulls and Hits
	// the others.
	OK, Hits, Misses int64
	// Errors are error replies, replies that failed to verify, and requests whose conn was
	// lost before their reply.
	Errors int64
	// BytesOut are the requests as sent, BytesIn the replies as they came, in bytes.
	BytesIn, BytesOut int64
	// Service is the time from the write to the reply, of OK ones only. With
	// Config.ReconnectEvery it includes the dial of the conn for the first request on it.
	Service *hist.Histogram
	// Response is the time from the intended start to the reply, of OK ones only. It is
	// nil in closed loop, where nothing was intended.
	Response *hist.Histogram
}

// Counts are what was counted over some time.
type Counts struct {
	// Classes are in the order of Config.Classes.
	Classes []ClassResult
	// Errors are the failed requests of all classes by code: the first word of an error
	// reply ("OOM", "WRONGTYPE"), "VERIFY", or why their conn was lost ("conn: reset by
	// peer").
	Errors map[string]int64
	// Failures are conns, not requests: lost ones by cause, and dials that failed ("dial:
	// connection refused").
	Failures map[string]int64
	// Connect is how long new conns took until they could be used, Hello included: those
	// that replace others, and in a Result the first ones too.
	Connect *hist.Histogram
	// Opened and Lost are conns. Those closed on purpose (ReconnectEvery) are not lost.
	Opened, Lost int64
	// Busy and Late split how long after its intended start a request was written: Busy
	// while no conn had room (the server's part), Late while one had (the engine's). Each
	// has one entry for each request sent in open loop; they are nil in closed loop.
	Busy, Late *hist.Histogram
}

// newCounts makes empty counts for a run.
func newCounts(cfg *Config) *Counts {
	c := &Counts{
		Classes: make([]ClassResult, len(cfg.Classes)),
		Errors:  map[string]int64{}, Failures: map[string]int64{},
		Connect: hist.New(),
	}
	for i := range c.Classes {
		c.Classes[i].Class = cfg.Classes[i]
		c.Classes[i].Service = hist.New()
		if cfg.Rate > 0 {
			c.Classes[i].Response = hist.New()
		}
	}
	if cfg.Rate > 0 {
		c.Busy, c.Late = hist.New(), hist.New()
	}
	return c
}

// Merge adds what o counted in a run of the same Config.
func (c *Counts) Merge(o *Counts) {
	for i := range o.Classes {
		to, from := &c.Classes[i], &o.Classes[i]
		to.OK += from.OK
		to.Hits += from.Hits
		to.Misses += from.Misses
		to.Errors += from.Errors
		to.BytesIn += from.BytesIn
		to.BytesOut += from.BytesOut
		to.Service.Merge(from.Service)
		if to.Response != nil {
			to.Response.Merge(from.Response)
		}
	}
	add(c.Errors, o.Errors)
	add(c.Failures, o.Failures)
	c.Connect.Merge(o.Connect)
	c.Opened += o.Opened
	c.Lost += o.Lost
	if c.Busy != nil {
		c.Busy.Merge(o.Busy)
		c.Late.Merge(o.Late)
	}
}

// OK is the number of replies that were no errors, of all classes.
func (c *Counts) OK() (n int64) {
	for i := range c.Classes {
		n += c.Classes[i].OK
	}
	return n
}

// Failed is the number of requests that failed, of all classes.
func (c *Counts) Failed() (n int64) {
	for i := range c.Classes {
		n += c.Classes[i].Errors
	}
	return n
}

// reset makes c empty again.
func (c *Counts) reset() {
	for i := range c.Classes {
		r := &c.Classes[i]
		r.Service.Reset()
		if r.Response != nil {
			r.Response.Reset()
		}
		*r = ClassResult{Class: r.Class, Service: r.Service, Response: r.Response}
	}
	clear(c.Errors)
	clear(c.Failures)
	c.Connect.Reset()
	c.Opened, c.Lost = 0, 0
	if c.Busy != nil {
		c.Busy.Reset()
		c.Late.Reset()
	}
}

func add(to, from map[string]int64) {
	for name, n := range from {
		to[name] += n
	}
}

// Times are those that a user would have waited, of all classes: response times in open
// loop, service times in closed loop. The histogram is the caller's own.
func (c *Counts) Times() *hist.Histogram {
	sum := hist.New()
	for i := range c.Classes {
		if r := c.Classes[i].Response; r != nil {
			sum.Merge(r)
		} else {
			sum.Merge(c.Classes[i].Service)
		}
	}
	return sum
}

// Interval is a snapshot: what was counted since the one before.
type Interval struct {
	Counts
	// Begin counts from the beginning of the run, warm-up included; Elapsed is the length.
	Begin, Elapsed time.Duration
	// Warmup says that this part is not in the result. No interval is both.
	Warmup bool
	// Open is the number of conns open at its end.
	Open int
	// Backlog is, in open loop, about how many requests were overdue at its end.
	Backlog int64
}

// Result is what a run measured, without its warm-up.
type Result struct {
	Counts
	// Begin is when the measured part began, and Elapsed how long it took: until the last
	// reply that counted, or the whole Duration where that is longer.
	Begin   time.Time
	Elapsed time.Duration
	// Unanswered are requests that were sent and had no reply when the run ended.
	Unanswered int64
	// OldestUnanswered is how long the oldest of them had waited.
	OldestUnanswered time.Duration
	// Scheduled is, in open loop, how many requests the schedule meant for the measured
	// part, and Backlog how many of them were never sent.
	Scheduled, Backlog int64
	// Workers are the workers, in order.
	Workers []WorkerResult
	// GC is what the garbage collector did meanwhile, in the whole process.
	GC GC
	// Engine is "epoll" or "portable"; Timer is what open loop waits with.
	Engine, Timer string
	// Verdict says whether the generator was the limit.
	Verdict Verdict
}

// WorkerResult is one worker's share.
type WorkerResult struct {
	// Requests were answered or failed.
	Requests int64
	// Elapsed is the wall time that CPU is measured over: the measured part.
	Elapsed time.Duration
	// User and System are the CPU time of the worker's thread; both are 0 where the system
	// does not say, and with the portable engine, which has no threads of its own.
	User, System time.Duration
}

// Busy is the share of a processor that the worker used, 0 to 1.
func (w *WorkerResult) Busy() float64 {
	if w.Elapsed <= 0 {
		return 0
	}
	return float64(w.User+w.System) / float64(w.Elapsed)
}

// GC is what the garbage collector did.
type GC struct {
	// Collections is how many there were.
	Collections int64
	// Pauses is the time for which the world stood still, in all, and Longest the longest
	// one, to the precision of the runtime's histogram.
	Pauses, Longest time.Duration
}
