package bench

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/report"
)

// RunOptions say what Run does: it sends a workload to a server over raw connections,
// as fast as the replies come (closed loop) or at a rate (open loop), and measures
// every reply. Make it with [DefaultRunOptions].
type RunOptions struct {
	// Target is the server; the zero value means a private one.
	Target Target
	// ServerProgram starts a private server, by path or by a name on the PATH; empty means
	// redis-server, else valkey-server.
	ServerProgram string
	// ServerConfig are lines of a private server's configuration, such as "io-threads 4";
	// may be empty.
	ServerConfig []string
	// Cluster loads all primaries of the cluster that Target is a node of: connections,
	// threads, rate and keys are shared out by the slots that they have. Default false.
	Cluster bool
	// Workload is what is sent. Default: [DefaultWorkload].
	Workload workload.Workload
	// Conns is how many connections are open, 1 to 1,048,576. Default 50.
	Conns int
	// Callers makes the run measure an application instead of the server alone: so many
	// goroutines, up to 65,536, call through one client that has Conns connections. 0
	// means raw connections. Default 0.
	Callers int
	// Lane is the client's, with Callers. Default shared.
	Lane Lane
	// Timeout bounds each call, with Callers, up to an hour; 0 means no bound. Default
	// [evenkeel.DefaultCommandTimeout].
	Timeout time.Duration
	// Workers is how many threads serve them, 1 to 1,024, and no more than Conns. With
	// Callers it has no meaning. Default: half of this machine's processors, 1 to 16.
	Workers int
	// Depth is how many requests may be in flight on one connection, 1 to 65,536.
	// Default 1.
	Depth int
	// Sliding refills the window of Depth with each reply. Default false: Depth
	// requests are sent at once, and the next ones when all replies are there. With a
	// Rate the window always slides.
	Sliding bool
	// Requests is how many are sent and answered after the warm-up; 0 means until
	// Duration. Default 0.
	Requests int64
	// Duration is how long to measure, up to 366 days; 0 means until Requests. Default
	// 10 s. One of the two must be given; with both, what comes first ends the run.
	Duration time.Duration
	// Warmup is how long the load runs before it is measured, 0 to 24 h. Default 1 s.
	Warmup time.Duration
	// Rate is how many requests a second are sent, whether or not earlier ones have
	// been answered, up to 1e9; 0 means closed loop. Default 0.
	Rate float64
	// Poisson makes the gaps between requests random (exponential) with the mean that
	// Rate gives. Default false: all gaps alike.
	Poisson bool
	// Scale changes Rate with the time since the run began; may be nil.
	Scale *Schedule
	// Seed begins all random numbers: the same seed gives the same requests. Default 1.
	Seed uint64
	// ReconnectEvery opens a new connection after so many requests on one; 0 means
	// never. Default 0. The dial is part of its first request's time.
	ReconnectEvery int
	// RESP3 has connections speak RESP3 (HELLO 3). Default false.
	RESP3 bool
	// Greeting are commands, word by word, that each connection sends before its first
	// request, such as CLIENT TRACKING ON; may be empty. An error reply ends the run.
	Greeting [][]string
	// SkipPreload leaves out writing each key before the run, for a key space that is
	// there already. Default false.
	SkipPreload bool
	// PreloadFrom is how many keys an interrupted preload had written; it goes on
	// there. Default 0.
	PreloadFrom int64
	// Keep leaves the keys in the server at the end. Default false: they are removed.
	Keep bool
	// Interval is the length of one point of the time series, 10 ms to 1 h. Default
	// 1 s. It doubles as often as a long run needs to stay below 600 points.
	Interval time.Duration
	// Observe gets each interval as it ends; may be nil. It is called by one goroutine
	// and may keep what it gets.
	Observe func(*raw.Interval)
	// Journal is a file to which each interval is appended as it ends, so that a crash
	// loses no more than the last one; empty means none. The file must not exist, or be
	// empty.
	Journal string
	// Resume goes on with the run whose Journal is there, to the end of its Duration or
	// Requests. Default false.
	Resume bool
	// Agents is how many agents make the load, up to 1,000, each a share of the
	// connections (or callers), the rate and the requests; 0 means this process. They and
	// their coordinator exchange messages through the server Via, and wait for each other
	// for a minute. Journal, Resume, Observe and Greeting have no meaning then. Default 0.
	Agents int
	// Via is the server that messages to and from agents go through. Default: Target.
	Via Target
	// Portable uses the engine over net.Conn also where there is a faster one.
	// Default false.
	Portable bool
	// Disturb allows a given server that is busy, a replica, or near a limit, and a
	// database with keys in it. Default false: refuse.
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

const (
	maxRunDuration = 366 * 24 * time.Hour
	maxRunWarmup   = 24 * time.Hour
	maxRunCallers  = 1 << 16
	maxAgents      = 1_000
	// maxAutoWorkers: beyond it more threads than a server has for its clients only
	// wait for each other.
	maxAutoWorkers = 16
)

// DefaultRunOptions returns the defaults that the fields name.
func DefaultRunOptions() RunOptions {
	return RunOptions{
		Workload: *DefaultWorkload(),
		Conns:    50,
		Lane:     LaneShared,
		Timeout:  evenkeel.DefaultCommandTimeout,
		Workers:  min(max(runtime.GOMAXPROCS(0)/2, 1), maxAutoWorkers),
		Depth:    1,
		Duration: 10 * time.Second,
		Warmup:   time.Second,
		Seed:     1,
		Interval: time.Second,
	}
}

// DefaultWorkload is one GET for each SET, uniformly over 100,000 keys with values of
// 100 bytes.
func DefaultWorkload() *workload.Workload {
	return &workload.Workload{
		Name:     "default",
		Title:    "GET and SET, one to one",
		Keys:     workload.Keys{Count: 100_000, Prefix: KeyPrefix, Digits: 6},
		Values:   workload.Values{Size: workload.Size{Bytes: 100}},
		Commands: []workload.Command{{Command: "GET __key__"}, {Command: "SET __key__ __data__"}},
	}
}

// Validate reports the first option that is out of bounds as an [OptionError], or what
// is wrong with the workload.
func (o RunOptions) Validate() error {
	var c check
	c.target(o.Target)
	o.validateServer(&c)
	c.between(o.Conns, 1, raw.MaxConns, "conns")
	c.between(o.Workers, 1, raw.MaxWorkers, "workers")
	c.that(o.Workers <= o.Conns || o.Callers > 0, "workers", "%d threads have %s to serve; give at most as many", o.Workers, report.Plural(o.Conns, "connection", "connections"))
	c.between(o.Depth, 1, raw.MaxDepth, "depth")
	c.between(o.Callers, 0, maxRunCallers, "callers")
	if o.Callers > 0 {
		o.validateCallers(&c)
	}
	if o.Agents != 0 {
		o.validateAgents(&c)
	}
	c.that(!o.Cluster || !o.Target.Private(), "cluster", "a private server is no cluster; give the address of one of its nodes")
	c.that(o.Requests >= 0, "requests", "%d is negative; give 0 to go by --duration alone", o.Requests)
	c.lasts(o.Duration, 0, maxRunDuration, "duration")
	c.that(o.Requests > 0 || o.Duration > 0, "duration", "without a duration and a number of requests the run has no end; give one of them")
	c.that(o.Duration == 0 || o.Duration >= 10*time.Millisecond, "duration", "%v is too short to measure; give 10ms or more", o.Duration)
	c.lasts(o.Warmup, 0, maxRunWarmup, "warmup")
	c.that(o.Rate >= 0 && o.Rate <= raw.MaxRate, "rate", "%g is out of bounds; give requests per second up to %g, or 0 for closed loop", o.Rate, float64(raw.MaxRate))
	c.that(o.Rate > 0 || !o.Poisson, "poisson", "a closed loop has no arrivals; give a --rate as well")
	c.that(o.Rate > 0 || o.Scale == nil, "scale-at", "a closed loop has no rate to change; give a --rate as well")
	c.that(o.ReconnectEvery >= 0, "reconnect-every", "%d is negative; give 0 for never", o.ReconnectEvery)
	c.that(o.PreloadFrom >= 0, "preload-from", "%d is negative", o.PreloadFrom)
	c.that(!o.Resume || o.Journal != "", "resume", "there is no journal to go on with; give --journal as well")
	c.lasts(o.Interval, 10*time.Millisecond, time.Hour, "interval")
	if c.err != nil {
		return c.err
	}
	return o.Workload.Validate()
}

// validateAgents checks what a coordinator does not leave to its agents.
func (o RunOptions) validateAgents(c *check) {
	c.between(o.Agents, 1, maxAgents, "agents")
	c.that(!o.Target.Private(), "agents", "they cannot reach a private server; give the address of one")
	if !o.Via.Private() {
		c.target(o.Via)
	}
	c.that(o.Journal == "", "journal", "agents keep none; leave it out")
	c.that(o.Observe == nil, "metrics", "agents have none; leave it out")
	c.that(o.Workload.Keys.File == "", "key-file", "agents do not have the file; give --keys")
	c.that(o.Conns >= o.Agents || o.Callers > 0, "conns", "%d are too few for %s; give at least one for each", o.Conns, report.Plural(o.Agents, "agent", "agents"))
	c.that(o.Callers == 0 || o.Callers >= o.Agents, "callers", "%d are too few for %s; give at least one for each", o.Callers, report.Plural(o.Agents, "agent", "agents"))
	c.that(o.Requests == 0 || o.Requests >= int64(o.Agents), "requests", "%d are too few for %s; give at least one for each", o.Requests, report.Plural(o.Agents, "agent", "agents"))
}

// validateServer checks what is said of a private server.
func (o RunOptions) validateServer(c *check) {
	c.that(o.Target.Private() || o.ServerProgram == "", "server-program", "it is for a private server; leave it out, or the server's address")
	c.that(o.Target.Private() || len(o.ServerConfig) == 0, "server-config", "it is for a private server; leave it out, or the server's address")
	for _, line := range o.ServerConfig {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		c.that(name != "" && strings.TrimSpace(value) != "" && !strings.ContainsAny(line, "\r\n"), "server-config",
			"%q is no line of a configuration; give a name and a value, such as 'io-threads 4'", line)
	}
}

// serverOptions start a private server as was asked.
func (o RunOptions) serverOptions() []evenkeeltest.Option {
	var options []evenkeeltest.Option
	if o.ServerProgram != "" {
		options = append(options, evenkeeltest.WithBinary(o.ServerProgram))
	}
	for _, line := range o.ServerConfig {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if value = strings.TrimSpace(value); value == `""` {
			value = ""
		}
		options = append(options, evenkeeltest.WithConfig(name, value))
	}
	return options
}

// validateCallers checks what a client does not leave to its callers.
func (o RunOptions) validateCallers(c *check) {
	oneOf(c, o.Lane, "lane", Lanes())
	c.lasts(o.Timeout, 0, time.Hour, "timeout")
	const raw = "with --callers the client decides; leave it out"
	c.that(o.Depth == 1, "depth", raw)
	c.that(!o.Sliding, "sliding", raw)
	c.that(o.ReconnectEvery == 0, "reconnect-every", raw)
	c.that(len(o.Greeting) == 0, "greeting", raw)
	c.that(!o.Cluster, "cluster", "the client has one endpoint; leave out --callers or --cluster")
	c.that(!o.Portable, "portable", "there is one engine of --callers; leave it out")
	c.that(!o.Workload.Verify, "verify", "values are checked over raw connections only; leave out --verify or --callers")
	for _, cmd := range o.Workload.Commands {
		c.that(!cmd.Inline, "callers", "a client sends no inline commands, such as %s; leave out --callers", cmd.Command)
	}
}

// valueOverhead is about what a server takes for one key besides the key and the
// value themselves, in bytes: dictionary entry, object, string headers.
const valueOverhead = 96

// Plan says what Run will do. The workload must be valid.
func (o RunOptions) Plan() Plan {
	conns := report.Plural(o.Conns, "connection", "connections")
	if o.Callers > 0 {
		conns = fmt.Sprintf("%s of a client with %s callers", conns, report.Int(o.Callers))
	}
	p := Plan{Length: o.Warmup + o.Duration, Conns: o.Conns + 1, Memory: int64(o.Conns+1) * connMemory}
	loop := "as fast as the replies come"
	if o.Rate > 0 {
		loop = report.Short(o.Rate) + " requests per second"
	}
	much := fmt.Sprintf("for %v", o.Duration)
	if o.Requests > 0 {
		much = report.Plural(o.Requests, "request", "requests")
		if o.Duration > 0 {
			much += fmt.Sprintf(", or for %v", o.Duration)
		}
	}
	// A list of keys is read by Compile; its length is said then.
	keys := o.Workload.Keys.Count
	mean := int64(o.Workload.Values.MeanSize())
	switch {
	case keys > 0 && !o.SkipPreload:
		p.Steps = append(p.Steps, fmt.Sprintf("write %s once each", report.Plural(keys-min(o.PreloadFrom, keys), "key", "keys")))
		p.Length += time.Duration(keys) * time.Second / preloadRate
		fallthrough
	case keys > 0:
		p.Memory += keys * (mean + valueOverhead)
	}
	p.Steps = append(p.Steps, fmt.Sprintf("%s over %s, %s, %s after %v of warm-up", o.Workload.Caption(),
		conns, loop, much, o.Warmup))
	return p
}

// preloadRate is how many keys a second the plan counts on.
const preloadRate = 100_000
