package evenkeeltest

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// fakeLog is how many requests are kept.
	fakeLog = 10_000
	// fakeQueue is how many requests a conn reads ahead of the one it answers.
	fakeQueue = 128
)

// Handler answers a request, or leaves it to the fake by returning [Default]. It is
// called by the goroutine of the request's conn, one request at a time per conn,
// and may wait: that keeps this conn alone waiting.
type Handler func(*Request) Reply

// Request is one command that a client sent.
type Request struct {
	// Conn is the conn it came on.
	Conn *FakeConn
	// Seq numbers the requests of the conn from 1.
	Seq int
	// At is when it had been read.
	At time.Time
	// Name is the command's name in upper case.
	Name string
	// Args are all words, the name as it was sent included. They must not be changed.
	Args []string
}

// Arg returns a word, and "" beyond the last.
func (r *Request) Arg(i int) string {
	if i < 0 || i >= len(r.Args) {
		return ""
	}
	return r.Args[i]
}

// FakeStats counts what a [Fake] has seen. As with a real server, a client that closes
// one conn and opens the next may for a moment be seen with both; a [Relay] tells
// them apart.
type FakeStats struct {
	Accepted int // conns accepted, ever, refused ones included
	Open     int // open now
	OpenMax  int // most open at once
	Refused  int // conns turned away by the limit of conns
	Commands int // requests read
}

// HelloMode is how a [Fake] takes HELLO.
type HelloMode uint8

const (
	// HelloOK knows RESP2 and RESP3.
	HelloOK HelloMode = iota
	// HelloUnknown is a server before version 6: the command is unknown.
	HelloUnknown
	// HelloNoProto knows HELLO but only RESP2: NOPROTO.
	HelloNoProto
)

// Fake is a scriptable server. By itself it knows HELLO, AUTH, CLIENT (ID, SETNAME,
// GETNAME, SETINFO, UNBLOCK, KILL ID, NO-EVICT, NO-TOUCH), SELECT, PING, ECHO, QUIT,
// RESET, GET, SET, DEL, EXISTS, INCR, MGET, MSET, LPUSH, RPUSH, LPOP, LLEN, BLPOP,
// MULTI, EXEC, DISCARD and FLUSHALL, over one common database in memory; anything
// else is an unknown command. [Fake.Handle] replaces single commands.
//
// It runs in virtual time when its listener does. Methods may be called
// concurrently.
type Fake struct {
	ln       net.Listener
	fallback Handler
	wg       sync.WaitGroup
	closing  chan struct{}
	once     sync.Once

	mu         sync.Mutex
	handlers   map[string]Handler
	greet      func(*FakeConn) Reply
	passwords  map[string]string
	hello      HelloMode
	maxClients int
	paused     chan struct{} // closed at the end of the pause; nil: none
	conns      map[*FakeConn]struct{}
	lastID     int64
	stats      FakeStats
	counts     map[string]int
	log        []Request
	changed    chan struct{} // closed and replaced at every request and conn
	db         database
}

// StartFake starts a fake on a free loopback port for a test, and closes it at its
// end. The handler may be nil.
func StartFake(tb testing.TB, h Handler) *Fake {
	tb.Helper()
	ln, err := ListenLoopback()
	if err != nil {
		tb.Fatal(err)
	}
	f := NewFake(ln, h)
	tb.Cleanup(func() { _ = f.Close() })
	return f
}

// NewFake serves on a listener, which it owns from now on. The handler sees every
// request for which [Fake.Handle] has set none; nil leaves all to the fake. The
// caller must Close it.
func NewFake(ln net.Listener, h Handler) *Fake {
	f := &Fake{
		ln:        ln,
		fallback:  h,
		closing:   make(chan struct{}),
		handlers:  make(map[string]Handler),
		passwords: make(map[string]string),
		conns:     make(map[*FakeConn]struct{}),
		counts:    make(map[string]int),
		changed:   make(chan struct{}),
	}
	f.db.clear()
	f.wg.Go(f.accept)
	return f
}

// Addr returns the address to connect to.
func (f *Fake) Addr() string { return f.ln.Addr().String() }

// Close ends the listener and all conns, and waits for every goroutine. It returns
// the listener's error.
func (f *Fake) Close() error {
	var err error
	f.once.Do(func() {
		close(f.closing)
		err = f.ln.Close()
		f.CloseConns()
	})
	f.wg.Wait()
	return err
}

// Handle sets the handler of one command, by its name in any case; nil removes it.
func (f *Fake) Handle(name string, h Handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h == nil {
		delete(f.handlers, strings.ToUpper(name))
		return
	}
	f.handlers[strings.ToUpper(name)] = h
}

// OnConnect sets what is sent to every new conn before anything is read: Default
// for nothing, Silence for a server that accepts and says nothing, Err("…").ThenClose()
// for one that turns clients away.
func (f *Fake) OnConnect(greet func(*FakeConn) Reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.greet = greet
}

// SetPassword protects a user ("default" for AUTH with one word). From then on
// every conn that has not signed in is answered NOAUTH.
func (f *Fake) SetPassword(user, password string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passwords[user] = password
}

// SetHello sets how HELLO is taken.
func (f *Fake) SetHello(m HelloMode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hello = m
}

// SetMaxClients turns away conns beyond n as a server does: with an error line and
// a close. Zero: no limit.
func (f *Fake) SetMaxClients(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.maxClients = n
}

// Pause makes every conn keep its requests waiting until [Fake.Resume]; conns are
// still accepted.
func (f *Fake) Pause() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paused == nil {
		f.paused = make(chan struct{})
	}
}

// Resume undoes Pause.
func (f *Fake) Resume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paused != nil {
		close(f.paused)
		f.paused = nil
	}
}

// CloseConns closes all conns in order; the listener goes on.
func (f *Fake) CloseConns() {
	for _, c := range f.Conns() {
		c.Close()
	}
}

// ResetConns resets all conns.
func (f *Fake) ResetConns() {
	for _, c := range f.Conns() {
		c.Reset()
	}
}

// Conns returns the open conns, oldest first.
func (f *Fake) Conns() []*FakeConn {
	f.mu.Lock()
	defer f.mu.Unlock()
	cs := make([]*FakeConn, 0, len(f.conns))
	for c := range f.conns {
		cs = append(cs, c)
	}
	slices.SortFunc(cs, func(a, b *FakeConn) int { return int(a.id - b.id) })
	return cs
}

// Stats returns the counts.
func (f *Fake) Stats() FakeStats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// Count returns how many requests with this command name, in any case, were read.
func (f *Fake) Count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[strings.ToUpper(name)]
}

// Requests returns the first 10,000 requests, in the order of their being read.
func (f *Fake) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

// Await waits until the condition holds. It is looked at after every request, and
// after every conn that comes or goes.
func (f *Fake) Await(ctx context.Context, cond func(FakeStats) bool) error {
	for {
		f.mu.Lock()
		stats, changed := f.stats, f.changed
		f.mu.Unlock()
		if cond(stats) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *Fake) accept() {
	for {
		c, err := f.ln.Accept()
		switch {
		case err == nil:
			f.adopt(c)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			// Too many open files, most likely: that may pass.
			select {
			case <-time.After(10 * time.Millisecond):
			case <-f.closing:
				return
			}
		}
	}
}

func (f *Fake) adopt(nc net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.closing:
		_ = nc.Close()
		return
	default:
	}
	f.lastID++
	c := newFakeConn(f, f.lastID, nc)
	c.refused = f.maxClients > 0 && f.stats.Open >= f.maxClients
	f.stats.Accepted++
	if c.refused {
		f.stats.Refused++
	} else {
		f.stats.Open++
		f.stats.OpenMax = max(f.stats.OpenMax, f.stats.Open)
	}
	f.conns[c] = struct{}{}
	f.noteLocked()
	f.wg.Go(c.serve)
}

func (f *Fake) forget(c *FakeConn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
	if !c.refused {
		f.stats.Open--
	}
	f.noteLocked()
}

func (f *Fake) noteRequest(r *Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Commands++
	f.counts[r.Name]++
	if len(f.log) < fakeLog {
		f.log = append(f.log, *r)
	}
	f.noteLocked()
}

func (f *Fake) noteLocked() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// script returns who answers a command first, and the pause to wait for.
func (f *Fake) script(name string) (h Handler, paused <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h = f.handlers[name]; h == nil {
		h = f.fallback
	}
	return h, f.paused
}
