package evenkeel_test

import (
	"testing"
	"time"
)

// eventually waits until cond holds, looking every few milliseconds, and fails the test when it does not within the limit.
func eventually(tb testing.TB, limit time.Duration, what string, cond func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline.C:
			tb.Fatalf("not within %v: %s", limit, what)
		}
	}
}
