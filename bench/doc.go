// Package bench measures what connections cost on a server: how much slower a
// new connection for each command is than reuse (Connect), how many connections
// a pool opens under load (Churn), what a fault does to callers and to the
// server (Storm), what connections at rest, a full server, slow readers, and
// passwords and TLS cost (Idle, MaxClients, SlowReaders, Layers), how far
// endpoints are (Zones), and where more pipelining (Pipeline; in small Depth) or
// more connections (Pool; in small PoolSize) stop to pay. Run sends a workload.
// The command line's bench and demo only parse flags and call it; a Go program
// can do the same.
//
// Each experiment has an options struct, made by its Default function, whose
// fields are taken literally: no number has a hidden meaning. Validate says what
// is out of bounds and what to do, Plan says before any load what will run. The
// result struct is the JSON document, with its schema as its first field, and
// renders itself with Text and Page. The sentences on a page are computed from
// the numbers beside them; none is a fixed claim.
//
// What the package never does: it prints nothing on its own, reads no
// environment variable, and keeps no password in a result. A server that it was
// given and that has no room or time for the Plan is refused before any load (a
// [RefusedError]), keys carry [KeyPrefix] and are removed at the end, and a private
// server is stopped however the run ends. Connections are counted as the server
// (or a relay before it) counts them, never by the client's own bookkeeping alone.
//
// Invariants: a measuring function that is cancelled returns what it has so far
// together with the context's error, the result marked as interrupted; results
// are safe to read from any goroutine once returned. Times in JSON carry their
// unit in the field's name. Latencies are merged histograms, never averages of
// averages, and error replies never count as successes.
//
// Start reading at options.go and an experiment's *_result.go; then server.go, what
// an experiment runs against, watcher.go, what the server counts, meter.go, the
// callers and their times, and the experiment itself, such as churn.go.
package bench
