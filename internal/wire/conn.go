package wire

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// Options are what a Conn needs to know beyond its socket.
type Options struct {
	StallTimeout time.Duration // the oldest reply may be this late before the conn counts as stalled; 0: never
	MaxQueue     int           // replies owed at most; 0: 16384
	MaxQueueSize int           // bytes waiting to be written at most; 0: 16 MiB
	ProbeAfter   time.Duration // a conn without traffic for this long is peeked at before its next use; 0: 1 s
	Limits       resp.Limits   // of a reply

	OnPush  func(*Conn, resp.Value) // an out-of-band message (RESP3 push); called by whoever reads, must not block
	OnStall func(*Conn)             // the conn has stalled, or its replies have come after all (ask Stalled); on its own goroutine
	OnClose func(*Conn, error)      // called once, on its own goroutine, after the socket is closed
}

// virtualYear is later than any moment in a bubble, where time begins with the year 2000, and earlier than any other.
const virtualYear = 2020

const (
	defaultMaxQueue     = 16384
	defaultMaxQueueSize = 16 << 20
	defaultProbeAfter   = time.Second
)

// A Conn is one socket after its handshake. All methods may be called concurrently.
type Conn struct {
	opts Options
	tr   transport
	info Info
	born time.Time

	// virtual says that the conn lives in a bubble of testing/synctest, whose channels must not be used by others: Calls, which
	// come from a process-wide pool, then do not keep theirs.
	virtual bool

	owed  atomic.Int32 // replies owed, tombstones included; changed under mu
	crowd atomic.Int32 // how many were owed when a batch was written lately; changed under mu
	state atomic.Uint32
	woken atomic.Bool // callers have just got their replies, and are about to come again

	mu       sync.Mutex
	wbuf     *[]byte // encoded, not yet written; nil when empty
	spare    *[]byte // the other half of the double buffer
	appended int64   // bytes ever appended to wbuf
	handed   int64   // bytes ever handed to a write, so that they may have reached the server
	written  int64   // those of them that are in no write that is under way
	sent     int64   // bytes of the write under way that have gone since its writer had to wait
	sentSeen int64   // sent when the watch looked last
	first    *Call   // calls that the reader has not yet taken over
	last     *Call
	queued   int // replies that what is in wbuf asks for
	flushing bool
	flusher  *Call // the caller who flushes; nil when a transient goroutine does
	yielding bool  // the flusher lets others append, and may find that one of them has relieved it
	tenure   int64 // counts the flushers
	reading  bool
	look     bool  // the reader must look at what is overdue
	readBy   int64 // the read deadline set; 0: none
	watchAt  int64 // when the watch timer goes off; 0: it is not set
	lastUse  int64
	err      error         // set once: why the conn takes no more
	room     chan struct{} // closed when the queue has room again; nil when nobody waits for that
	drained  []func(error) // called once nothing is owed
	watch    *time.Timer
	closed   chan struct{} // closed when the socket is

	// Owned by the holder of the reader role.
	head   *Call // oldest first
	tail   *Call
	parser resp.Parser
	rbuf   *[]byte
	partly int64 // bytes that have come of a value which is not complete
	seen   int64 // partly when the watch looked last
	trash  resp.Value
	skip   bool // the value in the parser is one that nobody wants
	stray  bool // the value in the parser began when nothing was owed
	// pushing says that the value in the parser is a push, which is no part of any reply.
	pushing bool
}

// Conn states for the owner's choice; the truth about errors is under mu.
const (
	healthy uint32 = iota
	stalled
	broken
)

// Info is what the dial and the handshake learned.
type Info struct {
	ID       int64  // CLIENT ID; 0 when the server would not say
	Protocol int    // 2 or 3
	Server   string // "redis", "valkey", … as HELLO says; empty on RESP2
	Version  string // empty on RESP2
	Timings  Timings
}

// Timings are how long each phase of a dial took; a phase that did not happen took 0.
type Timings struct {
	Resolve, Connect, TLS, Handshake time.Duration
	Resumed                          bool // the TLS session was resumed
}

func newConn(nc net.Conn, opts Options) *Conn {
	if opts.MaxQueue == 0 {
		opts.MaxQueue = defaultMaxQueue
	}
	if opts.MaxQueueSize == 0 {
		opts.MaxQueueSize = defaultMaxQueueSize
	}
	if opts.ProbeAfter == 0 {
		opts.ProbeAfter = defaultProbeAfter
	}
	c := &Conn{opts: opts, tr: newTransport(nc), born: time.Now(), closed: make(chan struct{})}
	c.virtual = c.born.Year() < virtualYear
	c.parser.SetLimits(opts.Limits)
	c.watch = time.AfterFunc(time.Hour, c.onWatch)
	c.watch.Stop()
	return c
}

// now is nanoseconds since the conn was born: one clock reading, no wall clock.
func (c *Conn) now() int64 { return int64(time.Since(c.born)) }

// Info is what the handshake learned.
func (c *Conn) Info() Info { return c.info }

// Owed is the number of replies owed, those of callers that left included.
func (c *Conn) Owed() int { return int(c.owed.Load()) }

// Crowd is about how many replies were owed at most while the last few batches were written: unlike Owed it does not drop each
// time a batch has been answered.
func (c *Conn) Crowd() int { return int(c.crowd.Load()) }

// Stalled reports whether the oldest reply is overdue. A conn whose replies come after all is no longer stalled.
func (c *Conn) Stalled() bool { return c.state.Load() == stalled }

// Usable reports whether the conn takes work: neither stalled nor broken.
func (c *Conn) Usable() bool { return c.state.Load() == healthy }

// Age is how long ago the conn was dialed.
func (c *Conn) Age() time.Duration { return time.Since(c.born) }

// Err is why the conn takes no more work, nil while it does.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Done is closed once the socket is closed.
func (c *Conn) Done() <-chan struct{} { return c.closed }

// RoundTrip sends the call and waits for its replies. It returns when they are there, when ctx ends, when timeout has passed
// (0: ctx alone bounds it) or when the conn fails, whichever is first; see the error types for what each means.
//
// After an error the Call belongs to the conn or to nobody and must not be touched; without one it is the caller's again.
// stall is how late the reply may be before the conn counts as stalled: 0 takes Options.StallTimeout, a negative value never.
func (c *Conn) RoundTrip(ctx context.Context, k *Call, timeout, stall time.Duration) error {
	if err := ctx.Err(); err != nil {
		k.Free()
		return &LeftError{Cause: err}
	}
	if k.want == 0 {
		return nil // nothing is owed, so it has no place in the order
	}
	if k.ch == nil || c.virtual {
		k.ch, k.virtual = make(chan struct{}, 1), c.virtual
	}
	now := c.now()
	if timeout > 0 {
		k.deadline = now + int64(timeout)
	}
	nudges := false
	if dl, ok := ctx.Deadline(); ok && dl.Sub(c.born) > time.Duration(now+2*cancelGrace) && c.owed.Load() > 0 {
		nudges, k.nudge = true, now+cancelGrace
	}
	c.mu.Lock()
	if c.err != nil || c.fullLocked(k) || c.longIdleLocked(now) {
		if err := c.admitLocked(ctx, k); err != nil { // unlocks on an error
			if failed, ok := err.(*ConnError); ok { //nolint:errorlint // it is not wrapped
				failed.Elapsed = time.Duration(c.now() - now)
			}
			k.Free()
			return err
		}
		now = c.now()
	}
	c.setDueLocked(k, now, stall)
	w, lead := c.appendLocked(k)
	if lead {
		c.flusher = k
		if w == nil && int(c.owed.Load()) == k.want && !c.woken.Load() {
			w = c.takeLocked() // alone: write at once
		}
	}
	tenure := c.tenure
	c.mu.Unlock()
	if lead && c.flush(k, w, tenure) {
		return c.read(ctx, k)
	}
	return c.wait(ctx, k, nudges)
}

// setDueLocked stamps the call and makes sure that the watch timer is set.
func (c *Conn) setDueLocked(k *Call, now int64, stall time.Duration) {
	k.at = now
	c.lastUse = now
	if stall == 0 {
		stall = c.opts.StallTimeout
	}
	if stall > 0 {
		k.due, k.stall = now+int64(stall), int64(stall)
	}
	at := firstOf(firstOf(k.deadline, k.due), k.nudge)
	if at == 0 {
		at = now + int64(idleLook)
	}
	c.armLocked(at, now)
}

// firstOf is the earlier of two moments of which 0 means never.
func firstOf(a, b int64) int64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// shareOfBatch is the share of all replies owed that makes a batch big enough to be written at once, as a divisor. Without it
// all callers end up in one batch, and client and server take turns: one works while the other waits to be woken, which is
// dear. With it several batches are under way and both work at once. Measured with 8, 64, 250 and 1000 callers: 2, 3 and 4 have
// the same throughput, with 64 callers half as much again as without; 2 has the best p99. From 6 on batches become too small.
const shareOfBatch = 2

// appendLocked puts the call in the order and its bytes in the write buffer. It reports whether the caller has become the
// flusher, and what to write if the one before has been relieved because the batch is big enough.
func (c *Conn) appendLocked(k *Call) (w *[]byte, lead bool) {
	if c.wbuf == nil {
		if c.wbuf, c.spare = c.spare, nil; c.wbuf == nil {
			c.wbuf = getWriteBuffer()
		}
	}
	b := append(*c.wbuf, k.buf...)
	if k.ext != nil {
		b = append(b, k.ext...)
		k.ext = nil
	}
	k.size = int64(len(b) - len(*c.wbuf))
	c.appended += k.size
	*c.wbuf = b
	k.end = c.appended
	if c.last == nil {
		c.first = k
	} else {
		c.last.next = k
	}
	c.last = k
	owed := c.owed.Add(int32(k.want)) //nolint:gosec // bounded by MaxQueue
	c.queued += k.want
	switch {
	case !c.flushing:
		c.flushing, c.yielding = true, true
		c.tenure++
		return nil, true
	case c.yielding && c.queued*shareOfBatch >= int(owed):
		c.tenure++
		return c.takeLocked(), true
	default:
		return nil, false
	}
}

// fullLocked reports whether the queue has no room for the call. An empty queue takes any call.
func (c *Conn) fullLocked(k *Call) bool {
	owed := int(c.owed.Load())
	if owed == 0 {
		return false
	}
	if owed+k.want > c.opts.MaxQueue {
		return true
	}
	return c.wbuf != nil && len(*c.wbuf)+k.Bytes() > c.opts.MaxQueueSize
}

// longIdleLocked reports whether the conn has been quiet for so long that its peer may have gone.
func (c *Conn) longIdleLocked(now int64) bool {
	return now-c.lastUse > int64(c.opts.ProbeAfter) && c.owed.Load() == 0 && !c.reading && !c.flushing
}

// admitLocked is the slow way in: it peeks at a long-idle conn and waits for room in a full queue, within ctx and the call's
// own deadline. It returns with the lock held and nil, or without the lock and an error; nothing has been sent then.
func (c *Conn) admitLocked(ctx context.Context, k *Call) error {
	for {
		switch {
		case c.err != nil:
			err := c.err
			c.mu.Unlock()
			return &ConnError{Cause: err}
		case c.longIdleLocked(c.now()):
			c.peekLocked()
			if err := ctx.Err(); err != nil { // the peek may have taken a moment
				return &LeftError{Cause: err}
			}
			if k.deadline > 0 && c.now() >= k.deadline {
				return &LeftError{Cause: ErrTimeout}
			}
			c.mu.Lock()
		case c.fullLocked(k):
			if c.room == nil {
				c.room = make(chan struct{})
			}
			room, wait := c.room, time.Duration(0)
			if k.deadline > 0 {
				wait = max(1, time.Duration(k.deadline-c.now()))
			}
			c.mu.Unlock()
			if err := awaitRoom(ctx, room, c.closed, wait); err != nil {
				return err
			}
			c.mu.Lock()
		default:
			return nil
		}
	}
}

func awaitRoom(ctx context.Context, room, closed <-chan struct{}, wait time.Duration) error {
	var timeout <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-room:
		return nil
	case <-closed:
		return nil
	case <-ctx.Done():
		return &LeftError{Cause: ctx.Err(), Full: true}
	case <-timeout:
		return &LeftError{Cause: ErrTimeout, Full: true}
	}
}

// IdleFor is how long ago the conn was last used; background pings do not count.
func (c *Conn) IdleFor() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.now() - c.lastUse)
}

// Ping sends a PING that nobody waits for: an answer shows itself by the absence of a stall. It reports false when the conn
// is broken, and never blocks.
func (c *Conn) Ping() bool {
	if c.Owed() > 0 {
		return c.Err() == nil // the replies owed say as much
	}
	k := NewCall()
	k.Words("PING")
	return c.Start(k) || c.Err() == nil // a full queue is no fault
}

// Start sends a call whose replies nobody waits for: they are swallowed when they come. It never blocks; it reports false when
// the call was not taken: the conn is broken, or its queue is full. For background pings, and to clean a conn.
func (c *Conn) Start(k *Call) bool {
	c.mu.Lock()
	if c.err != nil || c.fullLocked(k) {
		c.mu.Unlock()
		k.Free()
		return false
	}
	k.state.Store(abandoned)
	lastUse := c.lastUse
	c.setDueLocked(k, c.now(), 0)
	c.lastUse = lastUse // a ping is no use of the conn
	w, lead := c.appendLocked(k)
	if lead {
		c.flusher = nil // the call belongs to the conn already
	}
	tenure := c.tenure
	c.mu.Unlock()
	if lead {
		c.flush(nil, w, tenure)
	}
	return true
}
