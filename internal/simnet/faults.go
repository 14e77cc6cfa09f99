package simnet

import "time"

// DialFault is what happens to connects.
type DialFault uint8

const (
	// NoDialFault lets connects through.
	NoDialFault DialFault = iota
	// RefuseDials answers connects with ECONNREFUSED.
	RefuseDials
	// BlackholeDials lets connects wait until their context ends, or until the
	// fault is taken away.
	BlackholeDials
	// ResetDials completes connects and resets them at once; the listener does not
	// see them.
	ResetDials
)

// shape holds what a new link starts with.
type shape struct{ toServer, toClient direction }

type direction struct {
	latency         time.Duration
	frozen, dropped bool
	split, trickle  int
	gap             time.Duration
}

func (d direction) apply(s *stream) {
	s.latency, s.frozen, s.dropped, s.split = d.latency, d.frozen, d.dropped, d.split
	s.setTrickle(d.trickle, d.gap)
}

// SetDialFault sets what happens to connects from now on, those under way
// included.
func (n *Network) SetDialFault(f DialFault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialFault = f
	n.wakeLocked()
}

// Drop applies [Link.Drop] to every link, and to those made until [Network.Heal].
func (n *Network) Drop(d Direction) {
	n.change(d, func(s *direction) { s.dropped = true }, func(l *Link) { l.Drop(d) })
}

// Freeze applies [Link.Freeze] to every link, and to those made until
// [Network.Thaw] or Heal. With ToServer nothing is accepted meanwhile either: connects succeed
// until the backlog is full, as with a stopped process.
func (n *Network) Freeze(d Direction) {
	n.change(d, func(s *direction) { s.frozen = true }, func(l *Link) { l.Freeze(d) })
}

// Thaw undoes Freeze on every link.
func (n *Network) Thaw(d Direction) {
	n.change(d, func(s *direction) { s.frozen = false }, func(l *Link) { l.Thaw(d) })
}

// Split applies [Link.Split] to every link, and to those made from now on.
func (n *Network) Split(d Direction, k int) {
	n.change(d, func(s *direction) { s.split = k }, func(l *Link) { l.Split(d, k) })
}

// Trickle applies [Link.Trickle] to every link, and to those made from now on.
func (n *Network) Trickle(d Direction, k int, gap time.Duration) {
	n.change(d, func(s *direction) { s.trickle, s.gap = k, gap }, func(l *Link) { l.Trickle(d, k, gap) })
}

// SetLatency applies [Link.SetLatency] to every link, and to those made from now
// on.
func (n *Network) SetLatency(d Direction, latency time.Duration) {
	n.change(d, func(s *direction) { s.latency = latency }, func(l *Link) { l.SetLatency(d, latency) })
}

// ResetAll resets every link that is there now.
func (n *Network) ResetAll() {
	for _, l := range n.Links() {
		l.Reset()
	}
}

// Heal takes every fault away: dial fault, freeze, split and trickle; latencies
// stay. Links made from now on lose nothing; a link that Drop has hit stays dead.
func (n *Network) Heal() {
	n.SetDialFault(NoDialFault)
	n.change(Both, func(s *direction) {
		*s = direction{latency: s.latency}
	}, func(l *Link) {
		l.change(Both, func(s *stream) {
			s.frozen, s.split = false, 0
			s.setTrickle(0, 0)
		})
	})
}

// change sets what new links start with before it walks over those that exist, so
// that none slips through between the two.
func (n *Network) change(d Direction, forNew func(*direction), forOld func(*Link)) {
	n.mu.Lock()
	if d&ToServer != 0 {
		forNew(&n.shape.toServer)
	}
	if d&ToClient != 0 {
		forNew(&n.shape.toClient)
	}
	n.wakeLocked()
	n.mu.Unlock()
	for _, l := range n.Links() {
		forOld(l)
	}
}
