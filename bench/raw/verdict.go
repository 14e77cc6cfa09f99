package raw

import (
	"fmt"
	"time"
)

// The limits of a Verdict.
const (
	// boundShare: a thread that has less than a twentieth of its time left is never long
	// without work, so replies waited for it, however fast the server was.
	boundShare = 0.95
	// lateShare and lateLimit: a schedule that is kept to a tenth of the gap between the
	// requests of a worker still has its form; a millisecond is where lateness begins to
	// show in the latencies that people set goals for. The larger of the two is allowed
	// at low rates, the millisecond at high ones.
	lateLimit = time.Millisecond
	lateShare = 0.1
)

// Verdict says whether the generator, and not the server, set the figures.
//
// In closed loop the rule is the CPU of the workers: when one used more than 95 % of a
// processor, replies lay waiting for it, and the throughput is a lower bound of what the
// server can do, the latencies an upper bound. In open loop it is how late requests were
// written although a conn had room: when the 99th percentile of that lag is over 1 ms,
// or over a tenth of the gap between two requests of a worker where that is more, the load was not the
// one asked for, and the latencies contain the generator's own.
type Verdict struct {
	// GeneratorBound says that the figures are bounds.
	GeneratorBound bool
	// Reason is one line: what was measured, against which limit.
	Reason string
}

// judge fills in the verdict.
func (r *Result) judge(cfg *Config) {
	most, known := 0.0, false
	for i := range r.Workers {
		w := &r.Workers[i]
		most = max(most, w.Busy())
		known = known || w.User+w.System > 0
	}
	if cfg.Rate > 0 {
		gap := time.Duration(float64(time.Second) * float64(cfg.Workers) / cfg.Rate)
		limit := max(lateLimit, time.Duration(lateShare*float64(gap)))
		late := r.Late.Quantile(0.99)
		r.Verdict = Verdict{
			GeneratorBound: late > limit,
			Reason:         fmt.Sprintf("send lag of the generator p99 %s, limit %s", late.Round(time.Microsecond), limit.Round(time.Microsecond)),
		}
		return
	}
	if !known {
		r.Verdict.Reason = "the CPU of the workers is not known here"
		return
	}
	r.Verdict = Verdict{
		GeneratorBound: most > boundShare,
		Reason:         fmt.Sprintf("the busiest of %d workers used %.0f %% of a processor, limit %.0f %%", len(r.Workers), most*100, boundShare*100),
	}
}
