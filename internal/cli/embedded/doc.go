// Package embedded is the server that evenkeel demo falls back to on a machine that
// has neither redis-server nor valkey-server: miniredis, in this very process.
//
// What it never does: stand in for a real server where times matter. It shares the
// CPUs with the load, so that only its counts mean something, and these are taken
// where conns are accepted.
//
// Invariant: after Close no conn and no goroutine of it is left.
//
// Start reading at Start.
package embedded
