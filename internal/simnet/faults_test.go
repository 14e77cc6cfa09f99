package simnet

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestDropOneWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{BufferSize: 8})
		c, s := pair(t, n)
		mustWrite(t, s, "before ")
		c.Link().Drop(ToClient)
		mustWrite(t, s, "swallowed, and more than the buffer holds")
		mustWrite(t, c, "other")
		mustRead(t, s, "other")
		mustRead(t, c, "before ")
		_ = s.Close()
		_ = c.SetReadDeadline(time.Now().Add(time.Hour))
		wantRead(t, c, os.ErrDeadlineExceeded) // not even the FIN
		if got := c.Link().Sent(ToClient); got != 48 {
			t.Fatalf("sent %d", got)
		}
	})
}

func TestResetAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{LatencyToClient: time.Second})
		c, s := pair(t, n)
		mustWrite(t, s, "lost on the way")
		blocked := make(chan error, 1)
		go func() { _, err := c.Read(make([]byte, 1)); blocked <- err }()
		synctest.Wait()
		n.ResetAll()
		if err := <-blocked; !IsReset(err) {
			t.Fatal(err)
		}
		for _, end := range []*Conn{c, s} {
			wantRead(t, end, syscall.ECONNRESET)
			wantWrite(t, end, syscall.ECONNRESET)
		}
		if got := n.Stats().Open; got != 0 {
			t.Fatalf("open %d", got)
		}
	})
}

func TestCutAfterBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			name       string
			cut        func(*Link)
			read, next error
		}{
			{"reset", func(l *Link) { l.ResetAfter(ToClient, 5) }, syscall.ECONNRESET, syscall.ECONNRESET},
			{"close", func(l *Link) { l.CloseAfter(ToClient, 5) }, io.EOF, syscall.EPIPE},
		} {
			for _, writes := range [][]string{{"0123456789"}, {"01", "23", "4"}, {"01234", ""}} {
				c, s := pair(t, New(Options{}))
				mustWrite(t, s, "earlier ")
				tc.cut(c.Link())
				for _, w := range writes {
					if n, err := s.Write([]byte(w)); w != "" && (n != len(w) || err != nil) {
						t.Fatalf("%s: %d, %v", tc.name, n, err)
					}
				}
				mustRead(t, c, "earlier 01234")
				wantRead(t, c, tc.read)
				wantWrite(t, c, tc.next)
				wantRead(t, s, tc.read)
				wantWrite(t, s, tc.next)
			}
		}
	})
}

func TestCutAtOnceKeepsWhatWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		c, s := pair(t, n)
		mustWrite(t, s, "half a rep")
		c.Link().ResetAfter(ToClient, 0)
		mustRead(t, c, "half a rep")
		wantRead(t, c, syscall.ECONNRESET)
		if got := n.Stats().Open; got != 0 {
			t.Fatalf("open %d", got)
		}
	})
}

func TestSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		n.Split(ToClient, 1)
		c, s := pair(t, n)
		mustWrite(t, s, "abc")
		for _, want := range "abc" {
			b := make([]byte, 10)
			if k, err := c.Read(b); k != 1 || err != nil || b[0] != byte(want) {
				t.Fatalf("Read = %d, %v (%q)", k, err, b[:k])
			}
		}
		mustWrite(t, s, "def")
		n.Heal()
		if k, err := c.Read(make([]byte, 10)); k != 3 || err != nil {
			t.Fatalf("healed: %d, %v", k, err)
		}
	})
}

func TestTrickle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		c, s := pair(t, n)
		n.Trickle(ToClient, 2, time.Second)
		mustWrite(t, s, "0123456789")
		start := time.Now()
		mustRead(t, c, "0123456789")
		if d := time.Since(start); d != 4*time.Second {
			t.Fatalf("ten bytes took %v", d)
		}
	})
}

func TestFreezeOneWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		n.Freeze(ToClient)
		c, s := pair(t, n)
		mustWrite(t, c, "in")
		mustRead(t, s, "in")
		mustWrite(t, s, "out")
		_ = s.Close()
		if k, err := c.TryRead(make([]byte, 3)); k != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(k, err)
		}
		time.AfterFunc(time.Minute, func() { n.Thaw(ToClient) })
		start := time.Now()
		mustRead(t, c, "out")
		wantRead(t, c, io.EOF)
		if d := time.Since(start); d != time.Minute {
			t.Fatalf("thawed after %v", d)
		}
	})
}

func TestNewLinksStartWithTheFaultsOfTheNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		n.SetLatency(Both, time.Second)
		n.Drop(ToServer)
		c, s := pair(t, n)
		mustWrite(t, c, "lost")
		mustWrite(t, s, "late")
		start := time.Now()
		mustRead(t, c, "late")
		if d := time.Since(start); d != time.Second {
			t.Fatalf("after %v", d)
		}
		n.Heal()
		_ = s.SetReadDeadline(time.Now().Add(time.Minute))
		wantRead(t, s, os.ErrDeadlineExceeded)
		_ = c.Close()
		_ = s.Close()
		c, s = pair(t, n)
		mustWrite(t, c, "heard")
		mustRead(t, s, "heard")
	})
}
