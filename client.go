package evenkeel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/governor"
	"github.com/evenkeel-go/evenkeel/internal/wire"
	"github.com/evenkeel-go/evenkeel/pool"
)

// Version of this module, as CLIENT LIST shows it on servers that have lib-ver.
const Version = "0.1.0"

const libName = "evenkeel"

// backoffYoungCap keeps dials of a young outage at most so far apart (the governor lets it grow with the outage, to 10 s): a
// server that was away for seconds must not be missed for as long again.
const backoffYoungCap = time.Second

// A Client speaks to one endpoint. All its methods may be called concurrently. Make one per endpoint and process, keep it, and
// Close it at the end.
type Client struct {
	cfg      Config
	log      *slog.Logger
	endpoint *governor.Endpoint
	budget   *pool.Budget

	shared    *sharedLane
	exclusive *pool.Pool[*wire.Conn] // nil when Size and Overflow are 0
	blocking  *pool.Pool[*wire.Conn] // nil when MaxBlocking is 0

	retryBudget *governor.RetryBudget
	stalled     stalledConns
	dialing     atomic.Pointer[dialPhase]

	retries     atomic.Uint64
	stalls      atomic.Uint64
	probes      atomic.Uint64
	lostReplies atomic.Uint64

	mu     sync.Mutex    // held to close closed, and to start a task
	closed chan struct{} // closed when Close begins
	tasks  sync.WaitGroup
}

// Open is ParseURL and New.
func Open(url string) (*Client, error) {
	cfg, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	return New(cfg)
}

// New makes a client. It opens nothing but MinIdleConns, in the background: an endpoint that is down shows itself at the first
// call. The error says which fields are out of bounds.
func New(cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, log: cfg.Logger, closed: make(chan struct{}), retryBudget: governor.NewRetryBudget()}
	if c.log == nil {
		c.log = slog.Default()
	}
	for _, w := range cfg.warnings() {
		c.log.Warn("evenkeel: unwise setting", "endpoint", cfg.Addr, "warning", w)
	}
	gov := cfg.Governor
	if gov == nil {
		gov = defaultGovernor
	}
	c.endpoint = gov.g.Endpoint(governor.EndpointConfig{
		Name: cfg.Addr, CreateBurst: noneIfZero(cfg.CreateBurst, governor.NoBurst), CreateInterval: noneIfZero(cfg.CreateInterval, governor.Unlimited),
		YoungCap: backoffYoungCap,
	})
	c.budget = pool.NewBudget(cfg.MaxConns)
	if err := c.makeLanes(); err != nil {
		return nil, err
	}
	return c, nil
}

// noneIfZero translates the literal zeros of Config to the governor's explicit ones.
func noneIfZero[N int | time.Duration](value, none N) N {
	if value == 0 {
		return none
	}
	return value
}

func (c *Client) makeLanes() error {
	// One more than SharedConns: the place of the probe that finds out whether a stalled endpoint answers.
	shared, err := pool.New(c.poolConfig(LaneShared, c.cfg.SharedConns+1, 0))
	if err != nil {
		return err
	}
	c.shared = newSharedLane(c, shared)
	if c.cfg.Size+c.cfg.Overflow > 0 {
		p := c.poolConfig(LaneExclusive, c.cfg.Size, c.cfg.Overflow)
		p.MinIdleConns = c.cfg.MinIdleConns
		p.AcquireTimeout = c.cfg.AcquireTimeout
		if c.cfg.LeakThreshold > 0 {
			p.LeakThreshold = c.cfg.LeakThreshold
			p.OnLeak = func(stack string, held time.Duration) {
				c.connEvent(ConnEvent{Kind: ConnLeak, Lane: LaneExclusive, Elapsed: held, Stack: stack})
			}
		}
		if c.exclusive, err = pool.New(p); err != nil {
			return err
		}
	}
	if c.cfg.MaxBlocking > 0 {
		// A size, not an overflow: fifty workers that start together need no tokens. They leave when idle.
		if c.blocking, err = pool.New(c.poolConfig(LaneBlocking, c.cfg.MaxBlocking, 0)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) poolConfig(lane Lane, size, overflow int) pool.Config[*wire.Conn] {
	p := pool.Config[*wire.Conn]{
		Dial:  func(ctx context.Context) (*wire.Conn, error) { return c.dial(ctx, lane) },
		Close: func(conn *wire.Conn, reason pool.Reason) { c.closeConn(conn, lane, reason) },
		Err:   (*wire.Conn).Err,
		Check: (*wire.Conn).Alive,
		Ping:  (*wire.Conn).Ping,
		Size:  size, Overflow: overflow,
		OverflowDrain: c.cfg.OverflowDrain, MaxConnIdleTime: c.cfg.MaxConnIdleTime, MaxConnLifetime: c.cfg.MaxConnLifetime,
		ValidateAfter: c.cfg.ValidateAfter, PingInterval: c.cfg.PingInterval, DialTimeout: c.cfg.DialTimeout,
		MaxWaiters: c.cfg.MaxWaiters, EarlyReject: c.cfg.Overload.EarlyReject, CoDel: pool.CoDel{Enabled: c.cfg.Overload.CoDel},
		WaitWhileFailing: c.cfg.WaitWhileDown,
		Endpoint:         c.endpoint, Budget: c.budget,
	}
	if c.cfg.Hooks.OnConn != nil {
		p.OnEvent = func(e pool.Event) {
			if e.Kind == pool.EventOpened {
				c.connEvent(ConnEvent{Kind: ConnOpened, Lane: lane, Elapsed: e.Elapsed})
			}
		}
	}
	return p
}

// closeConn closes a conn for its pool.
func (c *Client) closeConn(conn *wire.Conn, lane Lane, reason pool.Reason) {
	err := conn.Err()
	conn.Close(closeError(reason))
	c.connEvent(ConnEvent{Kind: ConnClosed, Lane: lane, Reason: reason, Elapsed: conn.Age(), Err: err})
}

// closeError is what calls under way on a conn learn when its pool closes it.
func closeError(reason pool.Reason) error {
	if reason == pool.ReasonStall {
		return wire.ErrStalled
	}
	return wire.ErrClosed
}

// closeReason is the reverse: why a conn that failed is given back.
func closeReason(err error) pool.Reason {
	switch {
	case errors.Is(err, wire.ErrStalled):
		return pool.ReasonStall
	case errors.Is(err, wire.ErrClosed):
		return pool.ReasonShutdown
	case errors.Is(err, context.Canceled):
		return pool.ReasonCanceled // by us, because its caller had left: no fault of the endpoint
	default:
		return pool.ReasonError
	}
}

func (c *Client) connEvent(e ConnEvent) {
	if f := c.cfg.Hooks.OnConn; f != nil {
		e.Endpoint = c.cfg.Addr
		f(e)
	}
}

// dialPhase is how far the last dial has come.
type dialPhase struct {
	name  string
	since time.Time
}

// slowPhase is when a phase of a dial is worth a word: what is well takes a few round trips.
const slowPhase = 200 * time.Millisecond

// dialWaits says what a dial that is under way waits for; empty while there is nothing to say.
func (c *Client) dialWaits() string {
	phase := c.dialing.Load()
	if phase == nil {
		return ""
	}
	waited := time.Since(phase.since)
	if waited < slowPhase {
		return ""
	}
	var what string
	switch phase.name {
	case wire.PhaseTLS:
		what = "the TLS handshake: is this a plain port, or is the server frozen?"
	case wire.PhaseHandshake:
		what = "the server's first reply: is it frozen, busy, or no Redis?"
	default:
		what = "the host to accept it: wrong address, a firewall, or a full accept queue"
	}
	return fmt.Sprintf("no dial has failed yet, but one has waited %v for %s", waited.Round(time.Millisecond), what)
}

// dial opens a conn for a lane. The pool calls it, when the governor allows.
func (c *Client) dial(ctx context.Context, lane Lane) (*wire.Conn, error) {
	w := wireConfig(&c.cfg)
	w.OnPhase = func(phase string) { c.dialing.Store(&dialPhase{name: phase, since: time.Now()}) }
	w.Conn.OnStall = func(conn *wire.Conn) { c.stallChanged(conn, lane) }
	w.Conn.OnClose = func(conn *wire.Conn, err error) {
		c.stalled.remove(conn)
		if lane == LaneShared {
			c.shared.lost(conn, err)
		}
	}
	start := time.Now()
	conn, err := wire.Dial(ctx, w)
	if f := c.cfg.Hooks.OnDial; f != nil {
		e := DialEvent{Endpoint: c.cfg.Addr, Lane: lane, Start: start, Duration: time.Since(start), Err: err}
		if err == nil {
			e.Timings = Timings(conn.Info().Timings)
		}
		f(e)
	}
	return conn, err
}

// Ping sends a PING on the shared lane: a bounded round trip to the server itself, fit for a health check.
func (c *Client) Ping(ctx context.Context) error { return c.Do(ctx, "PING").Err() }

// Close ends the client: new calls fail with ErrClosed, those under way may end until ctx does (CommandTimeout when it has no
// deadline, 2 s when that is 0), then they are cut off. Afterwards no conn and no goroutine is left. It returns ctx's error when it had to cut.
// Calling it again waits as well.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	if !c.isClosed() {
		close(c.closed)
	}
	c.mu.Unlock()
	if _, ok := ctx.Deadline(); !ok {
		bound := c.cfg.CommandTimeout
		if bound == 0 {
			bound = DefaultCommandTimeout
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, bound)
		defer cancel()
	}
	var (
		wg   sync.WaitGroup
		errs [3]error
	)
	wg.Go(func() { errs[0] = c.shared.close(ctx) })
	if c.exclusive != nil {
		wg.Go(func() { errs[1] = closePool(ctx, c.exclusive) })
	}
	if c.blocking != nil {
		wg.Go(func() { errs[2] = closePool(ctx, c.blocking) })
	}
	wg.Wait()
	c.tasks.Wait()
	return errors.Join(errs[:]...)
}

// closeGrace is how long Close waits beyond its context for sockets that it has cut to be closed, which takes a moment.
const closeGrace = time.Second

// closePool closes a pool, within ctx as far as its leases go, and until nothing of it is left.
func closePool(ctx context.Context, p *pool.Pool[*wire.Conn]) error {
	err := p.Close(ctx)
	if err == nil {
		return nil
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	_ = p.Close(grace) // err says what was cut
	return err
}

// start runs f on a goroutine that Close waits for. It reports false, and does not, when Close has begun.
func (c *Client) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return false
	}
	c.tasks.Go(f)
	return true
}

func (c *Client) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}
