// Package experiment measures the clients in turns: what each of them does with the
// same load on the same server, a short slot at a time.
//
// It never judges: it hands each slot to a sink and forgets it. It never compares what
// was measured minutes apart: a round visits every case, and in each case every client,
// in shuffled order, so that slots that will be compared lie side by side in time. It
// never runs two clients at once.
//
// Invariants: each slot has a client of its own, opened before and closed after it, with
// the heap collected in between, so that nobody pays for what another left behind; all
// clients are timed by the same code with the same sampling; every reply is checked.
// When the context ends, the slot under way is dropped and the error returned.
//
// Start reading at rounds.go, then at the experiment you care for: closed.go,
// pipeline.go, allocs.go, memory.go and pool.go.
package experiment
