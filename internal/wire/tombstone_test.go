package wire

import (
	"context"
	"strconv"
	"testing"

	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

// Callers that leave a silent server must not make leaving dearer for those after them: their tombstones are merged. The replies
// that come after all are swallowed one by one, and the next caller gets its own.
func TestTombstonesAreMerged(t *testing.T) {
	const callers, rounds = 20, 10
	eachTransport(t, setup{}, func(r *rig) {
		r.net.Freeze(simnet.ToServer)
		for range rounds {
			var outcomes []<-chan outcome
			for i := range callers {
				outcomes = append(outcomes, r.start(r.within(10*ms), 0, "ECHO", strconv.Itoa(i)))
			}
			for _, o := range outcomes {
				r.wantLeft(o, context.DeadlineExceeded, 10*ms, 10*ms+slack)
			}
		}
		r.c.mu.Lock()
		n := 0
		for k := r.c.head; k != nil; k = k.next {
			n++
		}
		r.c.mu.Unlock()
		if n != 1 {
			r.t.Errorf("%d tombstones, want them merged into one", n)
		}
		if owed := r.c.Owed(); owed != callers*rounds {
			r.t.Errorf("%d replies owed, want %d", owed, callers*rounds)
		}
		r.net.Thaw(simnet.ToServer)
		r.echo("after")
		if owed := r.c.Owed(); owed != 0 {
			r.t.Errorf("%d replies owed in the end", owed)
		}
	})
}
