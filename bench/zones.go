package bench

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

const (
	// zoneStretches is into how many stretches the run's time is cut for the plot.
	zoneStretches = 120
	// zoneRounds is how many rounds are kept to compare endpoints with each other. In a
	// longer run every second, third… round is.
	zoneRounds = 1_000
)

// Zones compares the endpoints' latencies side by side: PINGs over conns that are
// kept, and new conns, by turns, so that whatever happens meanwhile happens to all.
// An endpoint that fails is part of the result; only if none ever answers is that an
// error. Cancelled, it returns what it has together with the context's error. Errors
// are an [OptionError], or say why no endpoint could be used.
func Zones(ctx context.Context, o ZonesOptions) (*ZonesResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r := NewZonesResult(NewEnvironment(time.Now()), o)
	r.Environment.ServerKind = ServerGiven
	running, stop := context.WithCancel(ctx)
	run := zonesRun{options: o, result: r}
	for _, t := range o.Targets {
		e := &zone{cfg: zoneConfig(t, o.Timeout), pings: NewLatency(), connects: NewLatency(), tcp: NewLatency(), stretch: NewLatency()}
		e.result.Address = t.String()
		run.zones = append(run.zones, e)
	}
	defer run.close()
	defer stop() // ends the dials that close waits for
	run.run(running)
	run.finish()
	if ctx.Err() != nil {
		r.Interrupted = true
		return r, ctx.Err()
	}
	if r.Nearest == nil {
		return r, fmt.Errorf("no endpoint answered: %w", run.zones[0].first)
	}
	return r, nil
}

func zoneConfig(t Target, timeout time.Duration) evenkeel.Config {
	cfg := t.config()
	lanes(&cfg, 1, 0, 0)
	cfg.ClientName = clientName
	cfg.MaxRetries = 0
	cfg.DialTimeout, cfg.CommandTimeout = timeout, timeout
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.Governor = evenkeel.NewGovernor(0)
	return cfg
}

// zonesRun is one run of Zones.
type zonesRun struct {
	options ZonesOptions
	result  *ZonesResult
	zones   []*zone
	rounds  [][]float64 // in µs; see rank
}

// zone is one endpoint.
type zone struct {
	cfg      evenkeel.Config
	kept     *evenkeel.Conn // nil: to be opened
	pings    *Latency
	connects *Latency
	tcp      *Latency
	stretch  *Latency // PINGs of the current stretch
	result   ZonesEndpoint
	first    error
	over     [2]int64    // PINGs over 1 ms and 3 ms
	opening  chan opened // a dial of kept is under way; nil for none
}

// opened is how a dial ended.
type opened struct {
	conn *evenkeel.Conn
	err  error
}

func (z *zone) failed(err error) {
	z.result.Errors++
	if z.first == nil {
		z.first, z.result.Error = err, err.Error()
	}
}

// timeDial opens a conn, records its time, and closes it.
func (z *zone) timeDial(ctx context.Context) {
	conn, t, err := timedDial(ctx, z.cfg)
	if err != nil {
		if ctx.Err() == nil {
			z.failed(err)
		}
		return
	}
	z.connects.Record(t.Total)
	z.tcp.Record(t.Connect)
	_ = conn.Close() // it has done its work
}

// begin begins to open the conn that is kept. Nobody waits for it: an endpoint that hangs
// takes no time from the others.
func (z *zone) begin(ctx context.Context) {
	if z.kept != nil || z.opening != nil {
		return
	}
	done := make(chan opened, 1)
	z.opening = done
	go func() {
		conn, err := evenkeel.Dial(ctx, z.cfg)
		done <- opened{conn, err}
	}()
}

// took takes what a dial gave, and asks the endpoint what it is.
func (z *zone) took(ctx context.Context, o opened) {
	z.opening = nil
	if o.err != nil {
		if ctx.Err() == nil {
			z.failed(o.err)
		}
		return
	}
	z.kept = o.conn
	info := z.kept.Info()
	z.result.Server, z.result.Version = info.Server, info.Version
	// A server that forbids INFO is measured without it.
	w := watcher{cfg: z.cfg, conn: z.kept}
	if fields, err := w.info(ctx, "server"); err == nil {
		z.result.Zone = fields["availability_zone"]
		if v := fields["valkey_version"]; v != "" {
			z.result.Server, z.result.Version = "valkey", v
		}
	}
	if fields, err := w.info(ctx, "replication"); err == nil {
		z.result.Role = fields["role"]
	}
	z.kept = w.conn // another one, if the first was lost meanwhile
}

// ping times one PING, and returns it in µs, 0 when there was none.
func (z *zone) ping(ctx context.Context) float64 {
	z.begin(ctx)
	if z.opening != nil {
		select {
		case o := <-z.opening:
			z.took(ctx, o)
		default:
		}
	}
	if z.kept == nil {
		return 0
	}
	begin := time.Now()
	err := z.kept.Do(ctx, "PING").Err()
	elapsed := time.Since(begin)
	if err != nil {
		if ctx.Err() == nil {
			z.failed(err)
		}
		_ = z.kept.Close() // another one is opened
		z.kept = nil
		return 0
	}
	z.pings.Record(elapsed)
	z.stretch.Record(elapsed)
	us := micros(elapsed)
	for i, border := range []float64{nearUs, zoneUs} {
		if us > border {
			z.over[i]++
		}
	}
	return us
}

// run makes the rounds. A dial that it has begun may be under way when it returns.
func (r *zonesRun) run(ctx context.Context) {
	const phase = "endpoints by turns"
	o := r.options
	for _, z := range r.zones {
		z.begin(ctx)
	}
	for _, z := range r.zones { // before the time counts
		z.took(ctx, <-z.opening)
	}
	every := max(int(o.Duration/o.Interval)/zoneRounds, 1)
	length := o.Duration / zoneStretches
	order := turns(len(r.zones), 1)
	start := time.Now()
	nextStretch := length
	o.Progress.Send(Event{Phase: phase, Total: o.Duration})
	for n := 0; time.Since(start) < o.Duration; n++ {
		round := make([]float64, len(r.zones))
		for _, at := range order() {
			z := r.zones[at]
			round[at] = z.ping(ctx)
			if n%o.ConnectEvery == 0 && z.kept != nil {
				z.timeDial(ctx)
			}
		}
		if ctx.Err() != nil {
			break
		}
		if n%every == 0 && len(r.rounds) < zoneRounds {
			r.rounds = append(r.rounds, round)
		}
		if elapsed := time.Since(start); elapsed >= nextStretch {
			r.cut(elapsed)
			nextStretch = elapsed - elapsed%length + length
		}
		o.Progress.Send(Event{Phase: phase, Elapsed: time.Since(start), Total: o.Duration})
		if !pause(ctx, time.Until(start.Add(time.Duration(n+1)*o.Interval))) {
			break
		}
	}
	r.cut(time.Since(start))
}

// cut ends a stretch.
func (r *zonesRun) cut(at time.Duration) {
	s := ZonesSecond{T: at.Seconds()}
	some := false
	for _, z := range r.zones {
		if z.stretch.Count() == 0 {
			s.P50Us = append(s.P50Us, nil)
			continue
		}
		p50 := z.stretch.QuantileUs(0.5)
		s.P50Us = append(s.P50Us, &p50)
		z.stretch, some = NewLatency(), true
	}
	if some {
		r.result.Seconds = append(r.result.Seconds, s)
	}
}

// finish fills in the result.
func (r *zonesRun) finish() {
	for _, z := range r.zones {
		e := &z.result
		p := z.pings
		e.Pings = p.Count()
		e.PingMinUs, e.PingP50Us, e.PingP95Us, e.PingP99Us, e.PingMaxUs = p.MinUs(), p.QuantileUs(0.5), p.QuantileUs(0.95), p.QuantileUs(0.99), p.MaxUs()
		e.Connects = z.connects.Count()
		e.ConnectP50Us, e.ConnectP99Us, e.TCPP50Us = z.connects.QuantileUs(0.5), z.connects.QuantileUs(0.99), z.tcp.QuantileUs(0.5)
		if e.Pings > 0 {
			e.Over1Ms, e.Over3Ms = float64(z.over[0])/float64(e.Pings), float64(z.over[1])/float64(e.Pings)
		}
		r.result.Endpoints = append(r.result.Endpoints, *e)
		if env := &r.result.Environment; env.Server == "" && e.Server != "" {
			env.Server, env.ServerVersion, env.Address = e.Server, e.Version, e.Address
		}
	}
	r.result.rank(r.rounds)
}

// close closes the conns that were kept, and those that still come.
func (r *zonesRun) close() {
	for _, z := range r.zones {
		if z.opening != nil {
			z.kept = (<-z.opening).conn
		}
		if z.kept != nil {
			_ = z.kept.Close() // nothing is owed on it
		}
	}
}
