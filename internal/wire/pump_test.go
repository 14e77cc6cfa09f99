package wire

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/internal/resp"
	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

// runPipeline sends a pipeline of n ECHO commands and checks the replies, if it ends well.
func (r *rig) runPipeline(ctx context.Context, timeout time.Duration, n, size int) error {
	raw, ends := pipeline(n, size)
	k := NewCall()
	k.Pipeline(raw, ends)
	values := make(slots, n)
	k.Into(values)
	if err := r.c.RoundTrip(ctx, k, timeout, 0); err != nil {
		return err
	}
	k.Free()
	for i := range values {
		if !strings.HasPrefix(values[i].Str, fmt.Sprint(i, "-")) || len(values[i].Str) < size {
			return fmt.Errorf("reply %d is %.20q", i, values[i].Str)
		}
	}
	return nil
}

// L1: neither side waits for the other to read.
func TestL1_LongPipelines(t *testing.T) {
	eachTransport(t, setup{net: simnet.Options{BufferSize: 4 << 10}}, func(r *rig) {
		for _, p := range []struct{ n, size int }{{1, 10}, {256, 10}, {257, 10}, {5000, 0}, {300, 5000}, {3, 300_000}, {1000, 1000}} {
			if err := r.runPipeline(r.within(10*time.Second), 0, p.n, p.size); err != nil {
				r.t.Errorf("%d commands of %d bytes: %v", p.n, p.size, err)
			}
			if n := r.c.Owed(); n != 0 {
				r.t.Errorf("%d replies owed", n)
			}
		}
	})
}

func TestL3_ErrorsOfSingleCommands(t *testing.T) {
	inBubble(t, setup{}, func(r *rig) {
		k := NewCall()
		k.Words("SET", "present", "v")
		k.Words("NOSUCH")
		k.Words("GET", "missing")
		k.Words("GET", "present")
		v := make(slots, 4)
		k.Into(v)
		if err := r.c.RoundTrip(context.Background(), k, 0, 0); err != nil {
			r.t.Fatal(err)
		}
		k.Free()
		if v[0].Str != "OK" || v[1].Kind != resp.KindError || !v[2].IsNull() || v[3].Str != "v" {
			r.t.Errorf("%+v", v)
		}
	})
}

// The caller of a long pipeline leaves: only what was sent is owed a reply, and nothing is taken from the next call.
func TestA1_LeavingALongPipeline(t *testing.T) {
	s := setup{}
	s.handler = func(q *evenkeeltest.Request) evenkeeltest.Reply {
		switch {
		case strings.HasPrefix(q.Arg(1), "300-"): // in the second window
			return evenkeeltest.Default().After(50 * ms)
		case strings.HasPrefix(q.Arg(1), "100-"): // in the first one
			return evenkeeltest.Default().After(20 * ms)
		}
		return answerAfter(q)
	}
	leave := map[string]func(r *rig, d time.Duration) (context.Context, time.Duration){
		"deadline": func(r *rig, d time.Duration) (context.Context, time.Duration) { return r.within(d), 0 },
		"timeout":  func(_ *rig, d time.Duration) (context.Context, time.Duration) { return context.Background(), d },
		"cancel": func(r *rig, d time.Duration) (context.Context, time.Duration) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(d, cancel)
			return ctx, 0
		},
	}
	for name, limit := range leave {
		t.Run(name, func(t *testing.T) {
			eachTransport(t, s, func(r *rig) {
				// 20 ms: in the very instant in which all that was sent is answered, or before or after it.
				for _, d := range []time.Duration{7 * ms, 20 * ms, 30 * ms} {
					ctx, timeout := limit(r, d)
					start := time.Now()
					err := r.runPipeline(ctx, timeout, 2000, 10)
					if _, ok := errors.AsType[*LeftError](err); !ok || time.Since(start) > d+slack {
						r.t.Errorf("%v: ended with %v after %v", d, err, time.Since(start))
					}
					r.echo("next")
					pass(time.Second)
					if n := r.c.Owed(); n != 0 {
						r.t.Fatalf("%v: %d replies owed", d, n)
					}
					// As a follower: the reply to somebody who left is awaited first, by a drainer.
					gone := r.start(r.within(3*ms), 0, "DELAYED", "100ms", "gone")
					r.wantLeft(gone, context.DeadlineExceeded, 3*ms, 3*ms+slack)
					ctx, timeout = limit(r, d)
					if err = r.runPipeline(ctx, timeout, 2000, 10); err == nil {
						r.t.Error("no error")
					}
					r.echo("next")
					pass(time.Second)
					if n := r.c.Owed(); n != 0 {
						r.t.Fatalf("%v: %d replies owed after leaving as a follower", d, n)
					}
				}
				synctest.Wait()
				checkCalls(r.t)
			})
		})
	}
}

// All that was sent has been answered when the caller's time is up: it leaves no tombstone, which would swallow the next call's
// reply. The time passes in OnPush, between the last reply and the reader's look at its clock.
func TestA1_LeavingAPipelineBetweenWindows(t *testing.T) {
	s := setup{
		opts: Options{OnPush: func(*Conn, resp.Value) { pass(20 * ms) }},
		handler: func(q *evenkeeltest.Request) evenkeeltest.Reply {
			switch i, _, _ := strings.Cut(q.Arg(1), "-"); {
			case len(q.Arg(1)) < 10:
				return evenkeeltest.Default()
			case i == strconv.Itoa(firstWindow-1): // all of the window at once
				return evenkeeltest.Raw(strings.Repeat(":1\r\n", firstWindow) + ">1\r\n+note\r\n").After(ms)
			}
			return evenkeeltest.Omit()
		},
	}
	for _, byContext := range []bool{true, false} {
		inBubble(t, s, func(r *rig) {
			ctx, timeout := context.Background(), 20*ms
			if byContext {
				ctx, timeout = r.within(20*ms), 0
			}
			if err := r.runPipeline(ctx, timeout, 2000, 10); err == nil {
				r.t.Error("no error")
			}
			a := r.start(context.Background(), 0, "ECHO", "a")
			b := r.start(context.Background(), 0, "ECHO", "b")
			r.want(a, "a", 0)
			r.want(b, "b", 0)
			if n := r.c.Owed(); n != 0 {
				r.t.Errorf("%d replies owed", n)
			}
		})
	}
}
