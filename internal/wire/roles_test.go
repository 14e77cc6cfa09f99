package wire

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/internal/resp"
	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

const (
	ms = time.Millisecond

	// slack is how late a call may return: the promise is its deadline and a millisecond.
	slack = ms
)

func TestLoneCallerAndCompany(t *testing.T) {
	eachTransport(t, setup{}, func(r *rig) {
		r.echo("alone")
		for i := range 50 {
			r.wg.Go(func() {
				for j := range 20 {
					r.echo(fmt.Sprint(i, "-", j))
				}
			})
		}
		r.wg.Wait()
		if n := r.c.Owed(); n != 0 {
			r.t.Errorf("%d replies owed", n)
		}
	})
}

func TestCallWithoutCommands(t *testing.T) {
	inBubble(t, setup{}, func(r *rig) {
		k := NewCall()
		k.Pipeline(nil, nil)
		if err := r.c.RoundTrip(context.Background(), k, 0, 0); err != nil {
			r.t.Error(err)
		}
		k.Free()
		r.echo("next")
	})
}

func TestA1_ReaderLeavesByDeadline(t *testing.T) {
	eachTransport(t, setup{handler: answerAfter}, func(r *rig) {
		a := r.start(r.within(50*ms), 0, "DELAYED", "100ms", "a")
		b := r.start(context.Background(), 0, "ECHO", "b")
		c := r.start(r.within(time.Second), 0, "ECHO", "c")
		r.wantLeft(a, context.DeadlineExceeded, 50*ms, 50*ms+slack)
		r.want(b, "b", 100*ms)
		r.want(c, "c", 100*ms)
		r.echo("after")
	})
}

func TestA1_ReaderLeavesByCancel(t *testing.T) {
	for _, at := range []time.Duration{0, ms, 4 * ms, 5 * ms, 20 * ms} {
		t.Run(at.String(), func(t *testing.T) {
			eachTransport(t, setup{handler: answerAfter}, func(r *rig) {
				ctx, cancel := context.WithCancel(context.Background())
				a := r.start(ctx, 0, "DELAYED", "100ms", "a")
				b := r.start(context.Background(), 0, "ECHO", "b")
				pass(at)
				cancel()
				r.wantLeft(a, context.Canceled, at, max(at, time.Duration(cancelGrace))+slack)
				r.want(b, "b", 100*ms)
				r.echo("after")
			})
		})
	}
}

// A reader whose reply trickles in never blocks for long: it must notice the end of its context all the same.
func TestM3_ReaderLeavesWhileBytesKeepComing(t *testing.T) {
	big := make([]byte, 1000)
	s := setup{handler: func(q *evenkeeltest.Request) evenkeeltest.Reply {
		if q.Name == "BIG" {
			return evenkeeltest.Bulk(string(big))
		}
		return evenkeeltest.Default()
	}}
	inBubble(t, s, func(r *rig) {
		r.link().Trickle(simnet.ToClient, 1, ms)
		ctx, cancel := context.WithCancel(context.Background())
		a := r.start(ctx, 0, "BIG")
		pass(50 * ms)
		cancel()
		r.wantLeft(a, context.Canceled, 50*ms, 50*ms+slack)
		b := r.start(r.within(50*ms), 0, "BIG")
		r.wantLeft(b, context.DeadlineExceeded, 50*ms, 50*ms+slack)
		c := r.start(context.Background(), 50*ms, "BIG")
		r.wantLeft(c, ErrTimeout, 50*ms, 50*ms+slack)
		r.link().Trickle(simnet.ToClient, 0, 0)
		r.echo("after")
	})
}

func TestFollowersLeaveAtOnce(t *testing.T) {
	eachTransport(t, setup{handler: answerAfter}, func(r *rig) {
		a := r.start(context.Background(), 0, "DELAYED", "100ms", "a")
		ctx, cancel := context.WithCancel(context.Background())
		b := r.start(ctx, 0, "ECHO", "b")
		c := r.start(r.within(30*ms), 0, "ECHO", "c")
		d := r.start(context.Background(), 40*ms, "ECHO", "d")
		e := r.start(context.Background(), 0, "ECHO", "e")
		pass(20 * ms)
		cancel()
		r.wantLeft(b, context.Canceled, 20*ms, 20*ms)
		r.wantLeft(c, context.DeadlineExceeded, 30*ms, 30*ms)
		r.wantLeft(d, ErrTimeout, 40*ms, 40*ms+slack)
		r.want(a, "a", 100*ms)
		r.want(e, "e", 100*ms)
	})
}

// The reader's reply and the followers' deadlines fall on the same instant: whoever is handed the role then must take it or
// hand it on.
func TestLeavingInTheInstantOfTheHandOver(t *testing.T) {
	eachTransport(t, setup{handler: answerAfter}, func(r *rig) {
		for i := range 50 {
			a := r.start(context.Background(), 0, "DELAYED", "10ms", "a")
			ctx, cancel := context.WithCancel(context.Background())
			var leaving []<-chan outcome
			for range 3 {
				leaving = append(leaving, r.start(ctx, 0, "DELAYED", "5ms", "late"), r.start(r.within(10*ms), 0, "ECHO", "late"),
					r.start(context.Background(), 10*ms, "ECHO", "late"))
			}
			last := r.start(context.Background(), 0, "ECHO", "last")
			pass(10 * ms)
			cancel()
			r.want(a, "a", 10*ms)
			for _, ch := range leaving {
				if o := <-ch; o.err == nil && o.reply != "late" || o.after > 10*ms+time.Duration(cancelGrace)+slack {
					r.t.Errorf("round %d: %+v", i, o)
				}
			}
			r.want(last, "last", 25*ms)
		}
		checkCalls(r.t)
	})
}

func TestDrainerReadsForThoseWhoLeft(t *testing.T) {
	eachTransport(t, setup{handler: answerAfter}, func(r *rig) {
		for range 3 {
			a := r.start(r.within(10*ms), 0, "DELAYED", "50ms", "a")
			b := r.start(context.Background(), 10*ms, "ECHO", "b")
			r.wantLeft(a, context.DeadlineExceeded, 10*ms, 10*ms+slack)
			r.wantLeft(b, ErrTimeout, 10*ms, 10*ms+slack)
			if n := r.c.Owed(); n != 2 {
				r.t.Errorf("%d replies owed, want 2", n)
			}
			drained := make(chan error, 1)
			r.c.AfterDrain(func(err error) { drained <- err })
			if err := <-drained; err != nil {
				r.t.Error(err)
			}
			synctest.Wait()
			if n := r.c.Owed(); n != 0 {
				r.t.Errorf("%d replies owed", n)
			}
			r.checkReleased()
		}
		// A caller that comes while the drainer reads gets its reply from it, and the role after that.
		a := r.start(r.within(10*ms), 0, "DELAYED", "50ms", "a")
		r.wantLeft(a, context.DeadlineExceeded, 10*ms, 10*ms+slack)
		b := r.start(context.Background(), 0, "ECHO", "b")
		c := r.start(context.Background(), 0, "DELAYED", "50ms", "c")
		r.want(b, "b", 40*ms)
		r.want(c, "c", 90*ms)
	})
}

func TestTimeoutsOfReaderAndFollowers(t *testing.T) {
	eachTransport(t, setup{handler: answerAfter, opts: Options{StallTimeout: 10 * time.Second}}, func(r *rig) {
		for i := range 20 {
			a := r.start(context.Background(), 50*ms, "DELAYED", "100ms", "a") // the reader
			b := r.start(context.Background(), 30*ms, "ECHO", "b")             // earlier than the watch was set for
			c := r.start(context.Background(), 0, "ECHO", "c")
			r.wantLeft(b, ErrTimeout, 30*ms, 30*ms+slack)
			r.wantLeft(a, ErrTimeout, 50*ms, 50*ms+slack)
			checkCalls(r.t)
			r.want(c, "c", 100*ms)
			r.echo(fmt.Sprint("round ", i))
		}
	})
}

// The flusher waits for its write, and its limit passes meanwhile or its own reply comes: the watch and the others go on.
func TestFlusherWhoseTimeIsUp(t *testing.T) {
	s := setup{net: simnet.Options{BufferSize: 64}, handler: answerAfter}
	inBubble(t, s, func(r *rig) {
		r.net.Freeze(simnet.ToServer)
		big := string(make([]byte, 1000))
		a := r.start(context.Background(), 20*ms, "ECHO", big)
		b := r.start(r.within(30*ms), 0, "ECHO", "b")
		c := r.start(context.Background(), 0, "ECHO", "c")
		r.wantLeft(a, ErrTimeout, 20*ms, 20*ms+slack)
		r.wantLeft(b, context.DeadlineExceeded, 30*ms, 30*ms+slack)
		pass(10 * ms)
		r.net.Thaw(simnet.ToServer)
		if o := <-c; o.err != nil || o.reply != "c" {
			r.t.Errorf("%+v", o)
		}
		checkCalls(r.t)
	})
}

// A caller is nudged to mind its context while it is busy writing: it must be nudged again.
func TestNudgeOfAFlusher(t *testing.T) {
	s := setup{net: simnet.Options{BufferSize: 64}, opts: Options{MaxQueue: 2}, handler: answerAfter}
	eachTransport(t, s, func(r *rig) {
		a := r.start(context.Background(), 0, "DELAYED", "10ms", "a")
		b := r.start(context.Background(), 0, "DELAYED", "200ms", "b")
		c := r.start(r.within(90*ms), 0, "ECHO", string(make([]byte, 1000))) // there is room for it after 10 ms
		pass(8 * ms)
		r.net.Freeze(simnet.ToServer)
		r.want(a, "a", 10*ms)
		r.wantLeft(c, context.DeadlineExceeded, 90*ms, 90*ms+slack)
		r.net.Thaw(simnet.ToServer)
		<-b
	})
}

// E4: a server that does not read delays nobody past its deadline, however much is to be written.
func TestE4_FrozenServerDelaysNobody(t *testing.T) {
	for _, size := range []int{10, 10_000} {
		s := setup{
			net:  simnet.Options{BufferSize: 4 << 10},
			opts: Options{MaxQueue: 500, MaxQueueSize: 100_000},
		}
		eachTransport(t, s, func(r *rig) {
			r.net.Freeze(simnet.ToServer)
			value := string(make([]byte, size))
			var late atomic.Int64
			for i := range 1000 {
				r.wg.Go(func() {
					ctx, timeout := context.Background(), 50*ms
					if i%2 == 0 {
						ctx, timeout = r.within(50*ms), 0
					}
					o := do(ctx, r.c, timeout, "ECHO", value)
					if _, ok := o.err.(*LeftError); !ok || o.after < 50*ms { //nolint:errorlint // it is not wrapped
						r.t.Errorf("%v after %v", o.err, o.after)
					}
					if o.after > 50*ms+slack {
						late.Add(1)
					}
				})
			}
			r.wg.Wait()
			if n := late.Load(); n > 0 {
				r.t.Errorf("%d callers returned late", n)
			}
			r.net.Thaw(simnet.ToServer)
			r.echo("thawed")
		})
	}
}

func TestQueueFull(t *testing.T) {
	s := setup{handler: answerAfter, opts: Options{MaxQueue: 2}}
	inBubble(t, s, func(r *rig) {
		a := r.start(context.Background(), 0, "DELAYED", "50ms", "a")
		b := r.start(context.Background(), 0, "ECHO", "b")
		c := r.start(r.within(20*ms), 0, "ECHO", "c")
		d := r.start(context.Background(), 30*ms, "ECHO", "d")
		ctx, cancel := context.WithCancel(context.Background())
		e := r.start(ctx, 0, "ECHO", "e")
		f := r.start(context.Background(), 0, "ECHO", "f")
		pass(10 * ms)
		cancel()
		for _, w := range []struct {
			ch    <-chan outcome
			cause error
			after time.Duration
		}{{c, context.DeadlineExceeded, 20 * ms}, {d, ErrTimeout, 30 * ms}, {e, context.Canceled, 10 * ms}} {
			o := <-w.ch
			if left, ok := o.err.(*LeftError); !ok || !left.Full || left.Sent || left.Cause != w.cause || o.after != w.after { //nolint:errorlint // it is not wrapped
				r.t.Errorf("%v after %v, want %v of a full queue after %v", o.err, o.after, w.cause, w.after)
			}
		}
		r.want(a, "a", 50*ms)
		r.want(b, "b", 50*ms)
		r.want(f, "f", 50*ms)

		// An empty queue takes a call of any size.
		k := NewCall()
		raw, ends := pipeline(10, 1)
		k.Raw(raw, len(ends))
		if err := r.c.RoundTrip(context.Background(), k, 0, 0); err != nil {
			r.t.Error(err)
		}
		k.Free()

		// Those who wait for room learn that the conn has failed.
		a = r.start(context.Background(), 0, "DELAYED", "50ms", "a")
		b = r.start(context.Background(), 0, "ECHO", "b")
		c = r.start(context.Background(), 0, "ECHO", "c")
		r.c.Close(nil)
		for _, ch := range []<-chan outcome{a, b, c} {
			if o := <-ch; !isConnError(o.err, ErrClosed) {
				r.t.Errorf("%v, want %v", o.err, ErrClosed)
			}
		}
	})
}

// Room that a write makes is given at once, not only when the next reply comes.
func TestQueueOfBytesFull(t *testing.T) {
	s := setup{net: simnet.Options{BufferSize: 1 << 10}, opts: Options{MaxQueueSize: 4000}, handler: func(q *evenkeeltest.Request) evenkeeltest.Reply {
		if q.Name == "HOLD" {
			return evenkeeltest.Bulk("held").After(time.Second)
		}
		return evenkeeltest.Default()
	}}
	inBubble(t, s, func(r *rig) {
		a := r.start(context.Background(), 0, "HOLD")
		r.net.Freeze(simnet.ToServer)
		value := string(make([]byte, 3000))
		b := r.start(context.Background(), 0, "ECHO", value)
		pass(2 * ms) // it is being written
		c := r.start(context.Background(), 0, "ECHO", value)
		d := r.start(context.Background(), 0, "ECHO", "d")
		full := r.start(r.within(500*ms), 0, "ECHO", value)
		pass(100 * ms)
		r.net.Thaw(simnet.ToServer)
		synctest.Wait()
		if n := r.c.Owed(); n != 5 {
			r.t.Errorf("%d replies owed, want 5: there is room", n)
		}
		r.wantLeft(full, context.DeadlineExceeded, 500*ms, 500*ms)
		r.want(a, "held", time.Second)
		for _, ch := range []<-chan outcome{b, c, d} {
			if o := <-ch; o.err != nil {
				r.t.Error(o.err)
			}
		}
	})
}

// K2: a push is no reply, whoever is waiting or not.
func TestK2_PushesBetweenReplies(t *testing.T) {
	var pushes atomic.Int64
	s := setup{
		handler: answerAfter,
		opts: Options{OnPush: func(_ *Conn, v resp.Value) {
			if v.Kind == resp.KindPush && v.Elems[0].Str == "note" {
				pushes.Add(1)
			}
		}},
	}
	eachTransport(t, s, func(r *rig) {
		pushes.Store(0)
		note := evenkeeltest.Push(evenkeeltest.Bulk("note"), evenkeeltest.Int(1))
		conn := r.fake.Conns()[0]
		for split := range 3 {
			r.link().Split(simnet.ToClient, split)
			conn.Push(note)
			r.echo("after a push")
			conn.Push(note) // it comes while nobody reads
			synctest.Wait()
			r.echo("with a push waiting")
			a := r.start(r.within(5*ms), 0, "DELAYED", "10ms", "a")
			conn.Push(note) // among what a tombstone swallows
			r.wantLeft(a, context.DeadlineExceeded, 5*ms, 5*ms+slack)
			r.echo("last")
		}
		conn.Push(note)
		synctest.Wait()
		pass(5 * time.Second) // long idle: the probe finds it
		if !r.c.Alive() || r.c.Err() != nil {
			r.t.Errorf("a push has cost the conn: %v", r.c.Err())
		}
		r.echo("the rest of the push comes first")
		if n := pushes.Load(); n != 10 {
			r.t.Errorf("%d pushes seen, want 10", n)
		}
	})
}

func TestLostRepliesAreTold(t *testing.T) {
	inBubble(t, setup{handler: answerAfter}, func(r *rig) {
		for _, timeout := range []time.Duration{0, 10 * ms} { // left by its context, or buried
			lost := make(chan string, 1)
			k := NewCall()
			k.Words("DELAYED", "20ms", "element")
			k.OnLost(func(v resp.Value) { lost <- v.Str })
			ctx := context.Background()
			if timeout == 0 {
				ctx = r.within(10 * ms)
			}
			if err := r.c.RoundTrip(ctx, k, timeout, 0); err == nil {
				r.t.Error("no error")
			}
			if s := <-lost; s != "element" {
				r.t.Errorf("lost %q", s)
			}
		}
	})
}

// TestFlusherIsRelieved: while the flusher lets others append, the one who makes the batch big enough writes it, and the flusher
// finds that it is none any more. A batch that is small beside what is owed is left to grow.
func TestFlusherIsRelieved(t *testing.T) {
	inBubble(t, setup{}, func(r *rig) {
		c, ctx := r.c, context.Background()
		enter := func(word string, want bool) (k *Call, w *[]byte, tenure int64) {
			k = NewCall()
			k.Words("ECHO", word)
			k.ch, k.virtual = make(chan struct{}, 1), true
			c.mu.Lock()
			defer c.mu.Unlock()
			w, lead := c.appendLocked(k)
			if lead {
				c.flusher = k
			}
			if lead != want {
				r.t.Errorf("%s is the flusher: %v, want %v", word, lead, want)
			}
			return k, w, c.tenure
		}
		one, w, first := enter("one", true)
		if w != nil {
			r.t.Error("the first was given something to write, and should let others append")
		}
		const others = 7
		c.owed.Add(others) // as if batches were under way
		two, _, _ := enter("two", false)
		c.owed.Add(-others)
		three, w, second := enter("three", true)
		if w == nil {
			r.t.Fatal("the third was given nothing to write")
		}
		if c.flush(one, nil, first) {
			r.t.Error("who has been relieved took the reader role")
		}
		if !c.flush(three, w, second) {
			r.t.Error("nobody reads")
		}
		r.wg.Go(func() { _ = c.read(ctx, three) })
		for k, want := range map[*Call]string{one: "one", two: "two", three: "three"} {
			if k != three {
				if err := c.wait(ctx, k, false); err != nil {
					r.t.Error(err)
				}
			}
			r.wg.Wait()
			if got := k.Reply().Str; got != want {
				r.t.Errorf("got %q, want %q", got, want)
			}
			k.Free()
		}
	})
}
