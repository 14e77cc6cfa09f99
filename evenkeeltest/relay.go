package evenkeeltest

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	relayBuffer      = 32 << 10 // of each direction of a flow
	relayDelayed     = 1 << 20  // bytes that one direction holds back at most for a delay
	relayDialTimeout = 5 * time.Second
	relayLog         = 100_000 // events kept
)

// RelayConfig says where a [Relay] stands. It needs Target or Dial.
type RelayConfig struct {
	// Target is the address of the server in front of which the relay stands.
	Target string
	// Dial connects to the server; it is called once per accepted conn, with a limit
	// of 5 s. Default: TCP to Target.
	Dial func(ctx context.Context) (net.Conn, error)
	// Listen opens the relay's own listener; [Relay.Accept] calls it again, and it
	// should then take the same address. Default: a free loopback port.
	Listen func() (net.Listener, error)
}

// Relay passes conns on to a server, and spoils them on demand. It counts conns as
// the server's side of the network sees them, whatever state the server is in.
//
// Faults act on all flows, present and coming, from the moment they are set, until
// [Relay.Heal]; [Relay.Flows] gives access to single ones. Each flow takes two
// goroutines and two buffers of 32 KiB. Methods may be called concurrently.
type Relay struct {
	cfg  RelayConfig
	addr net.Addr

	// life ends with the relay; it stops dials and waits.
	life context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup

	faults atomic.Pointer[faults] // stored under the lock
	bytes  [directions]atomic.Int64

	mu     sync.Mutex
	ln     net.Listener // nil while refusing
	flows  map[*Flow]struct{}
	stats  RelayStats
	log    []RelayEvent
	lastID int
}

// RelayStats counts conns at the relay's listener.
type RelayStats struct {
	Accepted int // conns accepted, ever
	Open     int // accepted and not yet closed by the client, nor by the relay
	OpenMax  int // most open at once
	Failed   int // conns reset because the server could not be dialed
	// ToServer and ToClient count the bytes passed on.
	ToServer, ToClient int64
	// EventsLost counts the events that the log, of 100,000, had no room for.
	EventsLost int
}

// RelayEvent is an entry of the relay's log.
type RelayEvent struct {
	At   time.Time
	Flow int  // the flow's ID
	Open bool // accepted; false: closed
}

// StartRelay starts a relay in front of a server for a test, and closes it at its
// end.
func StartRelay(tb testing.TB, target string) *Relay {
	tb.Helper()
	r, err := NewRelay(RelayConfig{Target: target})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = r.Close() })
	return r
}

// NewRelay starts a relay. The caller must Close it.
func NewRelay(cfg RelayConfig) (*Relay, error) {
	if cfg.Dial == nil {
		if cfg.Target == "" {
			return nil, errors.New("evenkeeltest: a relay needs Target or Dial")
		}
		cfg.Dial = func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", cfg.Target)
		}
	}
	r := &Relay{flows: make(map[*Flow]struct{})}
	r.faults.Store(&faults{replaced: make(chan struct{})})
	if cfg.Listen == nil {
		cfg.Listen = r.listenLoopback
	}
	r.cfg = cfg
	ln, err := cfg.Listen()
	if err != nil {
		return nil, err
	}
	r.ln, r.addr = ln, ln.Addr()
	r.life, r.end = context.WithCancel(context.Background())
	r.wg.Go(func() { r.accept(ln) })
	return r, nil
}

// listenLoopback takes a free port the first time and the same one from then on.
func (r *Relay) listenLoopback() (net.Listener, error) {
	if r.addr == nil {
		return ListenLoopback()
	}
	var lc net.ListenConfig
	return lc.Listen(context.Background(), "tcp", r.addr.String())
}

// Addr returns the address to connect to.
func (r *Relay) Addr() string { return r.addr.String() }

// Stats returns the counts.
func (r *Relay) Stats() RelayStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := r.stats
	st.ToServer, st.ToClient = r.bytes[serverward].Load(), r.bytes[clientward].Load()
	return st
}

// Events returns the log of accepted and closed conns, oldest first.
func (r *Relay) Events() []RelayEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.log)
}

// Flows returns the flows that have at least one open end, oldest first.
func (r *Relay) Flows() []*Flow {
	r.mu.Lock()
	defer r.mu.Unlock()
	fs := make([]*Flow, 0, len(r.flows))
	for f := range r.flows {
		fs = append(fs, f)
	}
	slices.SortFunc(fs, func(a, b *Flow) int { return a.id - b.id })
	return fs
}

// Close ends all flows and waits for their goroutines.
func (r *Relay) Close() error {
	r.end()
	err := r.Refuse()
	for _, f := range r.Flows() {
		f.Close()
	}
	r.wg.Wait()
	return err
}

// Refuse closes the listener: connects are refused. Open flows go on.
func (r *Relay) Refuse() error {
	r.mu.Lock()
	ln := r.ln
	r.ln = nil
	r.mu.Unlock()
	if ln == nil {
		return nil
	}
	return ln.Close()
}

// Accept undoes Refuse: it listens again on the same address. Refuse and Accept
// must not run concurrently.
func (r *Relay) Accept() error {
	r.mu.Lock()
	listening := r.ln != nil
	r.mu.Unlock()
	if listening {
		return nil
	}
	ln, err := r.cfg.Listen()
	if err != nil {
		return err
	}
	r.mu.Lock()
	over := r.life.Err() != nil
	if !over {
		r.ln = ln
		r.wg.Go(func() { r.accept(ln) })
	}
	r.mu.Unlock()
	if over {
		return errors.Join(net.ErrClosed, ln.Close())
	}
	return nil
}

// accept serves one listener until it is closed.
func (r *Relay) accept(ln net.Listener) {
	for {
		c, err := ln.Accept()
		switch {
		case err == nil:
			r.adopt(c)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			// Too many open files, most likely: that may pass.
			select {
			case <-time.After(10 * time.Millisecond):
			case <-r.life.Done():
				return
			}
		}
	}
}

// adopt makes a flow of an accepted conn.
func (r *Relay) adopt(c net.Conn) {
	r.mu.Lock()
	peak := r.stats.Open >= r.stats.OpenMax
	r.mu.Unlock()
	if peak {
		// A client that has closed one conn and opened the next is not to be counted
		// twice because a pump has not had its turn yet.
		for _, f := range r.Flows() {
			if hungUp(f.client) {
				r.clientGone(f)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life.Err() != nil {
		_ = c.Close()
		return
	}
	r.lastID++
	f := &Flow{relay: r, id: r.lastID, client: c, ready: make(chan struct{}), done: make(chan struct{}), last: time.Now()}
	r.flows[f] = struct{}{}
	r.stats.Accepted++
	r.stats.Open++
	r.stats.OpenMax = max(r.stats.OpenMax, r.stats.Open)
	r.logLocked(RelayEvent{At: f.last, Flow: f.id, Open: true})
	r.wg.Go(f.run)
}

// clientGone counts a flow as closed, once.
func (r *Relay) clientGone(f *Flow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.counted {
		return
	}
	f.counted = true
	r.stats.Open--
	r.logLocked(RelayEvent{At: time.Now(), Flow: f.id})
}

func (r *Relay) forget(f *Flow) {
	r.clientGone(f)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.flows, f)
}

func (r *Relay) logLocked(e RelayEvent) {
	if len(r.log) >= relayLog {
		r.stats.EventsLost++
		return
	}
	r.log = append(r.log, e)
}

func (r *Relay) failed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Failed++
}
