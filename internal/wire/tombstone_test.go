package wire

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

// Callers that leave a silent server must not make leaving dearer for those after them: their tombstones are merged. The replies
// that come after all are swallowed one by one, and the next caller gets its own.
func TestTombstonesAreMerged(t *testing.T) {
	const callers = 200
	eachTransport(t, setup{}, func(r *rig) {
		r.net.Freeze(simnet.ToServer)
		var outcomes []<-chan outcome
		limit := func(i int) time.Duration { return time.Duration(10+i) * ms }
		for i := range callers { // one after the other, so that each is succeeded as the reader by the next
			outcomes = append(outcomes, r.start(r.within(limit(i)), 0, "ECHO", strconv.Itoa(i)))
		}
		for i, o := range outcomes {
			r.wantLeft(o, context.DeadlineExceeded, limit(i), limit(i)+slack)
		}
		synctest.Wait()
		r.c.mu.Lock()
		n := 0
		for k := r.c.head; k != nil; k = k.next {
			n++
		}
		r.c.mu.Unlock()
		if n != 1 {
			r.t.Errorf("%d tombstones of %d calls, want them merged into one", n, callers)
		}
		if owed := r.c.Owed(); owed != callers {
			r.t.Errorf("%d replies owed, want %d", owed, callers)
		}
		r.net.Thaw(simnet.ToServer)
		r.echo("after")
		if owed := r.c.Owed(); owed != 0 {
			r.t.Errorf("%d replies owed in the end", owed)
		}
	})
}
