package evenkeeltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

// stage is a relay in virtual time, in front of a fake.
type stage struct {
	t     *testing.T
	front *simnet.Network // clients to relay
	back  *simnet.Network // relay to fake
	relay *Relay
	fake  *Fake
}

func (s *stage) dial() *wire {
	s.t.Helper()
	c, err := s.front.Dial(s.t.Context(), "tcp", "relay")
	if err != nil {
		s.t.Fatal(err)
	}
	return onWire(s.t, c)
}

// relayed runs a test in a bubble. Both networks have buffers of 4 KiB.
func relayed(t *testing.T, test func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts := simnet.Options{BufferSize: 4 << 10}
		s := &stage{t: t, front: simnet.New(opts), back: simnet.New(opts)}
		ln, err := s.back.Listen("fake")
		if err != nil {
			t.Fatal(err)
		}
		s.fake = NewFake(ln, nil)
		defer s.fake.Close()
		s.relay, err = NewRelay(RelayConfig{
			Dial:   func(ctx context.Context) (net.Conn, error) { return s.back.Dial(ctx, "tcp", "fake") },
			Listen: func() (net.Listener, error) { return s.front.Listen("relay") },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.relay.Close()
		test(s)
	})
}

func (w *wire) wantSilence() {
	w.t.Helper()
	if err := w.end(); !errors.Is(err, os.ErrDeadlineExceeded) {
		w.t.Fatalf("ended with %v, want silence", err)
	}
}

func TestRelayCounts(t *testing.T) {
	relayed(t, func(s *stage) {
		t := s.t
		a, b := s.dial(), s.dial()
		a.ask("PING", "+PONG\r\n")
		b.ask("PING", "+PONG\r\n")
		_ = a.nc.Close()
		synctest.Wait()
		got := s.relay.Stats()
		want := RelayStats{Accepted: 2, Open: 1, OpenMax: 2, ToServer: 28, ToClient: 14}
		if got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if s.fake.Stats().Open != 1 {
			t.Fatal("the server was not told")
		}
		ev := s.relay.Events()
		if len(ev) != 3 || !ev[0].Open || !ev[1].Open || ev[2].Open || ev[2].Flow != 1 {
			t.Fatalf("%+v", ev)
		}
		// The other way round: the server closes, the client hears of it and is counted until it closes.
		s.fake.CloseConns()
		if err := b.end(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if got := s.relay.Stats().Open; got != 1 {
			t.Fatalf("open %d before the client has closed", got)
		}
		_ = b.nc.Close()
		synctest.Wait()
		if got := s.relay.Stats().Open; got != 0 || len(s.relay.Flows()) != 0 {
			t.Fatalf("open %d, %d flows", got, len(s.relay.Flows()))
		}
	})
}

func TestRelayDelayKeepsTheRate(t *testing.T) {
	relayed(t, func(s *stage) {
		t := s.t
		s.relay.Delay(ToServer, 30*time.Millisecond)
		s.relay.Delay(ToClient, 70*time.Millisecond)
		w := s.dial()
		start := time.Now()
		for range 50 { // spread over 98 ms: each must take 100 ms, not one after the other
			w.send("PING")
			<-time.After(2 * time.Millisecond)
		}
		w.expect(strings.Repeat("+PONG\r\n", 50))
		if d := time.Since(start); d != 198*time.Millisecond {
			t.Fatalf("took %v", d)
		}
		s.relay.Heal()
		start = time.Now()
		w.ask("PING", "+PONG\r\n")
		if d := time.Since(start); d != 0 {
			t.Fatalf("healed, and took %v", d)
		}
	})
}

func TestRelaySetupDelay(t *testing.T) {
	relayed(t, func(s *stage) {
		t := s.t
		s.relay.SetupDelay(time.Second)
		start := time.Now()
		w := s.dial()
		w.ask("PING", "+PONG\r\n")
		w.ask("PING", "+PONG\r\n")
		if d := time.Since(start); d != time.Second {
			t.Fatalf("took %v", d)
		}
		// A client that leaves meanwhile is no longer counted, and still gets through.
		w = s.dial()
		w.send("INCR n")
		synctest.Wait()
		_ = w.nc.Close()
		synctest.Wait()
		if got := s.relay.Stats(); got.Open != 1 {
			t.Fatalf("%+v", got)
		}
		<-time.After(2 * time.Second)
		if got := s.fake.Stats(); s.fake.Count("INCR") != 1 || got.Open != 1 {
			t.Fatalf("%+v", got)
		}
	})
}

func TestRelaySwallow(t *testing.T) {
	relayed(t, func(s *stage) {
		t := s.t
		w := s.dial()
		w.ask("PING", "+PONG\r\n")
		s.relay.Swallow(ToClient)
		w.send("INCR n")
		w.wantSilence()
		if s.fake.Count("INCR") != 1 {
			t.Fatal("the other direction was swallowed too")
		}
		s.relay.Heal()
		w.send("PING")
		w.wantSilence() // a flow with a hole stays dead
		s.dial().ask("GET n", "$1\r\n1\r\n")

		s.relay.Swallow(ToServer)
		_ = w.nc.Close()
		synctest.Wait()
		if open := s.fake.Stats().Open; open != 2 {
			t.Fatalf("the server has heard of the close: %d open", open)
		}
		if open := s.relay.Stats().Open; open != 1 {
			t.Fatalf("the relay counts %d open", open)
		}
		s.fake.CloseConns() // now both sides of the ghost are gone
		synctest.Wait()
		if n := len(s.relay.Flows()); n != 1 {
			t.Fatalf("%d flows left", n)
		}
	})
}

func TestRelayHoldPushesBack(t *testing.T) {
	relayed(t, func(s *stage) {
		t := s.t
		w := s.dial()
		w.ask("PING", "+PONG\r\n")
		s.relay.Hold(ToServer)
		payload := strings.Repeat("x", 100<<10) // beyond all buffers on the way
		written := make(chan error, 1)
		go func() {
			_, err := io.WriteString(w.nc, command("SET", "k", payload))
			written <- err
		}()
		synctest.Wait()
		select {
		case err := <-written:
			t.Fatalf("the writer was not pushed back: %v", err)
		default:
		}
		s.relay.Release(ToServer)
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		w.expect("+OK\r\n")
	})
}

func TestRelayForgetIdle(t *testing.T) {
	relayed(t, func(s *stage) {
		t := s.t
		for _, tc := range []struct {
			ending Ending
			want   func(error) bool
		}{
			{EndRST, simnet.IsReset},
			{EndSilence, func(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }},
			{EndFIN, func(err error) bool { return errors.Is(err, io.EOF) }},
		} {
			s.relay.ForgetIdle(5*time.Second, tc.ending)
			w := s.dial()
			for range 3 { // busy enough
				w.ask("PING", "+PONG\r\n")
				<-time.After(4 * time.Second)
			}
			<-time.After(2 * time.Second)
			pings := s.fake.Count("PING")
			w.send("PING")
			if err := w.end(); !tc.want(err) {
				t.Fatalf("ending %d: %v", tc.ending, err)
			}
			if s.fake.Count("PING") != pings {
				t.Fatal("the server has got something")
			}
		}
	})
}

func TestRelayCutAfter(t *testing.T) {
	relayed(t, func(s *stage) {
		t := s.t
		for _, tc := range []struct {
			ending Ending
			want   func(error) bool
		}{
			{EndFIN, func(err error) bool { return errors.Is(err, io.EOF) }},
			{EndSilence, func(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }},
		} {
			s.relay.Heal()
			old := s.dial()
			old.ask("PING", "+PONG\r\n")
			s.relay.CutAfter(ToClient, 9, tc.ending)
			for _, w := range []*wire{old, s.dial()} {
				w.ask("PING", "+PONG\r\n")
				w.ask("PING", "+P")
				if err := w.end(); !tc.want(err) {
					t.Fatalf("ending %d: %v", tc.ending, err)
				}
			}
		}
		s.relay.Heal()
		w := s.dial()
		w.ask("PING", "+PONG\r\n")
		s.relay.CutAfter(ToServer, 0, EndRST)
		if err := w.end(); !simnet.IsReset(err) {
			t.Fatalf("cut at once: %v", err)
		}
		w = s.dial()
		w.send("PING")
		if err := w.end(); !simnet.IsReset(err) {
			t.Fatalf("cut at the first byte: %v", err)
		}
	})
}

func TestRelayTrickleAndSplit(t *testing.T) {
	relayed(t, func(s *stage) {
		t := s.t
		s.relay.Trickle(ToClient, 2, time.Second)
		w := s.dial()
		start := time.Now()
		w.ask("PING", "+PONG\r\n") // 7 bytes: 4 pieces, 3 gaps
		if d := time.Since(start); d != 3*time.Second {
			t.Fatalf("took %v", d)
		}
		s.relay.Trickle(ToClient, 0, 0)
		s.relay.Split(Both, 1)
		w.ask("ECHO whole", "$5\r\nwhole\r\n")
	})
}

func TestRelayFilter(t *testing.T) {
	relayed(t, func(s *stage) {
		t := s.t
		s.relay.Filter(func(_ *Flow, d Direction, p []byte) ([]byte, Verdict) {
			switch {
			case d == ToServer && bytes.Contains(p, []byte("drop-me")):
				return nil, Pass
			case d == ToClient && bytes.Contains(p, []byte("last")):
				return p, PassThenSilence
			case d == ToClient && bytes.Contains(p, []byte("bye")):
				return p, PassThenFIN
			case d == ToClient && bytes.Contains(p, []byte("boom")):
				return nil, PassThenRST
			}
			return bytes.ReplaceAll(p, []byte("old"), []byte("new")), Pass
		})
		w := s.dial()
		w.ask("ECHO old", "$3\r\nnew\r\n")
		w.send("SET drop-me 1")
		synctest.Wait()
		w.ask("EXISTS drop-m", ":0\r\n")
		w.ask("ECHO last", "$4\r\nlast\r\n")
		w.send("PING")
		w.wantSilence()
		w = s.dial()
		w.ask("ECHO bye", "$3\r\nbye\r\n")
		if err := w.end(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		w = s.dial()
		w.send("ECHO boom")
		if err := w.end(); !simnet.IsReset(err) {
			t.Fatal(err)
		}
	})
}

func TestRelayFlows(t *testing.T) {
	relayed(t, func(s *stage) {
		t := s.t
		a, b, c := s.dial(), s.dial(), s.dial()
		for _, w := range []*wire{a, b, c} {
			w.ask("PING", "+PONG\r\n")
		}
		flows := s.relay.Flows()
		if len(flows) != 3 || flows[1].ID() != 2 || flows[1].ClientAddr().String() != b.nc.LocalAddr().String() {
			t.Fatalf("flows %+v", flows)
		}
		flows[0].Reset()
		if err := a.end(); !simnet.IsReset(err) {
			t.Fatal(err)
		}
		flows[1].Swallow(ToClient)
		b.send("PING")
		b.wantSilence()
		flows[2].Close()
		if err := c.end(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		s.relay.ResetAll()
		if err := b.end(); !simnet.IsReset(err) {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := s.relay.Stats(); got.Open != 0 || s.fake.Stats().Open != 0 {
			t.Fatalf("%+v, server %+v", got, s.fake.Stats())
		}
	})
}

func TestRelayServerNotThere(t *testing.T) {
	relayed(t, func(s *stage) {
		t := s.t
		s.back.SetDialFault(simnet.RefuseDials)
		if err := s.dial().end(); !simnet.IsReset(err) {
			t.Fatal(err)
		}
		s.back.SetDialFault(simnet.BlackholeDials)
		start := time.Now()
		if err := s.dial().end(); !simnet.IsReset(err) || time.Since(start) != relayDialTimeout {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		waiting := s.dial() // Close, when the test ends, must not wait for its dial
		synctest.Wait()
		if got := s.relay.Stats(); got.Failed != 2 || got.Open != 1 {
			t.Fatalf("%+v", got)
		}
		start = time.Now()
		if err := s.relay.Close(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 0 {
			t.Fatalf("Close took %v", d)
		}
		_ = waiting.end()
	})
}

func TestRelayRefuseAndAccept(t *testing.T) {
	f := StartFake(t, nil)
	r := StartRelay(t, f.Addr())
	w := connect(t, r.Addr())
	w.ask("PING", "+PONG\r\n")
	for range 2 {
		if err := r.Refuse(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("dial: %v", err)
	}
	w.ask("PING", "+PONG\r\n") // open flows go on
	for range 2 {
		if err := r.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	connect(t, r.Addr()).ask("PING", "+PONG\r\n")
	r.ResetAll()
	if err := w.end(); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("Accept after Close: %v", err)
	}
}

// In front of a real server that stands still, with clients that have filled every
// buffer: Close must end it all.
func TestRelayCloseWithStuckFlows(t *testing.T) {
	s := StartServer(t)
	r := StartRelay(t, s.Addr())
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	big := bytes.Repeat([]byte("x"), 1<<20)
	for range 8 {
		w := connect(t, r.Addr())
		_ = w.nc.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		for err := error(nil); err == nil; {
			_, err = w.nc.Write(big)
		}
	}
	if got := r.Stats(); got.Accepted != 8 || got.Open != 8 {
		t.Fatalf("%+v", got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := r.Stats(); got.Open != 0 || len(r.Flows()) != 0 {
		t.Fatalf("%+v", got)
	}
}

func TestRelayNeedsATarget(t *testing.T) {
	if _, err := NewRelay(RelayConfig{}); err == nil {
		t.Fatal("no error")
	}
}
