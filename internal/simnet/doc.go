// Package simnet is a buffered in-memory network with faults, made for tests
// that run in virtual time under testing/synctest. It works outside a bubble
// too, in real time.
//
// A [Network] is one failure domain with any number of listeners. [Network.Dial]
// has the signature that dialers have; what it returns is a [Conn] that behaves
// as a TCP conn of package net does: deadlines that wake blocked calls,
// half-close, io.EOF after a FIN, ECONNRESET after an RST, net.ErrClosed after
// its own Close, back-pressure when the peer does not read. Faults are switched
// at run time, on the whole network or on one [Link], and the network counts
// conns as the server would.
//
// What it never does: open a socket, start a goroutine that outlives a call,
// lose or reorder a byte unless told to, or hold a lock while it waits for
// anything but a condition variable on that lock.
//
// Invariants:
//   - every blocked call waits on a sync.Cond or a channel of its own bubble, so
//     it is durably blocked and virtual time moves on;
//   - a conn's two directions are independent: a fault on one leaves the other
//     as it was, save for resets, which end both;
//   - a link's lock may be held while the network's is taken, never the reverse.
//
// A network and all that it made belong to the bubble that made it; conns of one
// bubble must not be used from another or from outside.
//
// Start reading at network.go; stream.go holds one direction of a link, which is
// where most of the behaviour is.
package simnet
