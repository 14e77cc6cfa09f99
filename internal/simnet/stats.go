package simnet

import (
	"slices"
	"time"
)

// Stats counts conns as the listening side sees them.
type Stats struct {
	Dials      int // connects begun
	Connecting int // connects under way now
	ConnectMax int // most connects under way at once
	Connected  int // connects completed, those still in the backlog included
	Refused    int // connects refused
	Abandoned  int // connects whose context ended first
	Accepted   int // conns handed out by Accept

	// Open counts conns from the end of the connect until the server closes its end
	// or its system hears that the client is gone. News that a fault holds back or
	// loses is not heard.
	Open, OpenMax int
	// Held counts conns from Accept until the server program closes its end.
	Held, HeldMax int
}

// DialOutcome is how a connect ended.
type DialOutcome uint8

// The outcomes of a connect.
const (
	DialPending   DialOutcome = iota // not ended yet
	DialConnected                    // completed
	DialRefused                      // refused
	DialAbandoned                    // its context ended first
)

// DialRecord is one connect in the log.
type DialRecord struct {
	Addr    string
	Start   time.Time
	End     time.Time // zero while under way
	Outcome DialOutcome
}

// Stats returns the counts over all addresses. The maxima are sums of the maxima
// of each address; with one address they are exact.
func (n *Network) Stats() Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	var sum Stats
	for _, s := range n.stats {
		sum.Dials += s.Dials
		sum.Connecting += s.Connecting
		sum.ConnectMax += s.ConnectMax
		sum.Connected += s.Connected
		sum.Refused += s.Refused
		sum.Abandoned += s.Abandoned
		sum.Accepted += s.Accepted
		sum.Open += s.Open
		sum.OpenMax += s.OpenMax
		sum.Held += s.Held
		sum.HeldMax += s.HeldMax
	}
	return sum
}

// StatsOf returns the counts of one address.
func (n *Network) StatsOf(addr string) Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.stats[addr]; s != nil {
		return *s
	}
	return Stats{}
}

// Dials returns the log of all connects, in the order of their begin.
func (n *Network) Dials() []DialRecord {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.dials)
}

func (n *Network) statsLocked(addr string) *Stats {
	s := n.stats[addr]
	if s == nil {
		s = new(Stats)
		n.stats[addr] = s
	}
	return s
}

func (n *Network) dialStarted(addr string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.statsLocked(addr)
	s.Dials++
	s.Connecting++
	s.ConnectMax = max(s.ConnectMax, s.Connecting)
	n.dials = append(n.dials, DialRecord{Addr: addr, Start: time.Now()})
	return len(n.dials) - 1
}

func (n *Network) dialEnded(addr string, rec int, outcome DialOutcome) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.statsLocked(addr)
	s.Connecting--
	n.dials[rec].End = time.Now()
	n.dials[rec].Outcome = outcome
	switch outcome {
	case DialRefused:
		s.Refused++
	case DialAbandoned:
		s.Abandoned++
	case DialConnected, DialPending:
	}
}

func (n *Network) noteAccepted(c *Conn) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.accepted = true
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.statsLocked(c.link.addr)
	s.Accepted++
	s.Held++
	s.HeldMax = max(s.HeldMax, s.Held)
	n.wakeLocked() // there is room in the backlog
}

func (n *Network) noteReleased(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.statsLocked(addr).Held--
}

func (n *Network) noteGone(l *Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.statsLocked(l.addr).Open--
}
