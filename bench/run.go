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
	// fillDepth and fillConns are how keys are written and removed: enough to hide the
	// round trips.
	fillDepth = 64
	fillConns = 8
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
		plan: o.Plan(), disturb: o.Disturb, blind: o.Disturb, progress: o.Progress, options: o.serverOptions(),
	})
	if err != nil {
		return nil, err
	}
	return newRun(s, o, plan), nil
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
	return errors.Join(r.clean(ctx), r.server.close())
}

// again loads the same server, whose keys are there, with other options.
func (r *runRun) again(ctx context.Context, o RunOptions) (*RunResult, error) {
	w := newRun(r.server, o, r.plan)
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
	options RunOptions
	plan    *workload.Plan
	result  *RunResult
	series  *series
	journal *journal // nil: none is wanted
	earlier *history // what the journal had; nil for a run from the beginning
	began   bool     // there is something to show
	dirty   bool     // keys may have been written
	mine    bool     // and they are nobody else's
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
	if err := r.server.fits(ctx, o.Conns+1); err != nil {
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
		if _, err := r.server.watch.do(ctx, anys(words)...); err != nil {
			return fmt.Errorf("the workload's setup: %s: %w", words[0], err)
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

// admitKeys refuses to write among the keys of others.
func (r *runRun) admitKeys(ctx context.Context) error {
	if r.mine = r.server.target.Private() || r.plan.KeysBegin(KeyPrefix); r.mine {
		return nil
	}
	reply, err := r.server.watch.do(ctx, "DBSIZE")
	n := int64(-1) // it does not say
	if err == nil {
		n, err = reply.Int()
	}
	switch {
	case err == nil && n == 0:
		r.mine = true
		return nil
	case r.options.Disturb:
		if !r.options.Keep {
			r.options.Progress.Send(Event{Note: "the database has keys that may be others': none will be removed at the end"})
		}
		return nil
	case err != nil:
		return fmt.Errorf("the server does not say whether the database is empty (--disturb goes on without): %w", err)
	}
	return &RefusedError{Reasons: []string{fmt.Sprintf(
		"database %d has %s, and the workload's keys do not begin with %s: give an empty database, or a workload whose keys do",
		r.server.target.DB, report.Plural(n, "key", "keys"), KeyPrefix)}}
}

// config is the engine's part of what was asked.
func (r *runRun) config() raw.Config {
	o := r.options
	dial, hello, replies := r.server.socket(o.RESP3, o.Greeting)
	return raw.Config{
		Dial: dial, Hello: hello, HelloReplies: replies, Classes: r.plan.Classes(),
		Streams: func(worker, workers int) raw.Stream {
			return r.plan.Stream(workload.Slice{Seed: o.Seed, Index: worker, Count: workers})
		},
		Workers: o.Workers, Conns: o.Conns, Depth: o.Depth, Sliding: o.Sliding,
		Requests: o.Requests, Duration: o.Duration, Warmup: o.Warmup,
		Rate: o.Rate, Poisson: o.Poisson, Seed: o.Seed, ReconnectEvery: o.ReconnectEvery,
		Verify: o.Workload.Verify, GiveUp: runGiveUp, Portable: o.Portable,
	}
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

// preload writes each key once.
func (r *runRun) preload(ctx context.Context) error {
	o := r.options
	if o.SkipPreload || !r.plan.CanPreload() || r.plan.Keys() == 0 || r.keysAreThere() {
		return nil
	}
	from := min(o.PreloadFrom, r.plan.Keys())
	r.dirty = true
	begin := time.Now()
	done, err := r.fill(ctx, "preload", r.plan.Keys()-from, r.plan.PreloadPerKey(), func(s workload.Slice) raw.Stream { return r.plan.Preload(s, from) })
	r.result.Preload = &RunPreload{Keys: done, From: from, TookS: time.Since(begin).Seconds()}
	if took := r.result.Preload.TookS; took > 0 {
		r.result.Preload.KeysPer = float64(done) / took
	}
	if err != nil {
		if sure := from + max(done-fillConns*fillDepth, 0); sure > from && o.Keep {
			return fmt.Errorf("%w; to go on there: --preload-from %d", err, sure)
		}
		return err
	}
	return nil
}

// fill sends a finite stream with so many requests for each key, and returns how many
// keys were done. All must succeed.
func (r *runRun) fill(ctx context.Context, phase string, keys int64, perKey int, stream func(workload.Slice) raw.Stream) (int64, error) {
	cfg := r.config()
	cfg.Classes = []workload.Class{{Name: phase, Write: true}}
	cfg.Streams = func(worker, workers int) raw.Stream {
		return stream(workload.Slice{Seed: r.options.Seed, Index: worker, Count: workers})
	}
	// One worker: then what is done is the beginning of the key space, up to what is
	// under way, and an interrupted preload can go on.
	cfg.Workers, cfg.Conns, cfg.Depth, cfg.Sliding = 1, min(fillConns, r.options.Conns), fillDepth, true
	cfg.Requests, cfg.Duration, cfg.Warmup, cfg.Rate, cfg.Poisson, cfg.ReconnectEvery, cfg.Verify = 0, 0, 0, 0, false, 0, false
	var answered int64
	begin := time.Now()
	cfg.Interval = 250 * time.Millisecond
	cfg.OnInterval = func(i *raw.Interval) {
		answered += i.OK()
		done, elapsed := answered/int64(perKey), time.Since(begin)
		r.options.Progress.Send(Event{
			Phase: phase, Elapsed: elapsed, Total: time.Duration(float64(elapsed) * float64(keys) / float64(max(done, 1))),
			Status: fmt.Sprintf("%s of %s", report.Int(done), report.Plural(keys, "key", "keys")),
		})
	}
	r.options.Progress.Send(Event{Phase: phase})
	res, err := raw.Run(ctx, cfg)
	done := answered / int64(perKey)
	switch {
	case err != nil:
		return done, fmt.Errorf("%s, after %s: %w", phase, report.Plural(done, "key", "keys"), err)
	case res.Failed() > 0:
		return done, fmt.Errorf("%s: %s failed: %s", phase, report.Plural(res.Failed(), "request", "requests"), sayCounts(res.Errors))
	case res.Unanswered > 0:
		return done, fmt.Errorf("%s: %s had no answer", phase, report.Plural(res.Unanswered, "request", "requests"))
	}
	return done, nil
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
	before, tallyErr := r.server.tally(ctx)
	if tallyErr != nil && !evenkeel.ServerSaid(tallyErr) {
		return tallyErr
	}
	cfg := r.config()
	if o.Scale != nil {
		cfg.Scale = func(at time.Duration) float64 { return o.Scale.Factor(at + r.done()) }
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
	res, runErr := raw.Run(ctx, cfg)
	if res == nil {
		return runErr
	}
	r.began = true
	r.result.measured(res)
	r.addEarlier(res)
	r.result.Seconds = r.series.seconds()
	if runErr != nil && ctx.Err() == nil {
		r.result.Fault = runErr.Error()
	}
	look, cancel := lastLook(ctx)
	defer cancel()
	if after, err := r.server.tally(look); err == nil && tallyErr == nil && runErr == nil {
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

// clean removes the keys that the run may have written.
func (r *runRun) clean(ctx context.Context) error {
	if !r.dirty || !r.mine || r.options.Keep || r.server.target.Private() {
		return nil
	}
	// A run that was cancelled still owes it, but not for ever.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout(r.plan.Keys()))
	defer cancel()
	if keys := r.plan.LiteralKeys(); len(keys) > 0 {
		if err := r.server.watch.remove(ctx, keys); err != nil {
			return err
		}
	}
	if r.plan.Keys() == 0 || r.plan.CleanupPerKey() == 0 {
		return nil
	}
	_, err := r.fill(ctx, "removing the keys", r.plan.Keys(), r.plan.CleanupPerKey(), func(s workload.Slice) raw.Stream { return r.plan.Cleanup(s, 0) })
	return err
}

// cleanTimeout bounds the removal of so many keys.
func cleanTimeout(keys int64) time.Duration {
	const rate = 20_000 // a second, on a slow server
	return 10*time.Second + time.Duration(keys/rate)*time.Second
}
