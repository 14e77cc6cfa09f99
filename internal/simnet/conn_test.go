package simnet

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"
)

// pair returns the two ends of a new conn.
func pair(t testing.TB, n *Network) (client, server *Conn) {
	t.Helper()
	ln, err := n.Listen("pair")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := n.Dial(t.Context(), "tcp", "pair")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return asConn(t, c), asConn(t, s)
}

func asConn(t testing.TB, c net.Conn) *Conn {
	t.Helper()
	sc, ok := c.(*Conn)
	if !ok {
		t.Fatalf("got a %T", c)
	}
	return sc
}

func mustWrite(t testing.TB, c net.Conn, s string) {
	t.Helper()
	if n, err := c.Write([]byte(s)); n != len(s) || err != nil {
		t.Fatalf("Write(%q) = %d, %v", s, n, err)
	}
}

func mustRead(t testing.TB, c net.Conn, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if n, err := io.ReadFull(c, b); err != nil || string(b) != want {
		t.Fatalf("read %q (%d, %v), want %q", b[:n], n, err, want)
	}
}

func wantRead(t testing.TB, c net.Conn, target error) {
	t.Helper()
	if n, err := c.Read(make([]byte, 64)); n != 0 || !errors.Is(err, target) {
		t.Fatalf("Read = %d, %v; want %v", n, err, target)
	}
}

func wantWrite(t testing.TB, c net.Conn, target error) {
	t.Helper()
	if n, err := c.Write([]byte("x")); n != 0 || !errors.Is(err, target) {
		t.Fatalf("Write = %d, %v; want %v", n, err, target)
	}
}

func TestConnIsANetConn(t *testing.T) {
	for name, opts := range map[string]Options{
		"default":      {},
		"small buffer": {BufferSize: 7},
		"latency":      {LatencyToClient: 20 * time.Microsecond, LatencyToServer: 10 * time.Microsecond},
	} {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				c, s := pair(t, New(opts))
				return c, s, func() { _ = c.Close(); _ = s.Close() }, nil
			})
		})
	}
}

func TestReadDeadlineWakesABlockedRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pair(t, New(Options{}))
		start := time.Now()
		if err := c.SetReadDeadline(start.Add(3 * time.Second)); err != nil {
			t.Fatal(err)
		}
		_, err := c.Read(make([]byte, 1))
		var ne net.Error
		if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &ne) || !ne.Timeout() {
			t.Fatalf("Read: %v", err)
		}
		if d := time.Since(start); d != 3*time.Second {
			t.Fatalf("returned after %v", d)
		}
		// A deadline set while the read waits counts too, also when it is in the past.
		_ = c.SetReadDeadline(time.Time{})
		done := make(chan error, 1)
		go func() { _, err := c.Read(make([]byte, 1)); done <- err }()
		synctest.Wait()
		_ = c.SetReadDeadline(time.Unix(1, 0))
		if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	})
}

func TestWriteCountIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t, New(Options{BufferSize: 10}))
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		if n, err := c.Write(make([]byte, 25)); n != 10 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("Write = %d, %v", n, err)
		}
		if n, err := c.Write(nil); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("Write past the deadline = %d, %v", n, err)
		}
		_ = c.SetWriteDeadline(time.Time{})
		if n, err := s.Read(make([]byte, 4)); n != 4 || err != nil {
			t.Fatal(n, err)
		}
		if n, err := c.TryWrite(make([]byte, 9)); n != 4 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("TryWrite = %d, %v", n, err)
		}
		if n, err := s.TryRead(make([]byte, 99)); n != 10 || err != nil {
			t.Fatalf("TryRead = %d, %v", n, err)
		}
		if n, err := s.TryRead(make([]byte, 99)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("TryRead = %d, %v", n, err)
		}
	})
}

func TestWritePastDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			lenient bool
			want    int
		}{{false, 0}, {true, 10}} {
			c, _ := pair(t, New(Options{BufferSize: 10, WritePastDeadline: tc.lenient}))
			_ = c.SetWriteDeadline(time.Now().Add(-time.Second))
			if n, err := c.Write(make([]byte, 25)); n != tc.want || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("lenient %v: Write = %d, %v", tc.lenient, n, err)
			}
		}
	})
}

func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t, New(Options{BufferSize: 100}))
		want := bytes.Repeat([]byte("0123456789"), 500)
		done := make(chan error, 1)
		go func() {
			_, err := c.Write(want)
			_ = c.Close()
			done <- err
		}()
		synctest.Wait()
		if len(done) > 0 {
			t.Fatal("the write did not wait for the reader")
		}
		got, err := io.ReadAll(s)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("read %d bytes, %v", len(got), err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

func TestConcurrentWritesDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t, New(Options{BufferSize: 16}))
		var wg sync.WaitGroup
		for _, ch := range "abc" {
			wg.Go(func() {
				if _, err := c.Write(bytes.Repeat([]byte(string(ch)), 1000)); err != nil {
					t.Error(err)
				}
			})
		}
		go func() { wg.Wait(); _ = c.Close() }()
		got, err := io.ReadAll(s)
		if err != nil || len(got) != 3000 {
			t.Fatal(len(got), err)
		}
		for i := range got {
			if got[i] != got[i/1000*1000] {
				t.Fatalf("byte %d is %q in a run of %q", i, got[i], got[i/1000*1000])
			}
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t, New(Options{}))
		blocked := make(chan error, 1)
		go func() { _, err := c.Read(make([]byte, 1)); blocked <- err }()
		synctest.Wait()
		mustWrite(t, c, "bye")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-blocked; !errors.Is(err, net.ErrClosed) {
			t.Fatalf("blocked read: %v", err)
		}
		wantRead(t, c, net.ErrClosed)
		wantWrite(t, c, net.ErrClosed)
		for name, err := range map[string]error{
			"Close": c.Close(), "CloseRead": c.CloseRead(), "CloseWrite": c.CloseWrite(),
			"SetDeadline": c.SetDeadline(time.Now()), "SetLinger": c.SetLinger(0),
		} {
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s after Close: %v", name, err)
			}
		}
		mustRead(t, s, "bye")
		wantRead(t, s, io.EOF)
		mustWrite(t, s, "nobody home") // the first one only provokes the RST
		wantWrite(t, s, syscall.EPIPE)
	})
}

func TestCloseWakesABlockedWriterOfThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t, New(Options{BufferSize: 4}))
		done := make(chan error, 1)
		go func() { _, err := c.Write(make([]byte, 64)); done <- err }()
		synctest.Wait()
		_ = s.Close() // with unread bytes: an RST
		if err := <-done; !IsReset(err) {
			t.Fatalf("blocked write: %v", err)
		}
		wantRead(t, c, syscall.ECONNRESET)
	})
}

func TestCloseWithUnreadBytesResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t, New(Options{}))
		mustWrite(t, c, "never read")
		mustWrite(t, s, "-ERR go away\r\n")
		_ = s.Close()
		mustRead(t, c, "-ERR go away\r\n")
		wantRead(t, c, syscall.ECONNRESET)
		wantWrite(t, c, syscall.ECONNRESET)
	})
}

func TestHalfClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t, New(Options{BufferSize: 8}))
		mustWrite(t, c, "q")
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		wantWrite(t, c, syscall.EPIPE)
		mustRead(t, s, "q")
		wantRead(t, s, io.EOF)
		mustWrite(t, s, "answer")
		mustRead(t, c, "answer")
		if err := c.CloseRead(); err != nil {
			t.Fatal(err)
		}
		wantRead(t, c, io.EOF)
		mustWrite(t, s, "far more than the buffer holds")
	})
}

func TestLingerZeroResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t, New(Options{}))
		mustWrite(t, c, "lost")
		if err := c.SetLinger(0); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		wantRead(t, s, syscall.ECONNRESET)
	})
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{LatencyToServer: 30 * time.Millisecond, LatencyToClient: 50 * time.Millisecond})
		c, s := pair(t, n)
		start := time.Now()
		mustWrite(t, c, "ping")
		mustRead(t, s, "ping")
		mustWrite(t, s, "pong")
		mustRead(t, c, "pong")
		if d := time.Since(start); d != 80*time.Millisecond {
			t.Fatalf("round trip took %v", d)
		}
		// A shorter latency does not overtake, and the FIN comes last.
		start = time.Now()
		mustWrite(t, c, "slow")
		c.Link().SetLatency(ToServer, 0)
		mustWrite(t, c, "fast")
		if k, err := s.TryRead(make([]byte, 9)); k != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("read %d bytes at once, %v", k, err)
		}
		_ = c.Close()
		if got := n.Stats().Open; got != 1 {
			t.Fatalf("open before the FIN arrived: %d", got)
		}
		mustRead(t, s, "slowfast")
		wantRead(t, s, io.EOF)
		if d := time.Since(start); d != 30*time.Millisecond {
			t.Fatalf("arrived after %v", d)
		}
		synctest.Wait()
		if got := n.Stats().Open; got != 0 {
			t.Fatalf("open after the FIN arrived: %d", got)
		}
	})
}

func TestAddresses(t *testing.T) {
	c, s := pair(t, New(Options{}))
	if c.RemoteAddr().String() != "pair" || s.LocalAddr().String() != "pair" ||
		c.LocalAddr() != s.RemoteAddr() || c.LocalAddr().Network() != "tcp" {
		t.Fatalf("%v -> %v, %v -> %v", c.LocalAddr(), c.RemoteAddr(), s.LocalAddr(), s.RemoteAddr())
	}
	if _, _, err := net.SplitHostPort(c.LocalAddr().String()); err != nil {
		t.Fatal(err)
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	c, s := pair(t, New(Options{}))
	b, r := make([]byte, 100), make([]byte, 100)
	got := testing.AllocsPerRun(200, func() {
		_, _ = c.Write(b)
		_, _ = s.Read(r)
	})
	if got > 0 {
		t.Fatalf("%v allocations per round trip", got)
	}
}
