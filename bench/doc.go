// Package bench measures what connections cost on a server: how much slower a
// new connection for each command is than reuse (Connect), how many connections
// a pool opens under load (Churn), what a fault does to callers and to the
// server (Storm), and where more pipelining (Depth) or more connections
// (PoolSize) stop to pay. The command line's bench and demo only parse flags and
// call it; a Go program can do the same.
//
// Each experiment has an options struct, made by its Default function, whose
// fields are taken literally: no number has a hidden meaning. Validate says what
// is out of bounds and what to do, Plan says before any load what will run. The
// result struct is the JSON document, with its schema as its first field, and
// renders itself with Text and Page. The sentences on a page are computed from
// the numbers beside them; none is a fixed claim.
//
// What the package never does: it prints nothing on its own, reads no
// environment variable, keeps no password in a result, and puts no load on a
// server it was given before the caller has seen the Plan. Connections are
// counted as the server (or a relay before it) counts them, never by the
// client's own bookkeeping alone.
//
// Invariants: a measuring function that is cancelled returns what it has so far
// together with the context's error, the result marked as interrupted; results
// are safe to read from any goroutine once returned. Times in JSON carry their
// unit in the field's name. Latency is recorded in one [Latency] per worker and
// merged afterwards, and error replies never count as successes.
//
// Start reading at options.go, then the experiment's *_result.go.
package bench
