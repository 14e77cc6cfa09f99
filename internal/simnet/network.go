package simnet

import (
	"context"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Options shape a [Network]. The zero value is a network without delay.
type Options struct {
	// BufferSize is how many bytes one direction of a conn holds before writes
	// wait. Default 64 KiB. Memory is used only for bytes that are there.
	BufferSize int
	// LatencyToServer and LatencyToClient delay every byte, FIN and RST of one
	// direction. Zero: no delay.
	LatencyToServer, LatencyToClient time.Duration
	// ConnectDelay is how long a connect takes, a refused one too. Zero: no time.
	ConnectDelay time.Duration
	// Backlog is how many conns wait, connected, for Accept; further connects
	// wait. Default 128.
	Backlog int
	// WritePastDeadline makes a Write with a past deadline write what fits before
	// it times out. TCP in Go writes nothing then, and so does the default.
	WritePastDeadline bool
}

// Network is an in-memory network of its own: one failure domain. Servers that
// are to fail apart get a Network each; see [Join]. Its methods may be called
// concurrently.
type Network struct {
	opts Options

	mu        sync.Mutex
	listeners map[string]*Listener
	known     map[string]bool // every address ever listened on
	links     map[*Link]struct{}
	lastID    int
	shape     shape
	dialFault DialFault
	changed   chan struct{} // closed and replaced whenever a waiting dial or accept must look again
	stats     map[string]*Stats
	dials     []DialRecord
}

// New returns a network.
func New(opts Options) *Network {
	if opts.BufferSize <= 0 {
		opts.BufferSize = 64 << 10
	}
	if opts.Backlog <= 0 {
		opts.Backlog = 128
	}
	n := &Network{
		opts:      opts,
		listeners: make(map[string]*Listener),
		known:     make(map[string]bool),
		links:     make(map[*Link]struct{}),
		changed:   make(chan struct{}),
		stats:     make(map[string]*Stats),
	}
	n.shape.toServer.latency = opts.LatencyToServer
	n.shape.toClient.latency = opts.LatencyToClient
	return n
}

// Listen starts listening on addr, which may be any text; it fails with
// EADDRINUSE while another listener has it. The listener is a *[Listener].
func (n *Network) Listen(addr string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[addr] != nil {
		return nil, opError("listen", nil, Addr(addr), errInUse)
	}
	ln := &Listener{
		net:     n,
		addr:    Addr(addr),
		backlog: make(chan *Conn, n.opts.Backlog),
		closing: make(chan struct{}),
	}
	n.listeners[addr] = ln
	n.known[addr] = true
	n.wakeLocked()
	return ln, nil
}

// Dial connects to addr; the conn is a *[Conn]. The network's name is not looked
// at. It fails with ECONNREFUSED when nobody listens, and with the context's error
// when that ends first. There is no limit of time but the context.
func (n *Network) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	rec := n.dialStarted(addr)
	l, outcome, err := n.connect(ctx, addr)
	n.dialEnded(addr, rec, outcome)
	if err != nil {
		return nil, opError("dial", nil, Addr(addr), err)
	}
	return &l.client, nil
}

func (n *Network) connect(ctx context.Context, addr string) (*Link, DialOutcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, DialAbandoned, err
	}
	if n.opts.ConnectDelay > 0 {
		t := time.NewTimer(n.opts.ConnectDelay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, DialAbandoned, ctx.Err()
		}
	}
	for {
		l, changed, err := n.tryConnect(addr)
		switch {
		case err != nil:
			return nil, DialRefused, err
		case l != nil:
			return l, DialConnected, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, DialAbandoned, ctx.Err()
		}
	}
}

// tryConnect returns a link, or an error, or a channel to wait on.
func (n *Network) tryConnect(addr string) (*Link, <-chan struct{}, error) {
	n.mu.Lock()
	ln := n.listeners[addr]
	switch {
	case n.dialFault == BlackholeDials:
		defer n.mu.Unlock()
		return nil, n.changed, nil
	case n.dialFault == RefuseDials || ln == nil:
		defer n.mu.Unlock()
		return nil, nil, errRefused
	case n.dialFault == ResetDials:
		l := n.newLinkLocked(addr)
		n.mu.Unlock()
		l.server.refuse()
		return l, nil, nil
	}
	defer n.mu.Unlock()
	if len(ln.backlog) == cap(ln.backlog) {
		return nil, n.changed, nil
	}
	l := n.newLinkLocked(addr)
	ln.backlog <- &l.server // cannot block: only this function sends, under the lock
	return l, nil, nil
}

func (n *Network) newLinkLocked(addr string) *Link {
	n.lastID++
	l := newLink(n, n.lastID, addr, n.shape)
	n.links[l] = struct{}{}
	s := n.statsLocked(addr)
	s.Connected++
	s.Open++
	s.OpenMax = max(s.OpenMax, s.Open)
	return l
}

func (n *Network) unlisten(ln *Listener) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.listeners, string(ln.addr))
	n.wakeLocked()
}

func (n *Network) wakeLocked() {
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *Network) acceptFrozen() (bool, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.shape.toServer.frozen, n.changed
}

// Links returns the links with at least one end not yet closed, oldest first.
func (n *Network) Links() []*Link {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.SortedFunc(maps.Keys(n.links), func(a, b *Link) int { return a.id - b.id })
}

func (n *Network) forget(l *Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.links, l)
}

// Join returns a dialer over several networks: it dials on the first one that has
// ever listened on the address, and on the first one of all when none has. It
// panics when given none.
func Join(first *Network, rest ...*Network) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		for _, n := range rest {
			if n.knows(addr) && !first.knows(addr) {
				return n.Dial(ctx, network, addr)
			}
		}
		return first.Dial(ctx, network, addr)
	}
}

func (n *Network) knows(addr string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[addr]
}

// clientAddr makes up an address for the dialing end: unique below 2^16 links and
// well-formed beyond.
func clientAddr(id int) Addr {
	host := "10.0." + strconv.Itoa(id>>16&0xff) + ".1:"
	return Addr(host + strconv.Itoa(id&0xffff))
}
