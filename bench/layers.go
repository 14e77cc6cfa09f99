package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// restrictedUser is the user of a private server whose commands and keys are
// restricted.
const restrictedUser = "bench-acl"

// Layers compares what logging in and encrypting cost, to open a conn and for each
// command over one that is kept, in interleaved rounds. Cancelled, it returns what it
// has together with the context's error. Errors are an [OptionError], a
// [RefusedError], or say why the server could not be used.
func Layers(ctx context.Context, o LayersOptions) (*LayersResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	password := rand.Text()
	s, err := openServer(ctx, o.Target, wants{
		plan: o.Plan(), disturb: o.Disturb, auth: true, tls: true, progress: o.Progress,
		options: []evenkeeltest.Option{evenkeeltest.WithACLUser(restrictedUser, password, "~"+KeyPrefix+"*", "+@read", "+@write", "+@connection")},
	})
	if err != nil {
		return nil, err
	}
	r, err := layersOn(ctx, s, o, password)
	return r, errors.Join(err, s.close())
}

func layersOn(ctx context.Context, s *server, o LayersOptions, password string) (r *LayersResult, err error) {
	r = NewLayersResult(s.env, o)
	run := layersRun{
		server: s, options: o, password: password,
		key: KeyPrefix + "layers:" + rand.Text(), value: bytes.Repeat([]byte("x"), o.ValueSize),
	}
	defer func() {
		closing, cancel := afterwards(ctx)
		defer cancel()
		err = errors.Join(err, run.close(), s.watch.remove(closing, []string{run.key}))
	}()
	if err := run.prepare(ctx); err != nil {
		return r, err
	}
	err = run.rounds(ctx)
	r.Interrupted = ctx.Err() != nil
	for _, l := range run.layers {
		if len(l.rounds) > 0 {
			r.Rows = append(r.Rows, l.row())
		}
	}
	r.Compare()
	return r, err
}

// layersRun is one run of Layers.
type layersRun struct {
	server   *server
	options  LayersOptions
	password string // of restrictedUser
	key      string
	value    []byte
	layers   []*layerRun
}

// layerRun is one layer with what was measured of it.
type layerRun struct {
	layer SecurityLayer
	cfg   evenkeel.Config
	kept  *evenkeel.Conn

	total, tcp, tls, handshake *Latency
	commands                   *Latency
	resumed                    int64
	dialCPU, opCPU, ownCPU     cpuSum
	rounds                     []LayersRound
}

// cpuSum adds up CPU time, until some of it is not known.
type cpuSum struct {
	seconds float64
	unknown bool
}

func (c *cpuSum) add(before, after *float64) {
	if before == nil || after == nil {
		c.unknown = true
		return
	}
	c.seconds += *after - *before
}

// per is the µs for each of n, nil when not known.
func (c *cpuSum) per(n int64) *float64 {
	if c.unknown || n == 0 {
		return nil
	}
	us := c.seconds * 1e6 / float64(n)
	return &us
}

// share is what was used of one CPU in so much time, nil when not known.
func (c *cpuSum) share(elapsed time.Duration) *float64 {
	if c.unknown || elapsed <= 0 {
		return nil
	}
	share := c.seconds / elapsed.Seconds()
	return &share
}

// prepare opens the conns that are kept, and leaves out the layers that the server
// does not have.
func (r *layersRun) prepare(ctx context.Context) error {
	var firstErr error
	for _, layer := range r.options.Layers {
		cfg, ok := r.config(layer)
		if !ok {
			continue
		}
		conn, _, err := timedDial(ctx, cfg) // the first session of a layer that resumes one
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			firstErr = errors.Join(firstErr, fmt.Errorf("layer %s: %w", layer, err))
			r.options.Progress.Send(Event{Note: fmt.Sprintf("layer %s is left out: %v", layer, err)})
			continue
		}
		r.layers = append(r.layers, &layerRun{
			layer: layer, cfg: cfg, kept: conn,
			total: NewLatency(), tcp: NewLatency(), tls: NewLatency(), handshake: NewLatency(), commands: NewLatency(),
		})
	}
	if len(r.layers) > 0 {
		return nil
	}
	if firstErr != nil {
		return firstErr
	}
	return &OptionError{Option: "layers", Problem: "the server as given has none of these; give all, or a URL that fits them (rediss:// for TLS, a password for one with)"}
}

// config is a layer's way to the server; ok is false when there is none.
func (r *layersRun) config(layer SecurityLayer) (cfg evenkeel.Config, ok bool) {
	s := r.server
	if s.target.Private() {
		if layer.encrypted() && !s.hasTLS() {
			return cfg, false
		}
		cfg = s.config(layer == LayerPassword, layer.encrypted())
		if layer == LayerACL {
			cfg.Username, cfg.Password = restrictedUser, r.password
		}
	} else {
		if layer.encrypted() != (s.target.TLS != nil) {
			return cfg, false
		}
		// Which user has restrictions is not known; one that is named may have.
		given := LayerPlain
		switch {
		case s.target.Username != "":
			given = LayerACL
		case s.target.Password != "":
			given = LayerPassword
		}
		if !layer.encrypted() && layer != given {
			return cfg, false
		}
		cfg = s.config(false, false)
	}
	lanes(&cfg, 1, 0, 0)
	if !layer.encrypted() {
		return cfg, true
	}
	cfg.TLS = cfg.TLS.Clone()
	cfg.TLS.MinVersion, cfg.TLS.MaxVersion = tls.VersionTLS13, tls.VersionTLS13
	if layer == LayerTLS12 || layer == LayerTLS12Resumed {
		cfg.TLS.MinVersion, cfg.TLS.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	}
	cfg.TLS.ClientSessionCache = nil
	if layer.resumed() {
		cfg.TLS.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}
	return cfg, true
}

// rounds gives each layer its turns. The first round only brings all to the speed
// that they then keep.
func (r *layersRun) rounds(ctx context.Context) error {
	o := r.options
	total := o.Rounds * len(r.layers)
	progress := func(done int) {
		o.Progress.Send(Event{Phase: "layers by turns", Elapsed: time.Duration(done) * o.Slot, Total: time.Duration(total) * o.Slot})
	}
	progress(0)
	order := turns(len(r.layers), 1)
	for n := -1; n < o.Rounds; n++ {
		turn := make([]LayersRound, len(r.layers))
		for i, at := range order() {
			l := r.layers[at]
			round, err := r.turn(ctx, l, n >= 0)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("layer %s: %w", l.layer, err)
			}
			turn[at] = round
			if n >= 0 {
				progress(n*len(r.layers) + i + 1)
			}
		}
		if n < 0 {
			continue
		}
		// A round counts for all layers or for none, so that they can be compared.
		for i, l := range r.layers {
			l.rounds = append(l.rounds, turn[i])
		}
	}
	return nil
}

// turn is one turn of one layer.
func (r *layersRun) turn(ctx context.Context, l *layerRun, counts bool) (LayersRound, error) {
	var round LayersRound
	w := r.server.watch
	begin, err := w.cpu(ctx)
	if err != nil {
		return round, err
	}
	dials := NewLatency()
	for range r.options.Dials {
		if err := r.dial(ctx, l, dials, counts); err != nil {
			return round, err
		}
	}
	dialed, err := w.cpu(ctx)
	if err != nil {
		return round, err
	}
	user, system, known := processCPU()
	commands := NewLatency()
	start := time.Now()
	for n := 0; time.Since(start) < r.options.Slot; n++ {
		before := time.Now()
		if err := r.command(ctx, l.kept, n); err != nil {
			return round, err
		}
		commands.Record(time.Since(before))
	}
	elapsed := time.Since(start)
	userNow, systemNow, _ := processCPU()
	done, err := w.cpu(ctx)
	if err != nil {
		return round, err
	}
	round.ConnectUs, round.OpsPerS = dials.QuantileUs(0.5), float64(commands.Count())/elapsed.Seconds()
	if !counts {
		return round, nil
	}
	l.commands.Merge(commands)
	l.dialCPU.add(begin, dialed)
	l.opCPU.add(dialed, done)
	own := (userNow + systemNow - user - system).Seconds()
	if l.ownCPU.add(new(float64), &own); !known {
		l.ownCPU.unknown = true
	}
	return round, nil
}

// dial opens a conn and closes it, which is not in its time.
func (r *layersRun) dial(ctx context.Context, l *layerRun, dials *Latency, counts bool) error {
	conn, t, err := timedDial(ctx, l.cfg)
	if err != nil {
		return err
	}
	if err := conn.Close(); err != nil {
		return err
	}
	dials.Record(t.Total)
	if !counts {
		return nil
	}
	l.total.Record(t.Total)
	l.tcp.Record(t.Connect)
	l.tls.Record(t.TLS)
	l.handshake.Record(t.Handshake)
	if t.Resumed {
		l.resumed++
	}
	return nil
}

// command runs SET and GET by turns.
func (r *layersRun) command(ctx context.Context, conn *evenkeel.Conn, n int) error {
	if n%2 == 0 {
		return conn.Do(ctx, "SET", r.key, r.value, "EX", keyTTL).Err()
	}
	return conn.Do(ctx, "GET", r.key).Err()
}

func (l *layerRun) row() LayersRow {
	return LayersRow{
		Layer: l.layer, Dials: l.total.Count(), Resumed: l.resumed,
		ConnectP50Us: l.total.QuantileUs(0.5), ConnectP99Us: l.total.QuantileUs(0.99),
		TCPUs: l.tcp.QuantileUs(0.5), TLSUs: l.tls.QuantileUs(0.5), HandshakeUs: l.handshake.QuantileUs(0.5),
		ServerPerDialUs: l.dialCPU.per(l.total.Count()),
		Commands:        l.commands.Count(),
		CommandP50Us:    l.commands.QuantileUs(0.5), CommandP99Us: l.commands.QuantileUs(0.99),
		ServerPerOpUs: l.opCPU.per(l.commands.Count()), ClientPerOpUs: l.ownCPU.per(l.commands.Count()),
		Rounds: l.rounds,
	}
}

// close closes the conns that were kept.
func (r *layersRun) close() error {
	var errs []error
	for _, l := range r.layers {
		errs = append(errs, l.kept.Close())
	}
	return errors.Join(errs...)
}
