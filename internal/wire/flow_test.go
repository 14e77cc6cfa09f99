package wire

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

// TestLargeValueOnASlowNetwork: a request or a reply that takes many times the stall timeout to pass is no stall while it flows; one that
// drips is, and so is one that stops half way.
func TestLargeValueOnASlowNetwork(t *testing.T) {
	const (
		size  = 1 << 20
		stall = 200 * ms
		piece = 16 << 10
	)
	large := strings.Repeat("v", size)
	handler := func(q *evenkeeltest.Request) evenkeeltest.Reply {
		switch q.Name {
		case "LARGE":
			return evenkeeltest.Bulk(large)
		case "LENGTH":
			return evenkeeltest.Int(int64(len(q.Arg(1))))
		}
		return evenkeeltest.Default()
	}
	for name, test := range map[string]struct {
		words   []string
		dir     simnet.Direction
		gap     time.Duration
		stops   bool // half way
		stalled bool
	}{
		"a reply flows":     {words: []string{"LARGE"}, dir: simnet.ToClient, gap: 5 * ms},
		"a reply drips":     {words: []string{"LARGE"}, dir: simnet.ToClient, gap: 100 * ms, stalled: true},
		"a reply stops":     {words: []string{"LARGE"}, dir: simnet.ToClient, gap: 5 * ms, stops: true, stalled: true},
		"a request flows":   {words: []string{"LENGTH", large}, dir: simnet.ToServer, gap: 2 * ms},
		"a request stops":   {words: []string{"LENGTH", large}, dir: simnet.ToServer, gap: 2 * ms, stops: true, stalled: true},
		"a request goes by": {words: []string{"LENGTH", "short"}, dir: simnet.ToServer, gap: 20 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			var stalls atomic.Int32
			s := setup{handler: handler, opts: Options{StallTimeout: stall}, net: simnet.Options{BufferSize: 32 << 10}}
			s.opts.OnStall = func(c *Conn) {
				if c.Stalled() {
					stalls.Add(1)
					c.Close(ErrStalled)
				}
			}
			eachTransport(t, s, func(r *rig) {
				stalls.Store(0)
				r.link().Trickle(test.dir, piece, test.gap)
				ch := r.start(context.Background(), 0, test.words...)
				if test.stops {
					pass(100 * ms)
					r.link().Freeze(test.dir)
				}
				o := <-ch
				if n := stalls.Load(); (n > 0) != test.stalled || (o.err != nil) != test.stalled {
					r.t.Errorf("%d stalls, error %v, after %v", n, o.err, o.after)
				}
				if test.stalled && o.after > 100*ms+2*stall+slack {
					r.t.Errorf("the stall was seen after %v", o.after)
				}
			})
		})
	}
}

// TestPushesAreNoProgress: what a server pushes, however much, does not put off a reply that never comes.
func TestPushesAreNoProgress(t *testing.T) {
	const stall = 200 * ms
	var stalls atomic.Int32
	s := setup{opts: Options{StallTimeout: stall}, handler: func(q *evenkeeltest.Request) evenkeeltest.Reply {
		if q.Name == "NEVER" {
			return evenkeeltest.Push(evenkeeltest.Bulk("large"), evenkeeltest.Bulk(strings.Repeat("p", 4<<20)))
		}
		return evenkeeltest.Default()
	}}
	s.opts.OnStall = func(c *Conn) {
		stalls.Add(1)
		c.Close(ErrStalled)
	}
	inBubble(t, s, func(r *rig) {
		r.link().Trickle(simnet.ToClient, 16<<10, 10*ms)
		if o := do(context.Background(), r.c, 0, "NEVER"); !isConnError(o.err, ErrStalled) || o.after > stall+slack {
			r.t.Errorf("%v after %v, want a stall", o.err, o.after)
		}
	})
}
