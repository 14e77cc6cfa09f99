// Package measure reads what a slot costs: CPU time of this process, of the server and
// of the machine, heap allocations, and the server's own counts.
//
// It never measures anything by itself or in the background: each function reads a
// counter once, and its caller subtracts. Where a system has no such counter, ok is
// false and the metric is left out. All functions are safe for concurrent use.
//
// Invariant: the counters only grow, so that a difference is never negative.
//
// Start reading at usage.go.
package measure
