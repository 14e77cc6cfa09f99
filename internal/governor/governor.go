package governor

import "sync"

// DefaultMaxPendingDials is the process-wide cap of dials under way.
const DefaultMaxPendingDials = 16

// Config sets up a [Governor]. The zero value is ready for use.
type Config struct {
	// MaxPendingDials caps the dials under way in all endpoints together.
	// Zero or less means DefaultMaxPendingDials. A low cap slows the start of a
	// cluster client with many nodes; a high one lets a process hit a shared
	// network or proxy with that many handshakes at once.
	MaxPendingDials int
}

// Governor is the process-wide part: it caps the dials under way in all its
// endpoints and shares freed places among them, longest denied first.
// It is safe for concurrent use. Make it with [New].
type Governor struct {
	mu      sync.Mutex
	max     int
	pending int
	hungry  []*Endpoint // denied for the process-wide cap, in that order
}

// New returns a Governor without endpoints.
func New(cfg Config) *Governor {
	limit := cfg.MaxPendingDials
	if limit <= 0 {
		limit = DefaultMaxPendingDials
	}
	return &Governor{max: limit}
}

// Pending returns the number of dials under way in all endpoints.
func (g *Governor) Pending() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pending
}

// MaxPendingDials returns the process-wide cap.
func (g *Governor) MaxPendingDials() int { return g.max }

// feed offers free places to the endpoints that were denied one, longest denied
// first. Every turn takes one endpoint off the queue; one that is denied again
// for the same cap only comes back while the cap is reached, which ends the loop.
func (g *Governor) feed() {
	for {
		g.mu.Lock()
		if len(g.hungry) == 0 || g.pending >= g.max {
			g.mu.Unlock()
			return
		}
		e := g.hungry[0]
		g.hungry[0] = nil
		g.hungry = g.hungry[1:]
		e.hungry = false
		listeners := e.takeListeners()
		g.mu.Unlock()
		call(listeners)
	}
}
