package bench

import (
	"context"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// dialTimes are how long a dial and its phases took; a phase that did not happen
// took 0.
type dialTimes struct {
	evenkeel.Timings
	// Total runs from wanting the conn to having it, closing not included.
	Total time.Duration
}

// timedDial opens a conn and says what it took. It is the one way in which the
// experiments measure a dial's phases.
func timedDial(ctx context.Context, cfg evenkeel.Config) (*evenkeel.Conn, dialTimes, error) {
	begin := time.Now()
	conn, err := evenkeel.Dial(ctx, cfg)
	t := dialTimes{Total: time.Since(begin)}
	if err != nil {
		return nil, t, err
	}
	t.Timings = conn.Info().Timings
	return conn, t, nil
}
