// Package governor decides when a dial may start.
//
// One [Governor] stands for a process; it caps the dials under way in it,
// whoever asks for them. Each server address of a client has one [Endpoint], shared
// by all of the client that dial it: lanes, topology probes. An Endpoint caps its own
// pending dials, paces the dials above a pool's size with a token bucket, backs
// off with jitter after a failure, and spreads the dials that follow a mass
// disconnect. [RetryBudget] and [CommandBackoff] do the same duty for commands.
//
// It never dials, never sleeps and owns no goroutine and no timer: it answers
// "now", "at this time" or "when a pending dial ends", and calls its listeners
// when an earlier answer has changed. It knows nothing of Redis.
//
// Invariants:
//
//   - pending dials of an endpoint never exceed MaxPending, and 1 while failing;
//   - pending dials of all endpoints never exceed MaxPendingDials;
//   - while failing, a dial starts no earlier than the drawn delay after the end
//     of the one before;
//   - only a command that succeeded ends the failing state, never a connect;
//   - overflow dials in any time t from the first: at most CreateBurst + t/CreateInterval;
//   - listeners run outside every lock of this package.
//
// One mutex, the Governor's, guards everything but the flag that
// [Endpoint.Succeeded] reads: dials are rare, and one lock has no order to get
// wrong. A caller may hold its own lock while it calls TryStart or State, but
// not while it calls Done, Lost or Succeeded, which may call its listener.
//
// Start reading at [Endpoint.TryStart].
package governor
