package simnet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func listen(t testing.TB, n *Network, addr string) net.Listener {
	t.Helper()
	ln, err := n.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func dial(t testing.TB, n *Network) *Conn {
	t.Helper()
	c, err := n.Dial(t.Context(), "tcp", "srv")
	if err != nil {
		t.Fatal(err)
	}
	return asConn(t, c)
}

func accept(t testing.TB, ln net.Listener) *Conn {
	t.Helper()
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return asConn(t, c)
}

// dialFor dials with a time limit and returns the error and how long it took.
func dialFor(n *Network, d time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	start := time.Now()
	_, err := n.Dial(ctx, "tcp", "srv")
	return time.Since(start), err
}

func TestDialErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{ConnectDelay: 10 * time.Millisecond})
		if d, err := dialFor(n, time.Second); !errors.Is(err, syscall.ECONNREFUSED) || d != 10*time.Millisecond {
			t.Fatalf("nobody listens: %v after %v", err, d)
		}
		ln := listen(t, n, "srv")
		if _, err := n.Listen("srv"); !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatalf("second Listen: %v", err)
		}
		if d, err := dialFor(n, 4*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) || d != 4*time.Millisecond {
			t.Fatalf("short context: %v after %v", err, d)
		}
		n.SetDialFault(RefuseDials)
		if _, err := dialFor(n, time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
		n.SetDialFault(BlackholeDials)
		if d, err := dialFor(n, time.Second); !errors.Is(err, context.DeadlineExceeded) || d != time.Second {
			t.Fatalf("black hole: %v after %v", err, d)
		}
		n.SetDialFault(ResetDials)
		wantRead(t, dial(t, n), syscall.ECONNRESET)
		n.Heal()
		dial(t, n)
		_ = ln.Close()
		if _, err := dialFor(n, time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
		want := Stats{Dials: 7, ConnectMax: 1, Connected: 2, Refused: 3, Abandoned: 2, OpenMax: 1}
		if d := cmp.Diff(want, n.Stats()); d != "" {
			t.Fatal(d)
		}
		log := n.Dials()
		if len(log) != 7 || log[3].Outcome != DialAbandoned || log[3].End.Sub(log[3].Start) != time.Second {
			t.Fatalf("log: %+v", log)
		}
	})
}

func TestBlackholeHealsUnderWaitingDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		listen(t, n, "srv")
		n.SetDialFault(BlackholeDials)
		time.AfterFunc(time.Second, n.Heal)
		if d, err := dialFor(n, time.Minute); err != nil || d != time.Second {
			t.Fatalf("%v after %v", err, d)
		}
	})
}

func TestBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{Backlog: 2})
		ln := listen(t, n, "srv")
		dial(t, n)
		dial(t, n)
		if _, err := dialFor(n, time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("third dial: %v", err)
		}
		time.AfterFunc(time.Second, func() { _, _ = ln.Accept() })
		if d, err := dialFor(n, time.Minute); err != nil || d != time.Second {
			t.Fatalf("%v after %v", err, d)
		}
	})
}

func TestListenerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		ln := listen(t, n, "srv")
		waiting := dial(t, n)
		held := accept(t, ln)
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
		mustWrite(t, waiting, "accepted conns live on")
		mustRead(t, held, "accepted conns live on")

		ln = listen(t, n, "srv") // the address is free again
		unseen := dial(t, n)
		blocked := make(chan error, 1)
		ln2 := listen(t, n, "other")
		go func() { _, err := ln2.Accept(); blocked <- err }()
		synctest.Wait()
		_ = ln2.Close()
		if err := <-blocked; !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
		_ = ln.Close()
		wantRead(t, unseen, syscall.ECONNRESET)
	})
}

func TestFreezeIsAStoppedServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{BufferSize: 4, Backlog: 2})
		ln := listen(t, n, "srv")
		c := dial(t, n)
		s := accept(t, ln)
		n.Freeze(ToServer)

		mustWrite(t, c, "full")
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		wantWrite(t, c, os.ErrDeadlineExceeded)
		if n, err := s.TryRead(make([]byte, 9)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a stopped server has read %d, %v", n, err)
		}
		accepted := make(chan net.Conn, 1)
		go func() { c, _ := ln.Accept(); accepted <- c }()
		late := dial(t, n)
		synctest.Wait()
		select {
		case <-accepted:
			t.Fatal("a stopped server has accepted")
		default:
		}
		_ = late.Close()
		if got := n.Stats().Open; got != 2 {
			t.Fatalf("open while stopped: %d", got)
		}
		n.Thaw(ToServer)
		mustRead(t, s, "full")
		ghost := <-accepted
		wantRead(t, ghost, io.EOF)
		if got := n.Stats(); got.Open != 1 || got.Held != 2 {
			t.Fatalf("after the thaw: %+v", got)
		}
	})
}

func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := New(Options{}), New(Options{})
		listen(t, a, "a")
		lnB := listen(t, b, "b")
		d := Join(a, b)
		for _, addr := range []string{"a", "b"} {
			if _, err := d(t.Context(), "tcp", addr); err != nil {
				t.Fatal(err)
			}
		}
		_ = lnB.Close()
		for _, addr := range []string{"b", "nowhere"} {
			if _, err := d(t.Context(), "tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Fatal(err)
			}
		}
		if a.Stats().Dials != 2 || b.Stats().Dials != 2 {
			t.Fatalf("a %+v b %+v", a.Stats(), b.Stats())
		}
	})
}

func TestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		ln := listen(t, n, "srv")
		c1, c2, c3 := dial(t, n), dial(t, n), dial(t, n)
		s1, s2 := accept(t, ln), accept(t, ln)
		want := Stats{Dials: 3, ConnectMax: 1, Connected: 3, Accepted: 2, Open: 3, OpenMax: 3, Held: 2, HeldMax: 2}
		if d := cmp.Diff(want, n.StatsOf("srv")); d != "" {
			t.Fatal(d)
		}
		_ = c1.Close() // the server is told, and has not yet closed its end
		_ = s2.Close()
		n.Drop(ToServer)
		_ = c3.Close() // the news is lost: a ghost
		want.Open, want.Held = 1, 1
		if d := cmp.Diff(want, n.StatsOf("srv")); d != "" {
			t.Fatal(d)
		}
		_ = s1.Close()
		_ = c2.Close()
		want.Held = 0
		if d := cmp.Diff(want, n.Stats()); d != "" {
			t.Fatal(d)
		}
		if ls := n.Links(); len(ls) != 1 || ls[0].Client() != c3 {
			t.Fatalf("links left: %v", ls)
		}
		s3 := accept(t, ln)
		_ = s3.Close()
		if got := n.Stats(); got.Open != 0 || len(n.Links()) != 0 {
			t.Fatalf("%+v, %d links", got, len(n.Links()))
		}
	})
}

// Many idle conns are the normal case of the tests that use this package.
func TestIdleConnIsSmall(t *testing.T) {
	const conns, limit = 2000, 4 << 10
	n := New(Options{Backlog: conns})
	ln := listen(t, n, "srv")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	all := make([]*Conn, 0, 2*conns)
	for range conns {
		c := dial(t, n)
		s := accept(t, ln)
		mustWrite(t, c, "PING")
		mustRead(t, s, "PING")
		all = append(all, c, s)
	}
	if got := runtime.NumGoroutine(); got >= goroutines+conns { // other tests' come and go beside them
		t.Errorf("%d goroutines for idle conns", got-goroutines)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if per := int64(after.HeapAlloc-before.HeapAlloc) / conns; per > limit {
		t.Errorf("%d bytes per idle conn, both ends", per)
	}
	for _, c := range all {
		_ = c.Close()
	}
	if _, err := all[0].Read(nil); err == nil || errors.Is(err, io.EOF) {
		t.Fatal("still open")
	}
}
