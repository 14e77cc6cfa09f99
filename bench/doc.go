// Package bench measures what connections cost on a server, and what load does to it.
// Experiments ask one question each: what a new connection for each command costs
// (Connect) and which layer of it (Layers), how many connections a pool opens under load
// (Churn), what a fault does (Storm), what connections that do nothing (Idle), a full
// server (MaxClients) and slow clients (SlowReaders) cost, how far endpoints are (Zones),
// and how deep a pipeline (Pipeline) and how large a pool (Pool) should be; Depth and
// PoolSize are the small forms of these two that Demo has time for. Run sends a workload
// of one's own. The command line's bench and demo only parse flags and call it; a Go
// program can do the same.
//
// What is sent is package bench/workload, the engine that sends it without a client
// bench/raw, its histograms bench/hist, and other tools' forms of output bench/dialect.
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
// callers and their times, and the experiment itself, such as churn.go. Of a run: run.go,
// run_series.go, its time series, journal.go, how it survives a crash, and saved.go, how
// results are read again.
package bench
