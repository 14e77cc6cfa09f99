package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/report"
)

const (
	// socketTimeout bounds the dial of one raw conn, its TLS handshake included.
	socketTimeout = 5 * time.Second
	// runGiveUp ends a run that has had no conn for so long. A server that restarts and
	// loads its data is back before.
	runGiveUp = 30 * time.Second
	// idlePings are timed before the load.
	idlePings = 200
)

// Run sends a workload to a server and measures each reply. Cancelled, it returns what
// it has together with the context's error. A server that is lost for good in the middle
// ends it with an error too, and with the result so far.
//
// Errors are an [OptionError] or a *workload.FieldError for what was asked, a
// [RefusedError] or [CapacityError] where the server or this side has no room, or say why
// the server could not be used. Error replies are no error of Run: they are counted in
// the result.
func Run(ctx context.Context, o RunOptions) (*RunResult, error) {
	if o.Agents > 0 {
		return runAgents(ctx, o)
	}
	r, err := openRun(ctx, o)
	if err != nil {
		return nil, err
	}
	err = r.run(ctx)
	r.result.Interrupted = ctx.Err() != nil || r.result.Fault != ""
	err = errors.Join(err, r.closeJournal())
	if !r.began {
		return nil, errors.Join(err, r.close(ctx))
	}
	return r.result, errors.Join(err, r.close(ctx))
}

// openRun checks the options and opens their server.
func openRun(ctx context.Context, o RunOptions) (*runRun, error) {
	plan, err := o.compile()
	if err != nil {
		return nil, err
	}
	s, err := openServer(ctx, o.Target, wants{
		plan: o.Plan(), disturb: o.Disturb, blind: o.Disturb, cluster: o.Cluster, progress: o.Progress, options: o.serverOptions(),
	})
	if err != nil {
		return nil, err
	}
	r := newRun(s, o, plan)
	if o.Cluster {
		if r.nodes, err = openNodes(ctx, s, o, plan); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return r, nil
}

// compile checks the options and makes their workload ready to send.
func (o *RunOptions) compile() (*workload.Plan, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	plan, err := o.Workload.Compile()
	if err != nil || o.Callers == 0 {
		return plan, err
	}
	if plan.MaxSequence() > 1 {
		return nil, &OptionError{Option: "callers", Problem: "a sequence of commands needs raw connections; leave out --callers"}
	}
	o.Workers = min(runtime.GOMAXPROCS(0), o.Callers) // the threads that its goroutines have
	return plan, nil
}

func newRun(s *server, o RunOptions, plan *workload.Plan) *runRun {
	return &runRun{server: s, options: o, plan: plan, result: NewRunResult(s.env, o), series: newSeries(o.Interval)}
}

// close removes the keys and leaves the server.
func (r *runRun) close(ctx context.Context) error {
	errs := []error{r.clean(ctx)}
	for _, s := range r.servers() {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// again loads the same server, whose keys are there, with other options.
func (r *runRun) again(ctx context.Context, o RunOptions) (*RunResult, error) {
	w := newRun(r.server, o, r.plan)
	w.nodes = r.nodes
	r.dirty = true
	err := w.load(ctx)
	if !w.began {
		return nil, err
	}
	return w.result, err
}

// runRun is one run of Run.
type runRun struct {
	server  *server
	nodes   []*clusterNode // nil: server is no cluster
	rows    []RunNode      // what each of them did in the last load
	options RunOptions
	plan    *workload.Plan
	result  *RunResult
	series  *series
	journal *journal // nil: none is wanted
	earlier *history // what the journal had; nil for a run from the beginning
	// As an agent: which of how many parts of the load it is, and what is called when its
	// conns are open.
	part, parts int
	ready       func(context.Context) error
	began       bool // there is something to show
	dirty       bool // keys may have been written
	mine        bool // and they are nobody else's
}

func (r *runRun) run(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if err := r.openJournal(); err != nil {
		return err
	}
	if err := r.preload(ctx); err != nil {
		return err
	}
	return r.load(ctx)
}

// prepare makes sure that the load is welcome, and does what comes before its keys.
func (r *runRun) prepare(ctx context.Context) error {
	o := r.options
	if err := r.fits(ctx, o.Conns); err != nil {
		return err
	}
	if err := r.admitKeys(ctx); err != nil {
		return err
	}
	idle := hist.New()
	for range idlePings {
		begin := time.Now()
		if _, err := r.server.watch.do(ctx, "PING"); err != nil {
			return err
		}
		idle.Record(time.Since(begin))
	}
	r.result.IdlePing = newRunTimes(idle)
	for _, words := range o.Workload.Setup {
		for _, s := range r.servers() {
			if _, err := s.watch.do(ctx, anys(words)...); err != nil {
				return fmt.Errorf("the workload's setup: %s: %w", words[0], err)
			}
		}
	}
	return nil
}

func anys(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}

// config is the engine's part of what was asked.
func (r *runRun) config() raw.Config {
	o := r.options
	dial, hello, replies := r.server.socket(o.RESP3, o.Greeting)
	return raw.Config{
		Dial: dial, Hello: hello, HelloReplies: replies, Classes: r.plan.Classes(),
		Workers: o.Workers, Conns: o.Conns, Depth: o.Depth, Sliding: o.Sliding,
		Requests: o.Requests, Duration: o.Duration, Warmup: o.Warmup,
		Rate: o.Rate, Poisson: o.Poisson, Seed: o.Seed, ReconnectEvery: o.ReconnectEvery,
		Verify: o.Workload.Verify, GiveUp: runGiveUp, Portable: o.Portable, Ready: r.ready,
	}
}

// stream is what a worker sends, to the node if there is one.
func (r *runRun) stream(s workload.Slice, n *clusterNode) raw.Stream {
	if r.parts > 0 {
		s.Index, s.Count = s.Index*r.parts+r.part, s.Count*r.parts
	}
	if n == nil {
		return r.plan.Stream(s)
	}
	stream, err := r.plan.StreamForSlots(s, n.slots.has)
	if err != nil { // openNodes has tried it
		panic(err)
	}
	return stream
}

// socket says how a conn for raw requests is opened, and what begins it.
func (s *server) socket(resp3 bool, greeting [][]string) (dial func(context.Context) (net.Conn, error), hello []byte, replies int) {
	cfg := s.config(false, false)
	dial = func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, socketTimeout)
		defer cancel()
		return dialSocket(ctx, cfg.Network, cfg.Addr, s.target.TLS)
	}
	add := func(words ...string) {
		hello = appendRequest(hello, words)
		replies++
	}
	switch {
	case cfg.Password != "" && cfg.Username != "":
		add("AUTH", cfg.Username, cfg.Password)
	case cfg.Password != "":
		add("AUTH", cfg.Password)
	}
	if resp3 {
		add("HELLO", "3")
	}
	if cfg.DB != 0 {
		add("SELECT", strconv.Itoa(cfg.DB))
	}
	for _, words := range greeting {
		add(words...)
	}
	return dial, hello, replies
}

// byCount gives the names of what was counted, the most frequent first.
func byCount(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
}

// sayCounts lists what was counted on one line.
func sayCounts(counts map[string]int64) string {
	var parts []string
	for _, name := range byCount(counts) {
		parts = append(parts, report.Int(counts[name])+" × "+name)
	}
	return strings.Join(parts, ", ")
}

// load is the run itself.
func (r *runRun) load(ctx context.Context) (err error) {
	o := r.options
	before, tallyErr := r.tally(ctx)
	if tallyErr != nil && !evenkeel.ServerSaid(tallyErr) {
		return tallyErr
	}
	cfg := r.config()
	if o.Scale != nil {
		cfg.Scale = func(at time.Duration) float64 { return o.Scale.Factor(at + r.done()) }
	}
	if r.parts > 0 {
		cfg.Seed += uint64(r.part) << 32 // other arrivals than the other agents'
	}
	r.leaveOut(&cfg)
	if r.journal != nil && r.earlier == nil {
		if err := r.journal.begin(r.result); err != nil {
			return fmt.Errorf("--journal: %w", err)
		}
	}
	cfg.Interval, cfg.OnInterval = o.Interval, r.observe
	if o.Callers > 0 {
		app, err := newApplication(r.server, o)
		if err != nil {
			return err
		}
		app.take(&cfg, o.Callers)
		defer func() {
			closing, cancel := afterwards(ctx)
			defer cancel()
			app.report(r.result)
			err = errors.Join(err, app.client.Close(closing))
		}()
	}
	r.dirty = true
	begin := time.Now()
	o.Progress.Send(Event{Phase: "load", Total: o.Warmup + o.Duration})
	res, runErr := r.send(ctx, cfg, r.stream)
	if res == nil {
		return runErr
	}
	r.began = true
	r.result.measured(res)
	r.result.Nodes = r.rows
	r.addEarlier(res)
	r.result.Seconds = r.series.seconds()
	if runErr != nil && ctx.Err() == nil {
		r.result.Fault = runErr.Error()
	}
	look, cancel := lastLook(ctx)
	defer cancel()
	if after, err := r.tally(look); err == nil && tallyErr == nil && runErr == nil {
		r.result.Server = after.since(before, time.Since(begin))
	}
	return runErr
}

// observe gets each interval of the load.
func (r *runRun) observe(i *raw.Interval) {
	o := r.options
	end := i.Begin + i.Elapsed
	if !i.Warmup && i.Elapsed > 0 {
		t := r.done() + end - o.Warmup
		r.series.add(i, t)
		if r.journal != nil {
			r.journal.interval(i, t, o.Progress)
		}
	}
	if o.Observe != nil {
		o.Observe(i)
	}
	total := o.Warmup + o.Duration
	if o.Duration == 0 {
		total = 0
	}
	o.Progress.Send(Event{Phase: "load", Elapsed: end, Total: total, Status: statusOf(i)})
}

// statusOf says in a few words how an interval went.
func statusOf(i *raw.Interval) string {
	h := i.Times()
	text := ""
	if i.Warmup {
		text = "warm-up: "
	}
	text += fmt.Sprintf("%s/s, p50 %s, p99 %s, max %s", report.Short(float64(i.OK())/max(i.Elapsed.Seconds(), 1e-9)),
		report.Micros(micros(h.Quantile(0.5))), report.Micros(micros(h.Quantile(0.99))), report.Micros(micros(h.Max())))
	if n := i.Failed(); n > 0 {
		text += fmt.Sprintf(", %s failed", report.Int(n))
	}
	if i.Backlog > 0 {
		text += fmt.Sprintf(", %s overdue", report.Int(i.Backlog))
	}
	return text
}
