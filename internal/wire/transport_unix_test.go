//go:build unix

package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/race"
)

// sockets returns a transport and its peer.
func sockets(t *testing.T) (*rawTransport, net.Conn) {
	t.Helper()
	var listen net.ListenConfig
	ln, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var dialer net.Dialer
	here, err := dialer.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	there, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close(); there.Close() })
	tr, ok := newRawTransport(here).(*rawTransport)
	if !ok {
		t.Fatal("no raw transport for a TCP socket")
	}
	return tr, there
}

// TestPatience: a reader that sleeps in vain looks no more after a while, tries again now and then, and looks as before once that
// has paid. Whether it looks or not, it keeps its deadline.
func TestPatience(t *testing.T) {
	tr, _ := sockets(t)
	b := make([]byte, 8)
	sleep := func() {
		t.Helper()
		if err := tr.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n, err := tr.Read(b); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a read with nothing to read: %d, %v", n, err)
		}
	}
	for range 10 * maxPatience { // a look may run into the deadline on a busy machine, and is then no sleep
		if tr.patience == 0 {
			break
		}
		sleep()
	}
	if tr.patience != 0 {
		t.Fatalf("patience is %d after %d reads in vain", tr.patience, 10*maxPatience)
	}
	for range lookAgain - 1 {
		sleep()
		if tr.patience != 0 {
			t.Fatal("it looks again too soon")
		}
	}
	sleep()
	if tr.patience == 0 || tr.patience > patienceAgain {
		t.Errorf("patience is %d when it tries again, want up to %d", tr.patience, patienceAgain)
	}
}

// TestReadAsAnyConn: looking first changes nothing of what a read returns, and allocates nothing.
func TestReadAsAnyConn(t *testing.T) {
	tr, peer := sockets(t)
	b := make([]byte, 8)
	for _, patience := range []int{maxPatience, 0} {
		tr.patience, tr.asleep = patience, 0
		if _, err := peer.Write([]byte("reply")); err != nil {
			t.Fatal(err)
		}
		if n, err := tr.Read(b); string(b[:n]) != "reply" || err != nil {
			t.Errorf("patience %d: read %q, %v", patience, b[:n], err)
		}
	}
	tr.patience = maxPatience
	one := []byte("x")
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := peer.Write(one); err != nil {
			t.Error(err)
		}
		if _, err := tr.Read(b); err != nil {
			t.Error(err)
		}
	})
	if allocs > 0 && !race.Enabled {
		t.Errorf("%v allocations", allocs)
	}
	if err := tr.SetReadDeadline(longAgo); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after an interrupt: %v", err)
	}
	if err := tr.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := peer.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Read(b); !errors.Is(err, io.EOF) {
		t.Errorf("after the peer closed: %v", err)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Read(b); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
