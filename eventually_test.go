package evenkeel_test

import (
	"testing"
	"time"
)

// eventually waits for something to hold, for so long at most as limit says on a machine that keeps up: it counts ticks, which a
// starved one drops, and allows for twice as many.
func eventually(tb testing.TB, limit time.Duration, what string, cond func() bool) {
	tb.Helper()
	const step = 5 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	start := time.Now()
	for ticks := 2 * limit / step; !cond(); ticks-- {
		if ticks == 0 {
			tb.Fatalf("not within %v, nor within %v: %s", limit, time.Since(start).Round(step), what)
		}
		<-tick.C
	}
}
