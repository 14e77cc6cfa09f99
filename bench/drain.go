package bench

import (
	"context"
	"time"
)

const (
	// drainLimit bounds the wait for a server to be idle between two windows of load.
	drainLimit = 5 * time.Second
	// drainPings in a row have to be as quick as before the load, within drainFactor and
	// drainSlack, which is what timers and schedulers add.
	drainPings  = 5
	drainFactor = 3
	drainSlack  = time.Millisecond
)

// drain waits until the server answers as quickly as before the load, but not for long:
// what an earlier window left to do must not count against the next.
func (r *runRun) drain(ctx context.Context) error {
	limit := drainSlack
	if idle := r.result.IdlePing; idle != nil && idle.Count > 0 {
		limit += drainFactor * idle.Histogram.Quantile(0.5)
	}
	until := time.Now().Add(drainLimit)
	for _, s := range r.servers() {
		for quick := 0; quick < drainPings && time.Now().Before(until); {
			begin := time.Now()
			if _, err := s.watch.do(ctx, "PING"); err != nil {
				return err
			}
			if quick++; time.Since(begin) > limit {
				quick = 0
			}
		}
	}
	return ctx.Err()
}
