// Package pool keeps a bounded set of costly, closable things ("conns") ready for
// many callers, in calm and in storm. It knows no Redis and imports nothing but the
// standard library and the governor that says when a dial may start.
//
// Callers never dial. [Pool.Acquire] takes an idle conn or waits, first come first
// served, for whichever comes first: a returned conn or a new one. The pool dials on
// goroutines of its own, detached from every caller, only while more callers wait
// than conns are idle or on their way, and only when the governor agrees.
//
// What it never does: exceed Size+Overflow, dialing and closing conns included; hold
// a lock across I/O, a sleep or a channel wait; give one conn to two callers; let a
// double release do harm; keep a goroutine for an idle conn; close a conn because
// a caller gave up waiting.
//
// # Invariants
//
//   - open + dialing + closing ≤ Size + Overflow, and ≤ the [Budget] shared with
//     other pools. A conn that is being closed counts until Close has returned.
//   - A conn is in one place: idle, leased, under a check, or closing.
//   - No dial starts while idle + dialing ≥ waiting (MinIdleConns apart).
//   - The lease number of an entry changes at every change of hands, so that an old
//     [Lease] can do nothing.
//   - A woken waiter keeps its place in the queue until it has a conn.
//   - Once the oldest waiter has waited 1 ms, conns go to waiters directly.
//
// # Why waiting works as it does
//
// Handing each returned conn to the oldest waiter makes a convoy: everybody waits
// for a goroutine switch. Letting running goroutines take it is several times
// faster, but can starve a waiter. So a running caller may take a conn that has just
// come free until the oldest waiter has waited 1 ms; then the pool hands over
// directly, and the releaser yields, so that the conn does not lie unused while the
// releaser goes on computing.
//
// # Where to start
//
// pool.go has the state and its lock; acquire.go the way in, lease.go the way out,
// waiters.go the queue between; dialer.go and closer.go the two ends of a conn's life;
// housekeeping.go what happens with time: idle, lifetime, drain, pings, leaks.
package pool
