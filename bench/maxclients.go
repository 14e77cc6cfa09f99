package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

const (
	// newcomerWait is how long a newcomer listens for what the server says.
	newcomerWait = 2 * time.Second
	// knockRest is the rest between two tries to enter.
	knockRest = time.Millisecond
	// reservedPings is how many PINGs are timed over the reserved conn.
	reservedPings = 50
)

// MaxClients fills a server up to its limit of clients, and looks at what those see
// who come later, those who were there before, and an Evenkeel client; then it makes
// room and measures how soon each is served again. Cancelled, it returns what it has
// together with the context's error. Errors are an [OptionError], a [CapacityError],
// or say why the server could not be used.
func MaxClients(ctx context.Context, o MaxClientsOptions) (*MaxClientsResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := openServer(ctx, o.Target, wants{
		cluster: true,
		plan:    o.Plan(), disturb: true, progress: o.Progress,
		options: []evenkeeltest.Option{evenkeeltest.WithMaxClients(o.Limit)},
	})
	if err != nil {
		return nil, err
	}
	run := maxClientsRun{server: s, options: o, result: NewMaxClientsResult(s.env, o)}
	if err := run.limits(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	err = run.run(ctx)
	run.result.Interrupted = ctx.Err() != nil
	return run.result, errors.Join(err, run.empty(), s.close())
}

// maxClientsRun is one run of MaxClients.
type maxClientsRun struct {
	server  *server
	options MaxClientsOptions
	result  *MaxClientsResult
	conns   []*evenkeel.Conn
	turned  int64 // clients that the server had turned away before
}

// limits learns what bounds the server's clients, and checks that the run's conns
// fit on this side.
func (r *maxClientsRun) limits(ctx context.Context) error {
	s, o := r.server, r.options
	r.turned, _ = r.rejected(ctx) // 0: it does not say
	limit, err := s.maxClients(ctx)
	if err != nil {
		limit = o.Limit // and no more are opened, whatever it has
	} else {
		r.result.Limits.Effective = &limit
	}
	if s.private != nil {
		r.result.Limits.Asked = &o.Limit
		if n, ok := processDescriptors(s.private.PID()); ok {
			r.result.Limits.Descriptors = &n
		}
	} else if limit > o.Limit {
		return &OptionError{Option: "limit", Problem: fmt.Sprintf("the server takes %d clients (its maxclients); give --limit %d to fill it all the same", limit, limit)}
	}
	if here, known := descriptorLimit(); known {
		return fitsHere(limit+o.Attempts, here)
	}
	return nil
}

// processDescriptors is a process's limit of file descriptors, where the system has
// a file that says so.
func processDescriptors(pid int) (int64, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Max open files"); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				n, err := strconv.ParseInt(fields[0], 10, 64)
				return n, err == nil
			}
		}
	}
	return 0, false
}

// rejected is how many conns the server has turned away.
func (r *maxClientsRun) rejected(ctx context.Context) (int64, error) {
	fields, err := r.server.watch.info(ctx, "stats")
	if err != nil {
		return 0, err
	}
	n, err := intField(fields, "rejected_connections")
	return int64(n), err
}

func (r *maxClientsRun) run(ctx context.Context) error {
	if err := r.fill(ctx); err != nil {
		return err
	}
	r.options.Progress.Send(Event{Phase: "a newcomer"})
	newcomer := r.newcomer(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.result.Newcomer = &newcomer
	if err := r.reserved(ctx); err != nil {
		return err
	}
	return r.client(ctx)
}

func (r *maxClientsRun) config() evenkeel.Config {
	cfg := r.server.config(false, false)
	cfg.ClientName = clientName
	lanes(&cfg, 1, 0, 0)
	return cfg
}

// fill opens conns until the server turns one away, and then tries some more.
func (r *maxClientsRun) fill(ctx context.Context) error {
	o, cfg := r.options, r.config()
	ramp := &MaxClientsRamp{Before: r.server.watch.others}
	accepted, refused := NewLatency(), NewLatency()
	most := o.Limit
	o.Progress.Send(Event{Phase: "filling the server", Total: time.Duration(most) * time.Millisecond})
	var first error
	for ctx.Err() == nil && len(r.conns) < most+o.Attempts && ramp.Refused < o.Attempts && ramp.Failed < hopeless {
		begin := time.Now()
		conn, err := evenkeel.Dial(ctx, cfg)
		elapsed := time.Since(begin)
		switch {
		case err == nil:
			r.conns = append(r.conns, conn)
			accepted.Record(elapsed)
		case ctx.Err() != nil:
		case turnedAway(err):
			if ramp.Refused++; ramp.RefuseText == "" {
				ramp.RefuseText = err.Error()
			}
			refused.Record(elapsed)
		default:
			if ramp.Failed++; first == nil {
				first = err
			}
		}
		o.Progress.Send(Event{Phase: "filling the server", Elapsed: time.Duration(len(r.conns)) * time.Millisecond, Total: time.Duration(most) * time.Millisecond})
	}
	ramp.Accepted = len(r.conns)
	ramp.AcceptP50Us, ramp.AcceptP99Us = accepted.QuantileUs(0.5), accepted.QuantileUs(0.99)
	ramp.RefuseP50Us, ramp.RefuseMaxUs = refused.QuantileUs(0.5), refused.MaxUs()
	r.result.Ramp = ramp
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case ramp.Refused == 0 && first != nil:
		return fmt.Errorf("the server could not be filled: %w", first)
	case ramp.Refused == 0:
		return fmt.Errorf("the server turned none of %d connections away: its limit is higher than --limit, and it does not say so", len(r.conns))
	default:
		return nil
	}
}

// newcomer connects as redis-cli does, and listens.
func (r *maxClientsRun) newcomer(ctx context.Context) (n MaxClientsNewcomer) {
	cfg := r.config()
	begin := time.Now()
	defer func() { n.AfterUs = micros(time.Since(begin)) }()
	ctx, cancel := context.WithTimeout(ctx, newcomerWait)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, cfg.Network, cfg.Addr)
	if err != nil {
		n.Ended = err.Error()
		return n
	}
	n.Connected = true
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		if stop() {
			_ = conn.Close()
		}
	}()
	// The server has spoken before it is asked anything, in plain text even where it
	// speaks TLS.
	line, err := bufio.NewReader(io.LimitReader(conn, 1<<10)).ReadString('\n')
	n.Said = strings.TrimSpace(line)
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	switch {
	case ctx.Err() != nil, err == nil:
		n.Ended = "open"
	case errors.Is(err, syscall.ECONNRESET):
		n.Ended = "reset"
	default:
		n.Ended = "closed"
	}
	return n
}

// reserved looks through the conn that was opened beforehand.
func (r *maxClientsRun) reserved(ctx context.Context) error {
	w := r.server.watch
	pings := NewLatency()
	for range reservedPings {
		if err := w.ping(ctx, pings); err != nil {
			return err
		}
	}
	seen := &MaxClientsReserved{PingP50Us: pings.QuantileUs(0.5)}
	var err error
	if seen.Clients, err = w.openNow(ctx); err != nil {
		return err
	}
	if list, err := w.clients(ctx); err == nil {
		seen.Listed = len(list)
	}
	if n, err := r.rejected(ctx); err == nil {
		n -= r.turned
		seen.Rejected = &n
	}
	r.result.Reserved = seen
	return nil
}

// fullClient is an Evenkeel client with its callers, at a server that is full.
type fullClient struct {
	client *evenkeel.Client
	crew   *crew
	dials  atomic.Int64

	mu     sync.Mutex
	times  *Latency
	served int64
	last   error
	first  time.Time // of the calls that were served
	ready  chan struct{}
}

// call is one call, and the rest after it when it has failed.
func (f *fullClient) call(ctx context.Context, _ int) {
	begin := time.Now()
	err := f.client.Ping(ctx)
	elapsed := time.Since(begin)
	if ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.times.Record(elapsed)
		f.last = err
		return
	}
	if f.served++; f.served == 1 {
		f.first = time.Now()
		close(f.ready)
	}
}

// client lets an Evenkeel client with its default settings find the server full, and
// then makes room.
func (r *maxClientsRun) client(ctx context.Context) (err error) {
	o := r.options
	f := &fullClient{times: NewLatency(), ready: make(chan struct{})}
	cfg := r.server.config(false, false)
	cfg.MaxRetries = evenkeel.DefaultMaxRetries
	cfg.Hooks.OnDial = func(evenkeel.DialEvent) { f.dials.Add(1) }
	if f.client, err = evenkeel.New(cfg); err != nil {
		return err
	}
	f.crew = muster(ctx, o.Callers, knockRest, f.call)
	defer func() {
		f.crew.dismiss()
		closing, cancel := afterwards(ctx)
		defer cancel()
		err = errors.Join(err, f.client.Close(closing))
	}()
	wait(ctx, o.Progress, "an Evenkeel client at a full server", o.Watch)
	f.mu.Lock()
	c := &MaxClientsClient{
		Calls: f.times.Count() + f.served, Served: f.served, FailP50Us: f.times.QuantileUs(0.5), FailMaxUs: f.times.MaxUs(), Dials: f.dials.Load(),
	}
	if f.last != nil {
		c.Error = f.last.Error()
	}
	f.mu.Unlock()
	r.result.Client = c
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return r.recover(ctx, f)
}

// recover closes the run's conns and measures how soon others enter.
func (r *maxClientsRun) recover(ctx context.Context, f *fullClient) error {
	o := r.options
	o.Progress.Send(Event{Phase: "making room", Total: o.Recover})
	waiting, cancel := context.WithTimeout(ctx, o.Recover)
	defer cancel()
	begin := time.Now()
	entered := make(chan *float64, 1)
	go func() { entered <- r.knock(waiting, begin) }()
	err := r.empty()
	back := &MaxClientsRecovery{ClosedMs: time.Since(begin).Seconds() * 1000}
	back.NewcomerMs = <-entered
	select {
	case <-f.ready:
		f.mu.Lock()
		ms := max(f.first.Sub(begin).Seconds(), 0) * 1000
		f.mu.Unlock()
		back.ClientMs = &ms
	case <-waiting.Done():
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.result.Recovery = back
	return err
}

// knock tries to enter until it is let in, and returns how long that took since
// begin, in ms; nil when ctx ended before.
func (r *maxClientsRun) knock(ctx context.Context, begin time.Time) *float64 {
	cfg := r.config()
	for {
		conn, err := evenkeel.Dial(ctx, cfg)
		if err == nil {
			ms := time.Since(begin).Seconds() * 1000
			_ = conn.Close() // it has done its work
			return &ms
		}
		if !pause(ctx, knockRest) {
			return nil
		}
	}
}

// empty closes the conns that fill the server.
func (r *maxClientsRun) empty() error {
	var errs []error
	for _, conn := range r.conns {
		errs = append(errs, conn.Close())
	}
	r.conns = nil
	return errors.Join(errs...)
}
