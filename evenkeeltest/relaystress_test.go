package evenkeeltest

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// More bytes than a direction holds back for a delay: the sender is slowed down, and
// nothing is lost.
func TestRelayDelayIsBounded(t *testing.T) {
	relayed(t, func(s *stage) {
		s.relay.Delay(ToServer, time.Second)
		w := s.dial()
		payload := strings.Repeat("0123456789", 5*relayDelayed/20) // two and a half times as many
		start := time.Now()
		if _, err := io.WriteString(w.nc, command("SET", "k", payload)); err != nil {
			s.t.Fatal(err)
		}
		if d := time.Since(start); d != 2*time.Second {
			s.t.Fatalf("the writer was held up for %v", d)
		}
		w.expect("+OK\r\n")
		if d := time.Since(start); d != 3*time.Second {
			s.t.Fatalf("took %v", d)
		}
		s.relay.Heal()
		w.ask("GET k", "$2621440\r\n"+payload+"\r\n")
	})
}

// Whatever faults come and go while clients are busy, Close ends it all; the bubble
// would report a goroutine left behind.
func TestRelayUnderChangingFaults(t *testing.T) {
	relayed(t, func(s *stage) {
		over := make(chan struct{})
		var clients sync.WaitGroup
		for range 20 {
			clients.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
					}
					s.useOnce(over)
				}
			})
		}
		faults := []func(){
			func() { s.relay.Delay(Both, 7*time.Millisecond) },
			func() { s.relay.Hold(ToClient) },
			func() { s.relay.Swallow(ToServer) },
			func() { s.relay.CutAfter(ToClient, 20, EndRST) },
			func() { s.relay.CutAfter(ToServer, 0, EndSilence) },
			func() { s.relay.Trickle(ToClient, 1, time.Millisecond) },
			func() { s.relay.ForgetIdle(time.Millisecond, EndFIN) },
			func() { _ = s.relay.Refuse() },
			func() { s.relay.SetupDelay(30 * time.Millisecond) },
			s.relay.ResetAll,
		}
		for range 3 {
			for _, f := range faults {
				f()
				<-time.After(50 * time.Millisecond)
				s.relay.Heal()
				if err := s.relay.Accept(); err != nil {
					s.t.Error(err)
				}
				<-time.After(10 * time.Millisecond)
			}
		}
		close(over)
		clients.Wait()
		w := s.dial()
		w.ask("PING", "+PONG\r\n")
		synctest.Wait()
		if got := s.relay.Stats(); got.Accepted < 100 || got.Open != 1 {
			s.t.Errorf("%+v", got)
		}
	})
}

// useOnce dials, and pings until something goes wrong; it accepts any error.
func (s *stage) useOnce(over <-chan struct{}) {
	c, err := s.front.Dial(s.t.Context(), "tcp", "relay")
	if err != nil {
		<-time.After(time.Millisecond)
		return
	}
	defer c.Close()
	buf := make([]byte, 64)
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Millisecond):
		}
		_ = c.SetDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := io.WriteString(c, command("PING")); err != nil {
			return
		}
		if n, err := io.ReadAtLeast(c, buf, 7); err != nil || string(buf[:n]) != "+PONG\r\n" {
			return
		}
	}
}

// A client that keeps one conn at a time is never counted twice, however the relay's
// goroutines are scheduled.
func TestRelayCountsEachClientOnce(t *testing.T) {
	f := StartFake(t, nil)
	r := StartRelay(t, f.Addr())
	for range 500 {
		nc, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.Addr())
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := f.Await(ctx, func(s FakeStats) bool { return s.Accepted == 500 && s.Open == 0 }); err != nil {
		t.Fatalf("%v: %+v", err, f.Stats())
	}
	if got := r.Stats(); got.Accepted != 500 || runtime.GOOS != "windows" && got.OpenMax != 1 {
		t.Fatalf("%+v", got)
	}
}
