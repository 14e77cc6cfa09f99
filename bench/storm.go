package bench

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

const (
	stormSettle  = 5 * time.Second // for calls, conns and goroutines to end after the load
	stormCleanup = 5 * time.Second // for keys to be removed
	stormSpare   = 1000            // conns that a private server can take beyond the plan
)

// Storm has callers call through a fault and counts what they and the server's
// side of the network see. The client is an ordinary one with its defaults but
// for the pool's size and its limit of conns, which is Size exclusive conns, two
// shared ones, and one to probe a server that has stalled.
//
// All conns go through a relay of its own, which counts and time-stamps them:
// a server that is frozen or gone counts nothing. Refused dials never get that
// far, and are counted where the client dials.
//
// It returns what it has with ctx's error when ctx ends, and an error without a
// result when there was nothing to measure. However it ends, the private server
// is stopped, a given one has its keys removed and is left to run.
func Storm(ctx context.Context, o StormOptions) (*StormResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &stormRun{o: o, result: NewStormResult(NewEnvironment(time.Now()), o)}
	s.result.Params.MaxConns = o.maxConns()
	defer s.close()
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	err := s.run(ctx)
	s.result.Interrupted = err != nil
	s.result.Judge()
	return s.result, err
}

// stormRun is one run of Storm.
type stormRun struct {
	o      StormOptions
	result *StormResult

	server *evenkeeltest.Server // nil: a given one
	target evenkeel.Config      // of the server itself
	relay  *evenkeeltest.Relay
	dials  dialCount
	load   *stormLoad
	begin  time.Time    // when the load began
	marks  [4]time.Time // when the phases began, and when the last one ended
	cut    time.Time    // when the fault had come
	healed time.Time    // when the fault itself was over
}

// open starts the server, the relay and what else belongs to the set-up rather
// than to the client under test.
func (s *stormRun) open(ctx context.Context) error {
	env := &s.result.Environment
	if s.o.Target.Private() {
		var options []evenkeeltest.Option
		if conns := s.o.Plan().Conns + stormSpare; conns > 10_000 { // the server's own default
			options = append(options, evenkeeltest.WithMaxClients(conns))
		}
		server, err := evenkeeltest.Launch(ctx, options...)
		if err != nil {
			return err
		}
		s.server, s.target = server, evenkeel.DefaultConfig(server.Addr())
		env.ServerKind = ServerPrivate
	} else {
		s.target = s.o.Target.config()
		env.ServerKind, env.Address = ServerGiven, s.o.Target.String()
	}
	control, err := s.control(ctx)
	if err != nil {
		return err
	}
	info := control.Info()
	_ = control.Close()
	env.Server, env.ServerVersion = info.Server, info.Version
	s.relay, err = evenkeeltest.NewRelay(evenkeeltest.RelayConfig{Dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, s.target.Network, s.target.Addr)
	}})
	return err
}

// control opens a conn to the server itself, for faults and for cleaning up.
func (s *stormRun) control(ctx context.Context) (*evenkeel.Conn, error) {
	cfg := s.target
	cfg.CommandTimeout, cfg.StallTimeout = evenkeel.Disabled, evenkeel.Disabled // a fault outlasts them; contexts bound it
	return evenkeel.Dial(ctx, cfg)
}

// close takes down whatever is still up.
func (s *stormRun) close() {
	if s.relay != nil {
		_ = s.relay.Close()
	}
	if s.server != nil {
		_ = s.server.Close()
	}
}

// client makes the client under test. It dials the relay; its address stays the server's, for which the certificate is.
func (s *stormRun) client() (*evenkeel.Client, error) {
	cfg := s.target
	cfg.SharedConns, cfg.Size, cfg.Overflow, cfg.MaxBlocking = stormShared, s.o.Size, 0, 0
	cfg.MaxConns = s.o.maxConns()
	cfg.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		s.dials.began()
		var d net.Dialer
		return d.DialContext(ctx, "tcp", s.relay.Addr())
	}
	cfg.Hooks.OnDial = s.dials.ended
	cfg.Governor = evenkeel.NewGovernor(0) // the process's own clients, if any, keep theirs
	return evenkeel.New(cfg)
}

// run is the measurement: the client's life, the phases of the load, the result.
func (s *stormRun) run(ctx context.Context) error {
	s.result.GoroutinesBefore = countGoroutines()
	client, err := s.client()
	if err != nil {
		return err
	}
	s.load = newStormLoad(client, s.o)
	sampler := startSampler(s.load, &s.dials, sampleEvery(s.o))
	s.begin = s.load.start()
	s.marks[0] = s.begin
	err = s.phases(ctx)
	s.load.stop()
	if s.marks[3].IsZero() {
		s.marks[3] = time.Now()
	}
	samples := sampler.stop()

	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), stormSettle)
	defer cancel()
	closeErr := client.Close(settle)
	s.result.GoroutinesAfter = s.goroutines(settle)
	s.count(samples)
	return errors.Join(err, closeErr, s.cleanUp(ctx))
}

// phases has the load run, and the fault come and go.
func (s *stormRun) phases(ctx context.Context) error {
	if err := s.wait(ctx, PhaseBefore, s.o.Before); err != nil {
		return err
	}
	fault, err := newStormFault(ctx, s)
	if err != nil {
		return err
	}
	defer fault.close()
	s.marks[1] = time.Now()
	s.load.phase.Store(1)
	if err := fault.begin(ctx); err != nil {
		return errors.Join(err, fault.end(ctx))
	}
	s.cut = time.Now()
	err = s.wait(ctx, PhaseDuring, s.o.During)
	// Whatever happened: no server is left frozen.
	if err := errors.Join(err, fault.end(ctx)); err != nil {
		return err
	}
	s.marks[2] = time.Now()
	s.load.phase.Store(2)
	if s.healed = s.marks[2]; s.o.Fault == FaultKill {
		s.healed = s.marks[1] // a kill is over at once
	}
	err = s.wait(ctx, PhaseAfter, s.o.After)
	s.marks[3] = time.Now()
	return err
}

// wait lets a phase go on, with progress.
func (s *stormRun) wait(ctx context.Context, phase string, total time.Duration) error {
	wait(ctx, s.o.Progress, phase, total)
	return ctx.Err()
}

// goroutines waits until the relay has seen the last conn closed, and its own
// goroutines with it, and counts what is left.
func (s *stormRun) goroutines(ctx context.Context) int {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		n := countGoroutines()
		if n <= s.result.GoroutinesBefore {
			return n
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return n
		}
	}
}

// countGoroutines says how many goroutines there are. The runtime's own count is
// off by some dozens for a moment while it moves finished goroutines from one of
// its lists to another, so two looks have to agree.
func countGoroutines() int {
	for last := runtime.NumGoroutine(); ; {
		runtime.Gosched()
		now := runtime.NumGoroutine()
		if now == last {
			return now
		}
		last = now
	}
}

// cleanUp removes the keys from a given server; a private one goes as a whole.
func (s *stormRun) cleanUp(ctx context.Context) error {
	if s.server != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stormCleanup)
	defer cancel()
	control, err := s.control(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = control.Close() }()
	p := control.Pipeline()
	for i := range s.o.Callers {
		p.Do("DEL", stormKey(i))
	}
	_, err = p.Exec(ctx)
	return err
}

// dialCount counts dials where the client makes them.
type dialCount struct {
	underWay atomic.Int64
	max      atomic.Int64 // most under way since the last look
	failed   atomic.Int64 // dials that never reached the relay
}

func (d *dialCount) began() {
	n := d.underWay.Add(1)
	for {
		most := d.max.Load()
		if n <= most || d.max.CompareAndSwap(most, n) {
			return
		}
	}
}

func (d *dialCount) ended(e evenkeel.DialEvent) {
	d.underWay.Add(-1)
	var refused *net.OpError
	if errors.As(e.Err, &refused) && refused.Op == "dial" {
		d.failed.Add(1)
	}
}

// take returns the most dials under way since it was called last.
func (d *dialCount) take() int {
	return int(max(d.max.Swap(0), d.underWay.Load()))
}
