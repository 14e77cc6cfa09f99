package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/internal/resp"
	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

// A rig is a conn to a scripted server over a virtual network, all in one bubble.
type rig struct {
	t    *testing.T
	net  *simnet.Network
	fake *evenkeeltest.Fake
	cfg  *Config
	c    *Conn
	wg   sync.WaitGroup
}

// slots keep the replies of a call of several commands.
type slots []resp.Value

// Slot implements Sink.
func (s slots) Slot(i int) *resp.Value { return &s[i] }

// setup is what a test may want other than plain.
type setup struct {
	opts    Options
	net     simnet.Options
	handler evenkeeltest.Handler
	secure  bool
	tune    func(*Config) // called in the bubble

	authority *evenkeeltest.Authority // made when needed
}

const rigAddr = "server:6379"

// inBubble runs f in virtual time, with a fresh conn. It fails when a goroutine or a reply owed remains.
func inBubble(t *testing.T, s setup, f func(r *rig)) {
	t.Helper()
	authority := s.authority
	if s.secure && authority == nil {
		var err error
		if authority, err = evenkeeltest.NewAuthority(); err != nil {
			t.Fatal(err)
		}
	}
	wall := time.Now()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, net: simnet.New(s.net)}
		ln, err := r.net.Listen(rigAddr)
		if err != nil {
			t.Fatal(err)
		}
		r.cfg = &Config{Network: "tcp", Addr: rigAddr, Dialer: r.net.Dial, Conn: s.opts}
		if s.secure {
			serverTLS := authority.ServerConfig()
			serverTLS.Time = func() time.Time { return wall }
			ln = tls.NewListener(ln, serverTLS)
			r.cfg.TLS = authority.ClientConfig()
			r.cfg.TLS.Time = serverTLS.Time
		}
		if s.tune != nil {
			s.tune(r.cfg)
		}
		r.fake = evenkeeltest.NewFake(ln, s.handler)
		r.c = r.dial()
		f(r)
		r.wg.Wait()
		r.c.Close(nil)
		synctest.Wait()
		if n := r.c.Owed(); n != 0 {
			t.Errorf("%d replies owed by a closed conn", n)
		}
		r.checkReleased()
		r.net.Heal()
		r.fake.Close()
	})
}

// eachTransport runs f over a plain conn and over TLS.
func eachTransport(t *testing.T, s setup, f func(r *rig)) {
	t.Helper()
	for _, secure := range []bool{false, true} {
		s.secure = secure
		t.Run(map[bool]string{false: "plain", true: "tls"}[secure], func(t *testing.T) { inBubble(t, s, f) })
	}
}

func (r *rig) dial() *Conn {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Second)
	defer cancel()
	c, err := Dial(ctx, r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// link is the conn as the network sees it.
func (r *rig) link() *simnet.Link { return r.net.Links()[0] }

// checkReleased wants the conn to hold no buffer and nobody to hold a role.
func (r *rig) checkReleased() {
	r.t.Helper()
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rbuf != nil || c.spare != nil || c.wbuf != nil {
		r.t.Errorf("an idle conn holds buffers: read %v, write %v, spare %v", c.rbuf != nil, c.wbuf != nil, c.spare != nil)
	}
	if c.reading || c.flushing || c.flusher != nil {
		r.t.Errorf("an idle conn has roles taken: reading %v, flushing %v by %p", c.reading, c.flushing, c.flusher)
	}
}

// outcome is how a call ended and when.
type outcome struct {
	reply string
	err   error
	after time.Duration
}

// do makes one call and waits for it.
func do(ctx context.Context, c *Conn, timeout time.Duration, words ...string) outcome {
	k := NewCall()
	k.Words(words...)
	start := time.Now()
	if err := c.RoundTrip(ctx, k, timeout, 0); err != nil {
		return outcome{err: err, after: time.Since(start)}
	}
	o := outcome{reply: k.Reply().Str, after: time.Since(start)}
	k.Free()
	return o
}

// start makes one call on a goroutine of its own, and returns once it has been appended and all is quiet.
func (r *rig) start(ctx context.Context, timeout time.Duration, words ...string) <-chan outcome {
	ch := make(chan outcome, 1)
	r.wg.Go(func() { ch <- do(ctx, r.c, timeout, words...) })
	synctest.Wait()
	return ch
}

func (r *rig) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	r.t.Cleanup(cancel)
	return ctx
}

func (r *rig) echo(token string) {
	r.t.Helper()
	if o := do(context.Background(), r.c, 0, "ECHO", token); o.err != nil || o.reply != token {
		r.t.Errorf("ECHO %s = %q, %v", token, o.reply, o.err)
	}
}

// want checks a call that has ended with its reply.
func (r *rig) want(ch <-chan outcome, reply string, after time.Duration) {
	r.t.Helper()
	switch o := <-ch; {
	case o.err != nil:
		r.t.Errorf("ended with %v, want %q", o.err, reply)
	case o.reply != reply:
		r.t.Errorf("got %q, want %q", o.reply, reply)
	case o.after != after:
		r.t.Errorf("got %q after %v, want it after %v", reply, o.after, after)
	}
}

// wantLeft checks a call whose caller left in time.
func (r *rig) wantLeft(ch <-chan outcome, cause error, from, to time.Duration) {
	r.t.Helper()
	o := <-ch
	left, ok := errors.AsType[*LeftError](o.err)
	switch {
	case !ok || !errors.Is(o.err, cause):
		r.t.Errorf("ended with %q, %v; want %v", o.reply, o.err, cause)
	case !left.Sent:
		r.t.Errorf("%v: was sent, and does not say so", o.err)
	case o.after < from || o.after > to:
		r.t.Errorf("left after %v, want between %v and %v", o.after, from, to)
	}
}

// pass lets virtual time go by.
func pass(d time.Duration) { time.Sleep(d) }

// answerAfter answers DELAYED ms token with the token, so many milliseconds after it has been read.
func answerAfter(q *evenkeeltest.Request) evenkeeltest.Reply {
	if q.Name != "DELAYED" {
		return evenkeeltest.Default()
	}
	d, err := time.ParseDuration(q.Arg(1))
	if err != nil {
		return evenkeeltest.Err("ERR " + err.Error())
	}
	return evenkeeltest.Bulk(q.Arg(2)).After(d)
}

// checkCalls takes Calls from the pool and wants none to carry a signal meant for an earlier use.
func checkCalls(t *testing.T) {
	t.Helper()
	ks := make([]*Call, 64)
	for i := range ks {
		ks[i] = NewCall()
		if len(ks[i].ch) > 0 {
			t.Error("a Call in the pool has a signal waiting: its next caller would take it for a reply")
			<-ks[i].ch
		}
		if k := ks[i]; k.want != 0 || k.err != nil || k.next != nil || k.pump != nil || k.state.Load() != pending {
			t.Errorf("a Call in the pool is not empty: %+v", fmt.Sprint(k.want, k.err, k.next, k.pump))
		}
	}
	for _, k := range ks {
		k.Free()
	}
}

// pipeline encodes n ECHO commands.
func pipeline(n, size int) (b []byte, ends []int) {
	pad := make([]byte, size)
	for i := range pad {
		pad[i] = 'x'
	}
	for i := range n {
		b = resp.AppendArrayHeader(b, 2)
		b = resp.AppendBulkString(b, "ECHO")
		b = resp.AppendBulkString(b, fmt.Sprintf("%d-%s", i, pad))
		ends = append(ends, len(b))
	}
	return b, ends
}
