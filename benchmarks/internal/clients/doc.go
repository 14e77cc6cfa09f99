// Package clients sets up Evenkeel and the other Go clients side by side, each as its
// own documentation advises for many concurrent callers, behind one small interface.
//
// It never measures, never retries, and adds nothing to a call but one method call
// through an interface, the same for all. Each client's keys, values and contexts are
// the caller's own, so none pays for what another gets for free.
//
// Invariants: a value read is checked for its length by whoever asked, so that no
// client can win by not reading it; Close leaves no conn and no goroutine of ours.
//
// Start reading at spec.go; each client has a file of its own.
package clients
