package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/report"
)

const (
	// keyTTL is how long a key outlives a run that could not remove it, in seconds.
	keyTTL = 60
	// connectValue is the size of a value in bytes.
	connectValue = 100
	// layerTries is how many conns the median of a layer is taken from.
	layerTries = 25
	// hopeless is how many failures in a row end a row of which nothing succeeds.
	hopeless = 20
)

// Connect runs the same commands, SET and GET by turns, over conns that are reused
// and with a new conn for each, in each way to log in and encrypt. Cancelled, it
// returns what it has together with the context's error. Errors are an
// [OptionError], a [RefusedError], or say why the server could not be used.
func Connect(ctx context.Context, o ConnectOptions) (*ConnectResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := openServer(ctx, o.Target, wants{plan: o.Plan(), disturb: o.Disturb, auth: o.Auth, tls: o.TLS, progress: o.Progress})
	if err != nil {
		return nil, err
	}
	r, err := connectOn(ctx, s, o)
	return r, errors.Join(err, s.close())
}

func connectOn(ctx context.Context, s *server, o ConnectOptions) (r *ConnectResult, err error) {
	r = NewConnectResult(s.env, o)
	run := connectRun{server: s, options: o, value: bytes.Repeat([]byte("x"), connectValue)}
	for caller := range o.Callers {
		run.keys = append(run.keys, KeyPrefix+"connect:"+rand.Text()+":"+strconv.Itoa(caller))
	}
	defer func() {
		closing, cancel := afterwards(ctx)
		defer cancel()
		err = errors.Join(err, s.watch.remove(closing, run.keys))
	}()
	for _, kind := range run.kinds() {
		for _, mode := range []ConnectMode{ConnectReuse, ConnectReconnect} {
			s.watch.settle(ctx)
			row, err := run.row(ctx, ConnectRow{Mode: mode, Auth: kind.auth, TLS: kind.tls})
			if row != nil {
				r.Rows = append(r.Rows, *row)
				r.Compare()
			}
			if ctx.Err() != nil {
				r.Interrupted = true
				return r, ctx.Err()
			}
			if err != nil {
				return r, fmt.Errorf("row %s: %w", (&ConnectRow{Mode: mode, Auth: kind.auth, TLS: kind.tls}).name(), err)
			}
		}
	}
	return r, nil
}

// connectKind is a way to log in and encrypt.
type connectKind struct{ auth, tls bool }

// connectRun is one run of Connect.
type connectRun struct {
	server  *server
	options ConnectOptions
	keys    []string // one for each caller
	value   []byte
}

// kinds lists what can be compared on the server.
func (c *connectRun) kinds() []connectKind {
	s := c.server
	if s.private == nil {
		return []connectKind{{auth: s.target.Password != "", tls: s.target.TLS != nil}}
	}
	kinds := []connectKind{{}}
	if c.options.Auth {
		kinds = append(kinds, connectKind{auth: true})
	}
	if c.options.TLS && s.hasTLS() {
		kinds = append(kinds, connectKind{tls: true})
		if c.options.Auth {
			kinds = append(kinds, connectKind{auth: true, tls: true})
		}
	}
	return kinds
}

func (c *connectRun) row(ctx context.Context, row ConnectRow) (*ConnectRow, error) {
	cfg := c.server.config(row.Auth, row.TLS)
	cfg.HandshakeSequential = c.options.Handshake == HandshakeSequential
	row.LayersUs = map[string]float64{}
	if row.Mode == ConnectReconnect {
		if err := c.layers(ctx, cfg, &row); err != nil {
			return nil, err
		}
		c.server.watch.settle(ctx)
	}
	perCommand, done, err := c.user(cfg, row.Mode)
	if err != nil {
		return nil, err
	}
	defer done()
	before, err := c.server.watch.counts(ctx)
	if err != nil {
		return nil, err
	}
	if row.Mode == ConnectReuse {
		// Opens the conns, and brings both sides to the speed that they then keep; the
		// other mode has its layers measured before.
		c.load(ctx, row.name(), newMeter(c.options.Callers), max(c.options.Requests/10, c.options.Callers), perCommand)
		if before.cpu, err = c.server.watch.cpu(ctx); err != nil {
			return nil, err
		}
	}
	m := newMeter(c.options.Callers)
	spent := c.load(ctx, row.name(), m, c.options.Requests, perCommand)
	calls := m.tally()
	closing, cancel := afterwards(ctx)
	defer cancel()
	after, err := c.server.watch.counts(closing)
	row.Errors, row.WallS = calls.failed, spent.wall.Seconds()
	if spent.known {
		user, system := spent.user.Seconds(), spent.system.Seconds()
		row.CPUUserS, row.CPUSysS = &user, &system
	}
	if err == nil {
		accepted := after.accepted - before.accepted
		row.NewConnectionsServer = &accepted
		if before.cpu != nil && after.cpu != nil {
			cpu := *after.cpu - *before.cpu
			row.CPUServerS = &cpu
		}
	}
	row.SetLatency(m.times())
	switch {
	case ctx.Err() != nil && calls.count == 0:
		return nil, ctx.Err()
	case calls.count == 0:
		return nil, calls.first
	case calls.first != nil && ctx.Err() == nil:
		c.options.Progress.Send(Event{Note: fmt.Sprintf("%s: %s failed, the first with: %v", row.name(), report.Plural(calls.failed, "command", "commands"), calls.first)})
	}
	return &row, nil
}

// use runs the n-th command of a caller. It returns the conn that was opened for it
// alone, if any: closing it is not in the command's time.
type use func(ctx context.Context, caller, n int) (*evenkeel.Conn, error)

// user returns what a mode does for each command, and what ends the row.
func (c *connectRun) user(cfg evenkeel.Config, mode ConnectMode) (_ use, done func(), err error) {
	if mode == ConnectReconnect {
		lanes(&cfg, 1, 0, 0)
		return func(ctx context.Context, caller, n int) (*evenkeel.Conn, error) {
			conn, err := evenkeel.Dial(ctx, cfg)
			if err != nil {
				return nil, err
			}
			return conn, conn.Do(ctx, c.command(caller, n)...).Err()
		}, func() {}, nil
	}
	lanes(&cfg, 1, c.options.Callers, 0)
	client, err := evenkeel.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, caller, n int) (*evenkeel.Conn, error) {
			return nil, client.DoExclusive(ctx, c.command(caller, n)...).Err()
		}, func() {
			closing, cancel := context.WithTimeout(context.Background(), closeTimeout)
			defer cancel()
			_ = client.Close(closing) // every call has ended, so there is nothing to lose
		}, nil
}

func (c *connectRun) command(caller, n int) []any {
	if n%2 == 0 {
		return []any{"SET", c.keys[caller], c.value, "EX", keyTTL}
	}
	return []any{"GET", c.keys[caller]}
}

// spent is what a load took.
type spent struct {
	wall, user, system time.Duration
	known              bool // user and system are
}

// load has the callers share so many requests until they, or the row's time, run
// out.
func (c *connectRun) load(ctx context.Context, phase string, m *meter, requests int, perCommand use) spent {
	o := c.options
	var taken, done atomic.Int64
	var stop atomic.Bool
	o.Progress.Send(Event{Phase: phase, Total: o.MaxRowTime})
	user, system, known := processCPU()
	start := time.Now()
	var callers sync.WaitGroup
	for caller := range o.Callers {
		callers.Go(func() {
			failures := 0
			for n := 0; !stop.Load() && ctx.Err() == nil && taken.Add(1) <= int64(requests); n++ {
				begin := time.Now()
				conn, err := perCommand(ctx, caller, n)
				elapsed := time.Since(begin)
				if conn != nil {
					err = errors.Join(err, conn.Close())
				}
				if err == nil || ctx.Err() == nil {
					m.record(caller, elapsed, err)
				}
				if done.Add(1); err == nil {
					failures = 0
					continue
				}
				// Without ports, or without a server, more of the same shows nothing new.
				if failures++; failures >= hopeless || errors.Is(err, syscall.EADDRNOTAVAIL) {
					stop.Store(true)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		callers.Wait()
		close(ended)
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-tick.C:
			elapsed := time.Since(start)
			stop.Store(stop.Load() || elapsed >= o.MaxRowTime)
			share := float64(done.Load()) / float64(requests)
			o.Progress.Send(Event{Phase: phase, Elapsed: max(elapsed, time.Duration(share*float64(o.MaxRowTime))), Total: o.MaxRowTime})
		}
	}
	s := spent{wall: time.Since(start), known: known}
	userNow, systemNow, known := processCPU()
	s.user, s.system, s.known = userNow-user, systemNow-system, s.known && known
	return s
}

// layers measures each layer of opening a conn on conns of its own, one after the
// other, so that none waits for another.
func (c *connectRun) layers(ctx context.Context, cfg evenkeel.Config, row *ConnectRow) error {
	lanes(&cfg, 1, 0, 0)
	times := map[string][]float64{}
	add := func(layer string, d time.Duration) { times[layer] = append(times[layer], micros(d)) }
	if cfg.TLS != nil {
		cfg.TLS.ClientSessionCache = nil
	}
	for n := range layerTries {
		if err := c.layer(ctx, cfg, n, add); err != nil {
			return err
		}
	}
	if cfg.TLS != nil {
		cfg.TLS = cfg.TLS.Clone()
		cfg.TLS.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		for range layerTries {
			conn, t, err := timedDial(ctx, cfg)
			if err != nil {
				return err
			}
			if t.Resumed {
				add(LayerTLSResumed, t.TLS)
			}
			if err := conn.Close(); err != nil {
				return err
			}
		}
	}
	for layer, all := range times {
		slices.Sort(all)
		row.LayersUs[layer] = all[len(all)/2]
	}
	return nil
}

func (c *connectRun) layer(ctx context.Context, cfg evenkeel.Config, n int, add func(string, time.Duration)) (err error) {
	conn, t, err := timedDial(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	add(LayerTCP, t.Connect)
	if cfg.TLS != nil {
		add(LayerTLSFull, t.TLS)
	}
	begin := time.Now()
	if err := conn.Do(ctx, c.command(0, n)...).Err(); err != nil {
		return err
	}
	add(LayerFirstCommand, time.Since(begin))
	if cfg.Password == "" {
		return nil
	}
	// Logging in once more is the same work for the server, and a round trip of its own.
	login := []any{"AUTH", cfg.Password}
	if cfg.Username != "" {
		login = []any{"AUTH", cfg.Username, cfg.Password}
	}
	begin = time.Now()
	switch err := conn.Do(ctx, login...).Err(); {
	case evenkeel.ServerSaid(err): // it has no password, and HELLO took this one all the same
		return nil
	case err != nil:
		return err
	}
	add(LayerAuth, time.Since(begin))
	return nil
}
