// Package raw is the load engine that measures a server, not a client library: it
// sends requests that are encoded already, counts the replies without looking into
// them, and spends as little of the machine on itself as it can.
//
// [Run] takes a [Config] and gives a [Result]. Conns are split among workers. A
// worker owns its conns, its stream of requests, its histograms and its counters,
// and shares nothing with the other workers while it runs. On Linux a worker is one
// thread with an epoll of its own: it reads, counts, and writes the next requests
// straight from the read. Elsewhere, and with Config.Portable, it is goroutines over
// net.Conn, with the same counting.
//
// Closed loop (Rate 0): the next request of a conn waits for the reply to the one
// before, so that a slow server is asked less and what would have waited is never
// seen (coordinated omission). Open loop: requests start on a schedule that the
// server cannot delay; Response counts from the moment the schedule meant, Service
// from the write, and the difference is split into what the server's slowness cost
// (Busy: no conn had room) and what the engine cost (Late).
//
// What the package never does: it does not retry or reorder requests, drops no
// arrival of the schedule silently, never counts an error reply as a success, and
// never sends more than Config.Requests. It knows no commands and no client, reads
// no environment variable and prints nothing.
//
// Invariants: every request that was counted as sent is counted once more, as OK, as an
// error, or as Unanswered. A reply is timed by one reading of the monotonic clock after
// the read that brought its end. The steady state allocates nothing. Nothing that a
// server does, silence included, keeps a run from ending at its Duration or when its
// context is cancelled.
//
// Start reading at config.go and result.go; then worker.go, what both engines do with
// requests and replies, scanner.go, how replies are told apart, and reactor_linux.go or
// portable.go, how bytes move.
package raw
