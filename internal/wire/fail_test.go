package wire

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/internal/resp"
	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

func isConnError(err, cause error) bool {
	_, ok := errors.AsType[*ConnError](err)
	return ok && errors.Is(err, cause)
}

func TestCloseEndsEveryCall(t *testing.T) {
	var closed chan error
	s := setup{handler: answerAfter, tune: func(cfg *Config) {
		closed = make(chan error, 1)
		cfg.Conn.OnClose = func(_ *Conn, err error) { closed <- err }
	}}
	eachTransport(t, s, func(r *rig) {
		reason := errors.New("reason")
		var calls []<-chan outcome
		calls = append(calls, r.start(context.Background(), 0, "DELAYED", "1s", "a"))
		for range 10 {
			calls = append(calls, r.start(r.within(time.Second), 0, "ECHO", "b"))
		}
		gone := r.start(r.within(10*ms), 0, "ECHO", "gone")
		r.wantLeft(gone, context.DeadlineExceeded, 10*ms, 10*ms)
		drained := make(chan error, 2)
		r.c.AfterDrain(func(err error) { drained <- err })
		pass(10 * ms)
		r.c.Close(reason)
		r.c.Close(errors.New("second"))
		for _, ch := range calls {
			o := <-ch
			if failed, ok := errors.AsType[*ConnError](o.err); !ok || !errors.Is(failed.Cause, reason) || !failed.MayHaveRun || failed.Elapsed != 20*ms {
				r.t.Errorf("%#v", o.err)
			}
		}
		<-r.c.Done()
		if err := <-closed; !errors.Is(err, reason) {
			r.t.Errorf("OnClose got %v", err)
		}
		if err := <-drained; !errors.Is(err, reason) {
			r.t.Errorf("AfterDrain got %v", err)
		}
		r.c.AfterDrain(func(err error) { drained <- err })
		if err := <-drained; !errors.Is(err, reason) {
			r.t.Errorf("AfterDrain of a closed conn got %v", err)
		}
		if o := do(context.Background(), r.c, 0, "ECHO", "x"); !isConnError(o.err, reason) || o.err.(*ConnError).MayHaveRun { //nolint:errorlint,errcheck // isConnError has looked
			r.t.Errorf("a call on a closed conn: %v", o.err)
		}
		if r.c.Usable() || r.c.Alive() || r.c.Ping() || !errors.Is(r.c.Err(), reason) {
			r.t.Error("a closed conn says that it is usable")
		}
		checkCalls(r.t)
	})
}

func TestServerEndsTheConn(t *testing.T) {
	for _, tc := range []struct {
		name  string
		reply evenkeeltest.Reply
		want  string
	}{
		{"close", evenkeeltest.Hangup(), "server closed the conn (EOF)"},
		{"reset", evenkeeltest.Bulk("x").CutAt(0).ThenReset(), "server reset the conn"},
		{"half a reply, then closed", evenkeeltest.Bulk("0123456789").Half().ThenClose(), "server closed the conn (EOF)"},
		{"garbage", evenkeeltest.Raw("?what\r\n"), "not RESP"},
		{"one reply too many", evenkeeltest.Raw("+a\r\n+b\r\n+c\r\n"), "nobody had asked for"},
		{"last words", evenkeeltest.Raw("-ERR one\r\n-ERR two\r\n-ERR going away\r\n").ThenClose(), "ERR going away"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := setup{handler: func(q *evenkeeltest.Request) evenkeeltest.Reply {
				if q.Name == "BAD" {
					return tc.reply.After(10 * ms)
				}
				return evenkeeltest.Default()
			}}
			inBubble(t, s, func(r *rig) {
				a := r.start(context.Background(), 0, "BAD")
				b := r.start(context.Background(), 0, "ECHO", "b")
				<-a
				<-b
				<-r.c.Done()
				synctest.Wait()
				if err := r.c.Err(); err == nil || !strings.Contains(err.Error(), tc.want) && tc.want != "not RESP" {
					r.t.Errorf("the conn failed with %v, want %q", err, tc.want)
				}
			})
		})
	}
}

// A command of which only a part was handed over cannot have run; of a pipeline the first ones can.
func TestMayHaveRun(t *testing.T) {
	inBubble(t, setup{net: simnet.Options{BufferSize: 256}}, func(r *rig) {
		r.net.Freeze(simnet.ToServer)
		raw, ends := pipeline(4, 100)
		partly := make(chan error, 1)
		r.wg.Go(func() {
			k := NewCall()
			k.Raw(raw, len(ends))
			partly <- r.c.RoundTrip(context.Background(), k, 0, 0)
		})
		synctest.Wait()
		pass(5 * ms)
		unsent := r.start(context.Background(), 0, "ECHO", "x")
		r.c.Close(nil)
		if failed, ok := errors.AsType[*ConnError](<-partly); !ok || !failed.MayHaveRun {
			r.t.Error("a pipeline of which a part was written may have run")
		}
		if failed, ok := errors.AsType[*ConnError]((<-unsent).err); !ok || failed.MayHaveRun {
			r.t.Error("a command that was never written cannot have run")
		}
	})
}

func TestPartialReplies(t *testing.T) {
	s := setup{handler: func(q *evenkeeltest.Request) evenkeeltest.Reply {
		if strings.HasPrefix(q.Arg(1), "3-") {
			return evenkeeltest.Hangup()
		}
		return evenkeeltest.Default()
	}}
	inBubble(t, s, func(r *rig) {
		raw, ends := pipeline(10, 0)
		k := NewCall()
		k.Raw(raw, len(ends))
		values := make(slots, len(ends))
		k.Into(values)
		failed, ok := errors.AsType[*ConnError](r.c.RoundTrip(context.Background(), k, 0, 0))
		if !ok || !failed.MayHaveRun || failed.Got != 3 {
			r.t.Fatalf("%+v, want three partial replies", failed)
		}
		for i, v := range values[:failed.Got] {
			if want := fmt.Sprint(i, "-"); v.Str != want {
				r.t.Errorf("reply %d is %q", i, v.Str)
			}
		}
	})
}

// A3: the reply to one call, and all after it, never comes.
func TestA3_StallEndsTheConn(t *testing.T) {
	var told []bool
	s := setup{opts: Options{StallTimeout: 2 * time.Second}, handler: func(q *evenkeeltest.Request) evenkeeltest.Reply {
		if q.Arg(1) == "drop-me" {
			return evenkeeltest.Silence()
		}
		return evenkeeltest.Default()
	}}
	s.opts.OnStall = func(c *Conn) {
		told = append(told, c.Stalled())
		c.Close(ErrStalled)
	}
	eachTransport(t, s, func(r *rig) {
		told = nil
		dropped := r.start(r.within(time.Second), 0, "GET", "drop-me")
		behind := []<-chan outcome{r.start(context.Background(), 0, "ECHO", "x"), r.start(r.within(3*time.Second), 0, "ECHO", "x")}
		r.wantLeft(dropped, context.DeadlineExceeded, time.Second, time.Second+slack)
		for _, ch := range behind {
			if o := <-ch; !isConnError(o.err, ErrStalled) || o.after > 2*time.Second+slack {
				r.t.Errorf("%v after %v, want a stall after 2s", o.err, o.after)
			}
		}
		if len(told) != 1 || !told[0] {
			r.t.Errorf("OnStall: %v, want one true", told)
		}
	})
}

func TestStallAndRecovery(t *testing.T) {
	type change struct {
		at      time.Duration
		stalled bool
	}
	var (
		mu      sync.Mutex
		changes []change
		begun   time.Time
	)
	s := setup{handler: answerAfter, opts: Options{StallTimeout: 100 * ms}}
	s.opts.OnStall = func(c *Conn) {
		mu.Lock()
		defer mu.Unlock()
		changes = append(changes, change{time.Since(begun), c.Stalled()})
	}
	eachTransport(t, s, func(r *rig) {
		mu.Lock()
		changes, begun = nil, time.Now()
		mu.Unlock()
		a := r.start(context.Background(), 0, "DELAYED", "150ms", "a") // overdue at 100, there at 150
		pass(60 * ms)
		b := r.start(context.Background(), 0, "DELAYED", "200ms", "b") // overdue at 160, there at 350
		r.want(a, "a", 150*ms)
		r.want(b, "b", 290*ms)
		synctest.Wait()
		mu.Lock()
		want := []change{{100 * ms, true}, {150 * ms, false}, {160 * ms, true}, {350 * ms, false}}
		if fmt.Sprint(changes) != fmt.Sprint(want) {
			r.t.Errorf("changes %v, want %v", changes, want)
		}
		mu.Unlock()
		if !r.c.Usable() {
			r.t.Error("recovered, and not usable")
		}
		// A call that may wait for ever does not stall the conn; what comes behind it does once it is the oldest.
		k := NewCall()
		k.Words("DELAYED", "1s", "blocking")
		mu.Lock()
		changes, begun = nil, time.Now()
		mu.Unlock()
		blocking := make(chan error, 1)
		r.wg.Go(func() { blocking <- r.c.RoundTrip(context.Background(), k, 0, -1) })
		if err := <-blocking; err != nil {
			r.t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(changes) != 0 {
			r.t.Errorf("changes %v while a blocking call waited", changes)
		}
	})
}

// A ping waits for nothing: a frozen server shows as a stall.
func TestC5_PingOfAFrozenServer(t *testing.T) {
	var stalls chan bool
	s := setup{opts: Options{StallTimeout: time.Second}, tune: func(cfg *Config) {
		stalls = make(chan bool, 4)
		cfg.Conn.OnStall = func(c *Conn) { stalls <- c.Stalled() }
	}}
	eachTransport(t, s, func(r *rig) {
		pass(3 * time.Second)
		if !r.c.Ping() {
			r.t.Error("the ping of a healthy conn fails")
		}
		synctest.Wait()
		if n := r.c.Owed(); n != 0 {
			r.t.Errorf("%d replies owed after the pong", n)
		}
		if idle := r.c.IdleFor(); idle != 3*time.Second {
			r.t.Errorf("idle for %v after a ping, want 3s: a ping is no use", idle)
		}
		r.fake.Pause()
		begun := time.Now()
		for range 2 {
			if !r.c.Ping() {
				r.t.Error("a ping that is not answered yet is no failure")
			}
		}
		if n := r.c.Owed(); n != 1 {
			r.t.Errorf("%d replies owed, want one: the replies owed say as much as a second ping", n)
		}
		if !<-stalls || time.Since(begun) != time.Second {
			r.t.Errorf("stalled after %v", time.Since(begun))
		}
		r.fake.Resume()
		if <-stalls {
			r.t.Error("still stalled")
		}
	})
}

// A stray interrupt, of a reader that has left or of nobody, is not the next reader's end.
func TestStrayInterrupt(t *testing.T) {
	eachTransport(t, setup{handler: answerAfter}, func(r *rig) {
		interrupt := func() {
			r.c.mu.Lock()
			r.c.interruptLocked()
			r.c.mu.Unlock()
		}
		for range 3 {
			interrupt()
			a := r.start(context.Background(), 0, "DELAYED", "30ms", "a")
			b := r.start(r.within(time.Second), 0, "ECHO", "b")
			for range 10 {
				pass(2 * ms)
				interrupt()
				synctest.Wait()
			}
			r.want(a, "a", 30*ms)
			r.want(b, "b", 30*ms)
		}
	})
}

func TestBuffersAreReleased(t *testing.T) {
	s := setup{handler: answerAfter, opts: Options{StallTimeout: 50 * ms}}
	eachTransport(t, s, func(r *rig) {
		for _, delay := range []string{"0s", "49ms", "50ms", "51ms", "100ms"} { // the watch goes off before, at and after the end
			if o := do(context.Background(), r.c, 0, "DELAYED", delay, "x"); o.err != nil {
				r.t.Error(o.err)
			}
			pass(2*idleLook + time.Second)
			r.checkReleased()
			if at := r.c.watchAt; at != 0 {
				r.t.Errorf("the watch of an idle conn is set for %v", time.Duration(at))
			}
		}
	})
}

// The watch goes off after the last reply has been read and before the reader has given its role up.
func TestBuffersAreReleasedAfterALateLook(t *testing.T) {
	s := setup{
		opts: Options{StallTimeout: 50 * ms, OnPush: func(*Conn, resp.Value) { pass(20 * ms) }},
		handler: func(*evenkeeltest.Request) evenkeeltest.Reply {
			return evenkeeltest.Raw("+OK\r\n>1\r\n+note\r\n").After(40 * ms)
		},
		tune: func(cfg *Config) { cfg.Protocol = 2 }, // a handshake of one reply
	}
	inBubble(t, s, func(r *rig) {
		if o := do(context.Background(), r.c, 0, "X"); o.err != nil {
			r.t.Error(o.err)
		}
		pass(2*idleLook + time.Second)
		r.checkReleased()
	})
}

// Half a reply that nobody asked for is not completed into the reply to a later call.
func TestStrayReply(t *testing.T) {
	inBubble(t, setup{}, func(r *rig) {
		peer := r.fake.Conns()[0]
		peer.Push(evenkeeltest.Raw("+str"))
		synctest.Wait()
		if !r.c.Alive() {
			r.t.Fatal("dead already")
		}
		peer.Push(evenkeeltest.Raw("ay\r\n"))
		synctest.Wait()
		if o := do(context.Background(), r.c, 0, "ECHO", "x"); o.err == nil {
			r.t.Errorf("got %q", o.reply)
		}
	})
}

func TestProbeOfALongIdleConn(t *testing.T) {
	for _, end := range []string{"close", "reset"} {
		t.Run(end, func(t *testing.T) {
			eachTransport(t, setup{}, func(r *rig) {
				r.echo("before")
				if end == "close" {
					r.fake.CloseConns()
				} else {
					r.fake.ResetConns()
				}
				pass(2 * time.Second)
				o := do(context.Background(), r.c, 0, "ECHO", "x")
				if failed, ok := errors.AsType[*ConnError](o.err); !ok || failed.MayHaveRun {
					r.t.Errorf("%v, want a conn that failed before anything was sent", o.err)
				}
			})
		})
	}
	t.Run("callers that come during the probe", func(t *testing.T) {
		eachTransport(t, setup{}, func(r *rig) {
			for range 5 {
				pass(2 * time.Second)
				for i := range 20 {
					r.wg.Go(func() { r.echo(strconv.Itoa(i)) })
				}
				r.wg.Go(func() {
					if !r.c.Alive() {
						r.t.Error("not alive")
					}
				})
				r.wg.Wait()
			}
		})
	})
}
