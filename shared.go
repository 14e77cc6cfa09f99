package evenkeel

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/wire"
	"github.com/evenkeel-go/evenkeel/pool"
)

const (
	// A shared conn that owes fewer than few replies, or at least many of them and fewer than spill, takes the next call; in
	// between, callers spread to a conn that owes less. Eight callers do better on two conns, where client and server work at
	// once; with 64 one conn makes larger batches, and a batch is worth more than a second conn. Measured in pairs: with 8
	// callers a fourth more throughput than on one conn, with 64, 250 and 1000 the same; 2 to 4 and 12 to 16 differ little.
	few   = 3
	many  = 12
	spill = 256
	// growAt is how many replies a conn may owe before another is opened beforehand, so that it is there when it is needed.
	growAt = 2
)

// sharedLane keeps the few conns that all callers pipeline on. Each is a lease of the lane's own pool, so that dialing, budget
// and backoff are the pool's; the lane only decides which conn a call takes and when another is wanted.
type sharedLane struct {
	c    *Client
	pool *pool.Pool[*wire.Conn]

	conns atomic.Pointer[[]*wire.Conn] // copied on write; what pick chooses from
	grown atomic.Bool                  // no further conn is wanted for now

	mu      sync.Mutex
	leases  map[*wire.Conn]sharedConn // retired conns included, until they are drained
	filling *filling                  // the conn being got, nil when none is
	timer   *time.Timer
	ctx     context.Context //nolint:containedctx // ends what the lane's own goroutine waits for when the client closes
	cancel  context.CancelFunc
	closed  bool
}

// sharedConn is what the lane keeps of a conn.
type sharedConn struct {
	lease    pool.Lease[*wire.Conn]
	retireAt time.Time // zero: never
}

// filling is one attempt to get a conn, which any number of callers wait for.
type filling struct {
	done chan struct{}
	err  error
}

func newSharedLane(c *Client, p *pool.Pool[*wire.Conn]) *sharedLane {
	l := &sharedLane{c: c, pool: p, leases: map[*wire.Conn]sharedConn{}}
	l.conns.Store(new([]*wire.Conn))
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.timer = time.AfterFunc(time.Hour, l.housekeep)
	l.timer.Stop()
	return l
}

// pick chooses a conn for a call: the first that is nearly idle or makes good batches, else the one that owes least. Nil: none
// is fit.
func (l *sharedLane) pick() *wire.Conn {
	var (
		conns = *l.conns.Load()
		best  *wire.Conn
		least int
	)
	for _, conn := range conns {
		if !conn.Usable() {
			continue
		}
		owed := conn.Owed()
		if owed < few || conn.Crowd() >= many && owed < spill {
			return conn
		}
		if best == nil || owed < least {
			best, least = conn, owed
		}
	}
	return best
}

// replied is told that a conn has just answered a call, and opens another conn when much is owed on it still. Only a conn that
// answers says that there is load: one on which replies pile up because the server is silent must cause no dial.
func (l *sharedLane) replied(conn *wire.Conn) {
	if conn.Owed() >= growAt && !l.grown.Load() && !l.grown.Swap(true) { // until the next look around: one attempt at a time
		l.fill()
	}
}

// waitedFor is the error of a fill, which may have begun before a caller came, as that caller's own.
func waitedFor(err error, waited time.Duration) error {
	if e, ok := err.(*pool.AcquireError); ok { //nolint:errorlint // as the pool returned it
		own := *e
		own.Waited = min(e.Waited, waited)
		return &own
	}
	return err
}

// get is pick for a caller that can wait: for the first conn, or for one that works again.
func (l *sharedLane) get(ctx context.Context, timeout time.Duration) (*wire.Conn, error) {
	if conn := l.pick(); conn != nil {
		return conn, nil
	}
	start := time.Now()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, wire.ErrTimeout)
		defer cancel()
	}
	for {
		f := l.fill()
		select {
		case <-f.done:
			if f.err != nil {
				return nil, waitedFor(f.err, time.Since(start))
			}
		case <-ctx.Done():
			// More than "deadline exceeded": why was there no conn all that time?
			st := l.pool.Stat()
			err := &pool.AcquireError{Err: pool.ErrAcquireTimeout, Context: context.Cause(ctx), Cause: st.LastDialError, Stat: st, Waited: time.Since(start)}
			if errors.Is(ctx.Err(), context.Canceled) {
				err.Err = context.Canceled
			}
			return nil, err
		}
		if conn := l.pick(); conn != nil {
			return conn, nil
		}
	}
}

// fill starts getting another conn, unless that is under way already, and returns what to wait for.
func (l *sharedLane) fill() *filling {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fillLocked()
}

func (l *sharedLane) fillLocked() *filling {
	switch {
	case l.filling != nil:
		return l.filling
	case !l.closed && l.c.start(l.acquire):
		l.filling = &filling{done: make(chan struct{})}
		return l.filling
	default:
		f := &filling{done: make(chan struct{}), err: ErrClosed}
		close(f.done)
		return f
	}
}

// acquire gets one conn of the pool and puts it to use.
func (l *sharedLane) acquire() {
	lease, err := l.pool.Acquire(l.ctx)
	for err == nil && lease.Value().Err() != nil { // it broke while it was idle
		_ = lease.Discard(pool.ReasonError)
		lease, err = l.pool.Acquire(l.ctx)
	}
	var discard pool.Reason // outside the lock: the pool calls hooks
	l.mu.Lock()
	f := l.filling
	l.filling = nil
	switch {
	case err != nil:
		f.err = err
	case l.closed:
		f.err, discard = ErrClosed, pool.ReasonShutdown
	case lease.Value().Err() != nil: // lost was called before there was anything to lose
		discard = closeReason(lease.Value().Err())
	default:
		l.installLocked(lease)
	}
	l.mu.Unlock()
	close(f.done)
	if discard != pool.ReasonUnknown {
		_ = lease.Discard(discard)
	}
}

// installLocked adds a conn, in the place of one that is too old, if there is one. When it is one too many, a stalled one, or else
// the oldest, makes room.
func (l *sharedLane) installLocked(lease pool.Lease[*wire.Conn]) {
	conn := lease.Value()
	l.leases[conn] = sharedConn{lease, l.retireAt()}
	conns := slices.Clone(*l.conns.Load())
	out := slices.IndexFunc(conns, l.tooOldLocked)
	if len(conns) >= l.c.cfg.SharedConns {
		if i := slices.IndexFunc(conns, (*wire.Conn).Stalled); i >= 0 {
			out = i
		}
		out = max(out, 0)
	}
	if out >= 0 {
		defer l.retireLocked(conns[out], pool.ReasonLifetime)
		conns = slices.Delete(conns, out, out+1)
	}
	conns = append(conns, conn)
	l.conns.Store(&conns)
	l.grown.Store(len(conns) >= l.c.cfg.SharedConns)
	l.timer.Reset(l.lookEvery())
}

// retireLocked gives a conn that is no longer in conns back when nothing is owed on it. One that has stalled may still answer;
// if it does not, whoever watches the stalled ones closes it.
func (l *sharedLane) retireLocked(conn *wire.Conn, reason pool.Reason) {
	held, ok := l.leases[conn]
	if !ok {
		return
	}
	lease := held.lease
	go conn.AfterDrain(func(err error) { // on its own goroutine, for AfterDrain may call back at once
		l.mu.Lock()
		delete(l.leases, conn)
		l.mu.Unlock()
		if err != nil {
			reason = closeReason(err)
		}
		_ = lease.Discard(reason)
	})
}

// makeWay gives the probe a place when all of the lane's places are taken: a conn that has been replaced already, and has stalled
// since, is of no more use to anybody.
func (l *sharedLane) makeWay() {
	l.mu.Lock()
	var useless *wire.Conn
	if len(l.leases) > l.c.cfg.SharedConns {
		for conn := range l.leases {
			if conn.Stalled() && !slices.Contains(*l.conns.Load(), conn) {
				useless = conn
				break
			}
		}
	}
	l.mu.Unlock()
	if useless != nil {
		useless.Close(wire.ErrStalled) // lost gives its place back
	}
}

// lost takes out a conn that has failed.
func (l *sharedLane) lost(conn *wire.Conn, err error) {
	l.mu.Lock()
	l.removeLocked(conn)
	held, ok := l.leases[conn]
	delete(l.leases, conn)
	l.mu.Unlock()
	if ok {
		_ = held.lease.Discard(closeReason(err))
	}
}

func (l *sharedLane) removeLocked(conn *wire.Conn) {
	conns := make([]*wire.Conn, 0, l.c.cfg.SharedConns)
	for _, c := range *l.conns.Load() {
		if c != conn {
			conns = append(conns, c)
		}
	}
	l.conns.Store(&conns)
	l.grown.Store(len(conns) >= l.c.cfg.SharedConns)
}

// recovered wakes the callers that wait for a conn: one that had stalled works again.
func (l *sharedLane) recovered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.filling != nil {
		// Whoever waits looks again; the attempt goes on under another name.
		close(l.filling.done)
		l.filling = &filling{done: make(chan struct{})}
	}
}

// retireAt draws when a conn that is opened now is to be replaced.
func (l *sharedLane) retireAt() time.Time {
	life := l.c.cfg.MaxConnLifetime
	if life == 0 {
		return time.Time{}
	}
	return time.Now().Add(life - time.Duration(rand.Int64N(int64(life)/10+1)))
}

func (l *sharedLane) tooOldLocked(conn *wire.Conn) bool {
	at := l.leases[conn].retireAt
	return !at.IsZero() && time.Now().After(at)
}

// lookEvery is the interval of the lane's housekeeping.
func (l *sharedLane) lookEvery() time.Duration {
	if l.c.cfg.PingInterval > 0 {
		return l.c.cfg.PingInterval
	}
	return time.Second
}

// housekeep pings conns that are idle, and lets go of those that are idle for too long or too old. It runs while there are any.
func (l *sharedLane) housekeep() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	var ping []*wire.Conn
	for _, conn := range *l.conns.Load() {
		idle := conn.IdleFor()
		switch {
		case l.c.cfg.MaxConnIdleTime > 0 && idle > l.c.cfg.MaxConnIdleTime:
			l.removeLocked(conn)
			l.retireLocked(conn, pool.ReasonIdle)
		case l.tooOldLocked(conn):
			l.fillLocked() // its successor first: installLocked retires it
		case l.c.cfg.PingInterval > 0 && idle >= l.c.cfg.PingInterval:
			ping = append(ping, conn)
		}
	}
	conns := *l.conns.Load()
	l.grown.Store(len(conns) >= l.c.cfg.SharedConns)
	if len(conns) > 0 {
		l.timer.Reset(l.lookEvery())
	}
	l.mu.Unlock()
	for _, conn := range ping {
		conn.Ping()
	}
}

// close lets the calls under way end, within ctx, and closes the conns.
func (l *sharedLane) close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.timer.Stop()
	conns := make([]*wire.Conn, 0, len(l.leases))
	for conn := range l.leases {
		conns = append(conns, conn)
	}
	l.conns.Store(new([]*wire.Conn))
	l.mu.Unlock()
	l.cancel()

	var err error
	for _, conn := range conns {
		drained := make(chan struct{})
		conn.AfterDrain(func(error) { close(drained) })
		select {
		case <-drained:
		case <-ctx.Done():
			err = ctx.Err()
		}
		conn.Close(wire.ErrClosed)
		l.lost(conn, wire.ErrClosed)
	}
	if perr := closePool(ctx, l.pool); err == nil {
		err = perr
	}
	return err
}
