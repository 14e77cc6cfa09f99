package bench

import (
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
)

// RunSchema names the JSON form of a [RunResult].
const RunSchema = "evenkeel.bench.run/v1"

// Loop says what made the next request due.
type Loop string

// The kinds of loop.
const (
	// LoopClosed sends the next request when the reply to an earlier one has come.
	// While the server stalls nothing is asked of it, so that the requests that a
	// user would have made meanwhile, and their waiting, are not seen.
	LoopClosed Loop = "closed"
	// LoopOpen sends requests at a rate of its own, whether or not earlier ones have
	// been answered.
	LoopOpen Loop = "open"
)

// RunResult is what Run measured. What was sent during the warm-up is not in it.
type RunResult struct {
	// Schema is [RunSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short, by a signal or by the error in
	// Fault.
	Interrupted bool `json:"interrupted"`
	// Fault is what ended a run before its time; empty for none.
	Fault string `json:"fault,omitempty"`
	// Params are the options as used, and Workload what was sent.
	Params   RunParams         `json:"params"`
	Workload workload.Workload `json:"workload"`
	// Loop is "open" or "closed".
	Loop Loop `json:"loop"`
	// Begin is when the measured part began, in UTC, and ElapsedS how long it took.
	Begin    time.Time `json:"begin"`
	ElapsedS float64   `json:"elapsed_s"`
	// OK are the replies that were no errors, and Failed the requests that had an error
	// reply, a wrong value, or whose connection was lost. Unanswered were sent and had
	// no reply when the run ended, the oldest of them for OldestUnansweredUs.
	OK                 int64   `json:"ok"`
	Failed             int64   `json:"failed"`
	Unanswered         int64   `json:"unanswered"`
	OldestUnansweredUs float64 `json:"oldest_unanswered_us"`
	// OKPerS is OK over the time elapsed.
	OKPerS float64 `json:"ok_per_s"`
	// Scheduled is, in open loop, how many requests were due, and Backlog how many of
	// them were never sent.
	Scheduled int64 `json:"scheduled"`
	Backlog   int64 `json:"backlog"`
	// Classes split the requests by command.
	Classes []RunClass `json:"classes"`
	// Total is all classes together.
	Total RunClass `json:"total"`
	// Errors are the failed requests by code: the first word of an error reply, "VERIFY"
	// for a wrong value, or why their connection was lost.
	Errors map[string]int64 `json:"errors"`
	// ConnFailures are connections, not requests: those lost and those that could not be
	// opened, by cause.
	ConnFailures map[string]int64 `json:"conn_failures"`
	// Opened and Lost are connections; those closed on purpose are not lost.
	Opened int64 `json:"opened"`
	Lost   int64 `json:"lost"`
	// Connect is how long new connections took until they could be used.
	Connect *RunTimes `json:"connect"`
	// Busy and Late split how long after its intended start a request was written, in
	// open loop: Busy while no connection had room for it, which is the server's part,
	// Late while one had, which is the generator's. Null in closed loop.
	Busy *RunTimes `json:"lag_busy"`
	Late *RunTimes `json:"lag_late"`
	// Verdict says whether the generator was the limit.
	Verdict RunVerdict `json:"verdict"`
	// Server is what the server counted meanwhile, all its clients together; null when
	// it does not say.
	Server *RunServer `json:"server"`
	// IdlePing is the time of a PING before the load: the least that a reply can take
	// here.
	IdlePing *RunTimes `json:"idle_ping"`
	// Nodes are the primaries of a cluster; empty without one.
	Nodes []RunNode `json:"nodes,omitempty"`
	// Agents are those that made the load; empty when it was this process.
	Agents []RunAgent `json:"agents,omitempty"`
	// Client is what the client went through; null without callers.
	Client *RunClient `json:"client,omitempty"`
	// Preload is how the keys were written before; null when they were not.
	Preload *RunPreload `json:"preload"`
	// Seconds are the time series.
	Seconds []RunSecond `json:"seconds"`
}

// RunParams are the options of a run as they stand in the result.
type RunParams struct {
	Conns          int     `json:"conns"`
	Workers        int     `json:"workers"`
	Depth          int     `json:"depth"`
	Callers        int     `json:"callers,omitempty"`
	Lane           Lane    `json:"lane,omitempty"`
	TimeoutS       float64 `json:"timeout_s,omitempty"`
	Sliding        bool    `json:"sliding"`
	Requests       int64   `json:"requests"`
	DurationS      float64 `json:"duration_s"`
	WarmupS        float64 `json:"warmup_s"`
	RatePerS       float64 `json:"rate_per_s"`
	Poisson        bool    `json:"poisson"`
	ScaleAt        string  `json:"scale_at,omitempty"`
	ScaleEveryS    float64 `json:"scale_every_s,omitempty"`
	Seed           uint64  `json:"seed"`
	ReconnectEvery int     `json:"reconnect_every"`
	RESP3          bool    `json:"resp3"`
	Cluster        bool    `json:"cluster,omitempty"`
	TLS            bool    `json:"tls"`
	IntervalS      float64 `json:"interval_s"`
	// Engine is "epoll", "portable" or, with callers, "client", and Timer what open loop waits with.
	Engine string `json:"engine"`
	Timer  string `json:"timer,omitempty"`
}

// RunClass is what became of the requests of one kind.
type RunClass struct {
	Name string `json:"name"`
	// OK are replies that were no errors; of those to a read, Misses are nulls and Hits
	// the others.
	OK     int64 `json:"ok"`
	Hits   int64 `json:"hits"`
	Misses int64 `json:"misses"`
	Failed int64 `json:"failed"`
	// OKPerS is OK over the time elapsed.
	OKPerS float64 `json:"ok_per_s"`
	// The bytes of the requests as sent and of the replies as they came.
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	// Service is the time from the write to the reply, and Response the time from the
	// intended start to the reply, which is what a user waits; null in closed loop. Both
	// are of OK replies only.
	Service  *RunTimes `json:"service"`
	Response *RunTimes `json:"response"`
}

// Times are those that a user would have waited: the response times in open loop, and
// the service times in closed loop, which knows no others.
func (c *RunClass) Times() *RunTimes {
	if c.Response != nil {
		return c.Response
	}
	return c.Service
}

// RunTimes sums up a histogram. Its figures are exact for count, mean, minimum and
// maximum; quantiles are at most 0.8 % above the true one and never below it.
type RunTimes struct {
	Count  int64   `json:"count"`
	MeanUs float64 `json:"mean_us"`
	MinUs  float64 `json:"min_us"`
	P50Us  float64 `json:"p50_us"`
	P90Us  float64 `json:"p90_us"`
	P95Us  float64 `json:"p95_us"`
	P99Us  float64 `json:"p99_us"`
	// P99Interval is where the true p99 lies with 95 % confidence, by order statistics,
	// if the requests were independent; null with fewer than 1,000.
	P99Interval *[2]float64 `json:"p99_interval_us"`
	// P999Us is null with fewer than 10,000, which have no ten in their last thousandth.
	P999Us *float64 `json:"p999_us"`
	MaxUs  float64  `json:"max_us"`
	// Histogram has all of them.
	Histogram *hist.Histogram `json:"histogram"`
}

// The samples that a tail quantile needs.
const (
	p99Samples  = 1_000
	p999Samples = 10_000
)

// newRunTimes sums up h; nil for nil.
func newRunTimes(h *hist.Histogram) *RunTimes {
	if h == nil {
		return nil
	}
	t := &RunTimes{
		Count: h.Count(), MeanUs: micros(h.Mean()), MinUs: micros(h.Min()), MaxUs: micros(h.Max()),
		P50Us: micros(h.Quantile(0.5)), P90Us: micros(h.Quantile(0.9)), P95Us: micros(h.Quantile(0.95)), P99Us: micros(h.Quantile(0.99)),
		Histogram: h,
	}
	if t.Count >= p99Samples {
		low, high := quantileInterval(h, 0.99)
		t.P99Interval = &[2]float64{micros(low), micros(high)}
	}
	if t.Count >= p999Samples {
		p := micros(h.Quantile(0.999))
		t.P999Us = &p
	}
	return t
}

// quantileInterval holds the true quantile with 95 % confidence, whatever the
// distribution: its ends are order statistics, with the normal approximation to the
// binomial distribution of the rank.
func quantileInterval(h *hist.Histogram, q float64) (low, high time.Duration) {
	n := float64(h.Count())
	spread := 1.96 * math.Sqrt(n*q*(1-q))
	return h.AtRank(int64(math.Floor(n*q - spread))), h.AtRank(int64(math.Ceil(n*q+spread)) + 1)
}

// RunVerdict says whether the generator, and not the server, set the figures.
type RunVerdict struct {
	// GeneratorBound says that the throughput is a lower bound of what the server can
	// do, and the latencies an upper one.
	GeneratorBound bool `json:"generator_bound"`
	// Reason is one line: what was measured, against which limit.
	Reason string `json:"reason"`
	// Workers are the generator's threads.
	Workers []RunWorker `json:"workers"`
	// What the garbage collector of this process did meanwhile.
	Collections    int64   `json:"gc_collections"`
	PauseUs        float64 `json:"gc_pause_us"`
	LongestPauseUs float64 `json:"gc_longest_pause_us"`
	LateP99Us      float64 `json:"late_p99_us"`
}

// RunWorker is one thread of the generator.
type RunWorker struct {
	Requests int64 `json:"requests"`
	// CPUUserS and CPUSystemS are its CPU time, and CPUShare that over the time
	// elapsed; all zero where the system does not say.
	CPUUserS   float64 `json:"cpu_user_s"`
	CPUSystemS float64 `json:"cpu_sys_s"`
	CPUShare   float64 `json:"cpu_share"`
}

// RunServer is the growth of the server's own counters from before the warm-up until
// after the run.
type RunServer struct {
	// CPUS is its CPU time in seconds, null when it does not say, and CPUShare that over
	// the time between the two looks.
	CPUS     *float64 `json:"cpu_s"`
	CPUShare *float64 `json:"cpu_share"`
	// Commands and Connections are how many it processed and accepted.
	Commands    int64 `json:"commands"`
	Connections int64 `json:"connections"`
	// Rejected connections found it full (maxclients); Evicted keys made room, Expired
	// ones had outlived their TTL.
	Rejected int64 `json:"rejected"`
	Evicted  int64 `json:"evicted"`
	Expired  int64 `json:"expired"`
	// UsedBytes is its memory (used_memory) after the run.
	UsedBytes int64 `json:"used_bytes"`
}

// RunPreload is how the keys were written before the run.
type RunPreload struct {
	Keys    int64   `json:"keys"`
	From    int64   `json:"from"`
	TookS   float64 `json:"took_s"`
	KeysPer float64 `json:"keys_per_s"`
}

// RunSecond is one point of the time series.
type RunSecond struct {
	// T is its end, in seconds since the measured part began; LengthS its length.
	T       float64 `json:"t"`
	LengthS float64 `json:"length_s"`
	OK      int64   `json:"ok"`
	Failed  int64   `json:"failed"`
	// Conns is how many connections were open at its end, and Backlog how many requests
	// were overdue.
	Conns   int   `json:"conns"`
	Backlog int64 `json:"backlog"`
	// The times of the replies in it: the response times in open loop, the service times
	// in closed loop.
	P50Us float64 `json:"p50_us"`
	P99Us float64 `json:"p99_us"`
	MaxUs float64 `json:"max_us"`
	// Histogram has all of them.
	Histogram *hist.Histogram `json:"histogram"`
}

// NewRunResult returns an empty result for a run with these options.
func NewRunResult(env Environment, o RunOptions) *RunResult {
	r := &RunResult{
		Schema: RunSchema, Environment: env, Workload: o.Workload, Loop: LoopClosed,
		Params: RunParams{
			Conns: o.Conns, Workers: o.Workers, Depth: o.Depth, Sliding: o.Sliding || o.Rate > 0, Requests: o.Requests,
			DurationS: o.Duration.Seconds(), WarmupS: o.Warmup.Seconds(), RatePerS: o.Rate, Poisson: o.Poisson, ScaleAt: o.Scale.String(),
			Seed: o.Seed, ReconnectEvery: o.ReconnectEvery, RESP3: o.RESP3, Cluster: o.Cluster, TLS: o.Target.TLS != nil, IntervalS: o.Interval.Seconds(),
		},
		Classes: []RunClass{}, Errors: map[string]int64{}, ConnFailures: map[string]int64{}, Seconds: []RunSecond{},
	}
	if o.Rate > 0 {
		r.Loop = LoopOpen
		r.Busy, r.Late = newRunTimes(hist.New()), newRunTimes(hist.New())
	}
	r.total(nil)
	if o.Callers > 0 {
		r.Params.Callers, r.Params.Lane, r.Params.TimeoutS = o.Callers, o.Lane, o.Timeout.Seconds()
	}
	if o.Scale != nil {
		r.Params.ScaleEveryS = o.Scale.Every.Seconds()
	}
	return r
}

// count fills in what was counted over a time.
func (r *RunResult) count(c *raw.Counts, elapsed time.Duration) {
	r.ElapsedS = elapsed.Seconds()
	r.OK, r.Failed = c.OK(), c.Failed()
	r.Classes = r.Classes[:0]
	for i := range c.Classes {
		r.Classes = append(r.Classes, r.class(&c.Classes[i]))
	}
	r.total(c.Classes)
	r.OKPerS = r.Total.OKPerS
	r.Errors, r.ConnFailures = c.Errors, c.Failures
	r.Opened, r.Lost = c.Opened, c.Lost
	r.Connect, r.Busy, r.Late = newRunTimes(c.Connect), newRunTimes(c.Busy), newRunTimes(c.Late)
}

// total sums up the classes.
func (r *RunResult) total(classes []raw.ClassResult) {
	total := raw.ClassResult{Class: workload.Class{Name: "total"}, Service: hist.New()}
	if r.Loop == LoopOpen {
		total.Response = hist.New()
	}
	for i := range classes {
		c := &classes[i]
		total.OK += c.OK
		total.Hits += c.Hits
		total.Misses += c.Misses
		total.Errors += c.Errors
		total.BytesIn += c.BytesIn
		total.BytesOut += c.BytesOut
		total.Service.Merge(c.Service)
		if total.Response != nil {
			total.Response.Merge(c.Response)
		}
	}
	r.Total = r.class(&total)
}

func (r *RunResult) class(c *raw.ClassResult) RunClass {
	out := RunClass{
		Name: c.Class.Name, OK: c.OK, Hits: c.Hits, Misses: c.Misses, Failed: c.Errors, BytesIn: c.BytesIn, BytesOut: c.BytesOut,
		Service: newRunTimes(c.Service), Response: newRunTimes(c.Response),
	}
	if r.ElapsedS > 0 {
		out.OKPerS = float64(c.OK) / r.ElapsedS
	}
	return out
}

// measured fills in the engine's result.
func (r *RunResult) measured(m *raw.Result) {
	r.count(&m.Counts, m.Elapsed)
	r.Begin = m.Begin.UTC()
	r.Unanswered, r.OldestUnansweredUs = m.Unanswered, micros(m.OldestUnanswered)
	r.Scheduled, r.Backlog = m.Scheduled, m.Backlog
	r.Params.Engine, r.Params.Timer = m.Engine, m.Timer
	r.Verdict = RunVerdict{
		GeneratorBound: m.Verdict.GeneratorBound, Reason: m.Verdict.Reason, Workers: []RunWorker{},
		Collections: m.GC.Collections, PauseUs: micros(m.GC.Pauses), LongestPauseUs: micros(m.GC.Longest),
	}
	if r.Late != nil {
		r.Verdict.LateP99Us = r.Late.P99Us
	}
	for i := range m.Workers {
		w := &m.Workers[i]
		r.Verdict.Workers = append(r.Verdict.Workers, RunWorker{
			Requests: w.Requests, CPUUserS: w.User.Seconds(), CPUSystemS: w.System.Seconds(), CPUShare: w.Busy(),
		})
	}
}

// Failures lists the failed requests by code on one line, the most frequent first; empty
// for none.
func (r *RunResult) Failures() string { return sayCounts(r.Errors) }

// FailedShare is the share of the requests that failed, 0 to 1.
func (r *RunResult) FailedShare() float64 {
	if n := r.OK + r.Failed; n > 0 {
		return float64(r.Failed) / float64(n)
	}
	return 0
}
