package simnet

import (
	"sync"
	"time"
)

// Direction names one direction of a link, or both.
type Direction uint8

// The directions, as seen from the link: from the dialing end to the listening
// one, and back.
const (
	ToServer Direction = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// Link is what joins the two ends of a conn: the place for faults of this conn
// alone. Its methods may be called concurrently, and take effect at once.
type Link struct {
	net    *Network
	id     int
	addr   string
	opened time.Time

	mu       sync.Mutex
	toServer stream
	toClient stream
	client   Conn
	server   Conn
	seenGone bool // the server's side has been told, or has itself closed
	released bool // the server program has closed its end
}

func newLink(n *Network, id int, addr string, sh shape) *Link {
	l := &Link{net: n, id: id, addr: addr, opened: time.Now()}
	for _, s := range []*stream{&l.toServer, &l.toClient} {
		s.limit = n.opts.BufferSize
		s.readable.L = &l.mu
		s.writable.L = &l.mu
	}
	sh.toServer.apply(&l.toServer)
	sh.toClient.apply(&l.toClient)
	local := clientAddr(id)
	l.client = Conn{link: l, in: &l.toClient, out: &l.toServer, local: local, remote: Addr(addr)}
	l.server = Conn{link: l, in: &l.toServer, out: &l.toClient, local: Addr(addr), remote: local}
	return l
}

// ID numbers the links of a network in the order of their making, from 1.
func (l *Link) ID() int { return l.id }

// Addr returns the address that was dialed.
func (l *Link) Addr() string { return l.addr }

// Opened returns when the connect was completed.
func (l *Link) Opened() time.Time { return l.opened }

// Client returns the end that dialed.
func (l *Link) Client() *Conn { return &l.client }

// Server returns the end that was accepted.
func (l *Link) Server() *Conn { return &l.server }

// Sent returns how many bytes have been written in one direction, those that a
// fault then lost included. For Both it returns the sum.
func (l *Link) Sent(d Direction) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var n int64
	l.each(d, func(s *stream) { n += s.sent })
	return n
}

// Drop loses everything written in direction d from now on, FIN and RST included;
// what has been written before still arrives. Writes go on to succeed. It cannot
// be undone: a TCP flow with a hole does not recover.
func (l *Link) Drop(d Direction) { l.change(d, func(s *stream) { s.dropped = true }) }

// Freeze stops delivery in direction d, as a stopped process that does not read:
// nothing is lost, and writers wait once the buffer is full.
func (l *Link) Freeze(d Direction) { l.change(d, func(s *stream) { s.frozen = true }) }

// Thaw undoes Freeze.
func (l *Link) Thaw(d Direction) { l.change(d, func(s *stream) { s.frozen = false }) }

// Split delivers at most k bytes per read in direction d. Zero means no limit.
func (l *Link) Split(d Direction, k int) { l.change(d, func(s *stream) { s.split = k }) }

// Trickle delivers at most k bytes per gap in direction d. k = 0 means no limit.
func (l *Link) Trickle(d Direction, k int, gap time.Duration) {
	l.change(d, func(s *stream) { s.setTrickle(k, gap) })
}

// SetLatency delays what is written in direction d from now on. Order is kept: a
// shorter latency does not overtake what is under way.
func (l *Link) SetLatency(d Direction, latency time.Duration) {
	l.change(d, func(s *stream) { s.latency = latency })
}

// Reset ends the link at once in both directions, as an RST to either end would.
// What has not been read is lost.
func (l *Link) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resetLocked(time.Now())
}

// ResetAfter delivers n more bytes in direction d, then ends the link with an
// RST to both ends. With n = 0 it is Reset, save that what has been written
// before is still delivered.
func (l *Link) ResetAfter(d Direction, n int64) { l.setCut(d, n, cutRST) }

// CloseAfter delivers n more bytes in direction d, then ends the link with a FIN
// to both ends.
func (l *Link) CloseAfter(d Direction, n int64) { l.setCut(d, n, cutFIN) }

func (l *Link) setCut(d Direction, n int64, kind cutKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.each(d, func(s *stream) {
		if s.dropped {
			return
		}
		s.cut, s.cutAt = kind, s.sent+max(n, 0)
	})
	if n <= 0 {
		l.cutLocked(kind, now)
	}
}

// cutLocked ends both directions behind what they hold.
func (l *Link) cutLocked(kind cutKind, now time.Time) {
	for _, s := range []*stream{&l.toServer, &l.toClient} {
		if kind == cutRST {
			s.abort(now)
			s.broken = errResetW
		} else {
			s.finish(now)
			s.broken = errPipe
		}
		s.wakeAll()
	}
	l.noteGone(now)
}

func (l *Link) resetLocked(now time.Time) {
	for _, s := range []*stream{&l.toServer, &l.toClient} {
		s.discard()
		s.dropped, s.frozen, s.fin = false, false, false
		s.rst, s.rstAt = true, now
		s.broken = errResetW
		s.wakeAll()
	}
	l.noteGone(now)
}

// refuse ends a conn that no server program will ever hold.
func (c *Conn) refuse() {
	c.link.Reset()
	_ = c.Close() // it cannot have been closed before: nobody else had it
}

func (l *Link) change(d Direction, f func(*stream)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.each(d, func(s *stream) {
		f(s)
		s.wakeAll()
	})
	l.noteGone(time.Now())
}

func (l *Link) each(d Direction, f func(*stream)) {
	if d&ToServer != 0 {
		f(&l.toServer)
	}
	if d&ToClient != 0 {
		f(&l.toClient)
	}
}

// closedLocked is told that the program of one end has closed it.
func (l *Link) closedLocked(c *Conn, now time.Time) {
	if c == &l.server && !l.released {
		l.released = true
		if c.accepted {
			l.net.noteReleased(l.addr)
		}
		if !l.seenGone {
			l.seenGone = true
			l.net.noteGone(l)
		}
	}
	l.noteGone(now)
	if l.client.closed && l.server.closed {
		l.net.forget(l)
	}
}

// noteGone counts the link as ended once the server's side has been told, and
// asks to be called again when the news is still under way.
func (l *Link) noteGone(now time.Time) {
	if l.seenGone {
		return
	}
	seen, at := l.toServer.endSeen(now)
	switch {
	case seen:
		l.seenGone = true
		l.net.noteGone(l)
	case !at.IsZero():
		time.AfterFunc(at.Sub(now), func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.noteGone(time.Now())
		})
	}
}

func (s *stream) setTrickle(k int, gap time.Duration) {
	s.trickle, s.trickleGap, s.trickleNext = k, gap, time.Time{}
}
