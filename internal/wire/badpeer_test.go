package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// A peer is a listener whose conns are treated by one function.
func listenAs(t *testing.T, serve func(nc net.Conn)) string {
	t.Helper()
	ln, err := evenkeeltest.ListenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			serve(nc)
			_ = nc.Close()
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		<-ended
	})
	return ln.Addr().String()
}

// untilGone keeps the conn open until the other side closes it.
func untilGone(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) }

// say reads the beginning of the request, answers, and keeps the conn open.
func say(s string) func(net.Conn) {
	return func(nc net.Conn) {
		_, _ = nc.Read(make([]byte, 1))
		_, _ = io.WriteString(nc, s)
		untilGone(nc)
	}
}

// forEver answers with the same bytes without end.
func forEver(first, again string) func(net.Conn) {
	return func(nc net.Conn) {
		_, err := io.WriteString(nc, first)
		block := strings.Repeat(again, 4096/len(again))
		for err == nil {
			_, err = io.WriteString(nc, block)
		}
	}
}

// TestBadPeers dials what is no Redis server, or not in order: each is a clear *DialError in bounded time.
func TestBadPeers(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithTLS())
	refuses := listenAs(t, func(net.Conn) {})
	for _, tc := range []struct {
		name  string
		addr  string
		serve func(net.Conn)
		tls   bool
		phase string   // "": that depends on who is faster
		want  []string // any of these
		timed bool     // only the context can end it
	}{
		{name: "nobody listens", addr: "127.0.0.1:1", phase: PhaseConnect, want: []string{"nothing listens there"}},
		{name: "no such host", addr: "no-such-host.invalid:6379", phase: PhaseResolve, want: []string{"no-such-host.invalid"}},
		{name: "no port", addr: "localhost", phase: PhaseResolve, want: []string{"missing port"}},
		{name: "HTTP", addr: web.Listener.Addr().String(), phase: PhaseHandshake, want: []string{"answers in HTTP"}},
		{name: "TLS on the plain port", addr: s.Addr(), tls: true, phase: PhaseTLS, want: []string{"plain port"}, timed: true},
		{name: "TLS on a port that answers in plain text", serve: say("-ERR what\r\n-ERR is this\r\n"), tls: true, phase: PhaseTLS, want: []string{"does not speak TLS"}},
		{name: "plain on the TLS port", addr: s.TLSAddr(), phase: PhaseHandshake, want: []string{"TLS"}},
		{name: "a TLS alert", serve: say("\x15\x03\x01\x00\x02\x02\x0a"), phase: PhaseHandshake, want: []string{"answers in TLS"}},
		{name: "a certificate nobody trusts", addr: s.TLSAddr(), tls: true, phase: PhaseTLS, want: []string{"give the server's CA"}},
		{name: "garbage", serve: say("\x00\x01\x02 hello"), phase: PhaseHandshake, want: []string{"does not speak the Redis protocol"}},
		{name: "a greeting of another protocol", serve: say("220 mail ESMTP\r\n"), phase: PhaseHandshake, want: []string{"does not speak the Redis protocol"}},
		{name: "says nothing", serve: untilGone, phase: PhaseHandshake, want: []string{"the server says nothing"}, timed: true},
		{name: "half a reply", serve: say("%7\r\n$6\r\nserver\r\n$5\r\nre"), phase: PhaseHandshake, want: []string{"no answer"}, timed: true},
		{name: "half a reply, then closed", serve: func(nc net.Conn) { _, _ = nc.Read(make([]byte, 4096)); _, _ = io.WriteString(nc, "%7\r\n$6\r\nser") }, phase: PhaseHandshake, want: []string{"closed during set-up"}},
		{name: "closes at once", addr: refuses, phase: PhaseHandshake, want: []string{"closed during set-up"}},
		{name: "closes at once, TLS", addr: refuses, tls: true, phase: PhaseTLS, want: []string{"closed during set-up"}},
		{name: "resets at once", serve: reset, want: []string{"closed during set-up"}},
		{name: "an error line, then closed", serve: func(nc net.Conn) { _, _ = io.WriteString(nc, "-DENIED Redis is running in protected mode\r\n") }, phase: PhaseHandshake, want: []string{"DENIED Redis is running in protected mode"}},
		{name: "a line without end", serve: forEver("+", "x"), phase: PhaseHandshake, want: []string{"does not speak the Redis protocol"}},
		{name: "a huge string", serve: forEver("$536870912\r\n", "x"), phase: PhaseHandshake, want: []string{"does not speak the Redis protocol"}},
		{name: "a huge header", serve: say("*2147483647\r\n"), phase: PhaseHandshake, want: []string{"does not speak the Redis protocol"}},
		{name: "nested without end", serve: forEver("", "*1\r\n"), phase: PhaseHandshake, want: []string{"does not speak the Redis protocol"}},
		{name: "pushes without end", serve: forEver("", ">1\r\n+x\r\n"), phase: PhaseHandshake, want: []string{"does not speak the Redis protocol"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := &Config{Network: "tcp", Addr: tc.addr, LibName: "evenkeel", DB: 1}
			if tc.serve != nil {
				cfg.Addr = listenAs(t, tc.serve)
			}
			if tc.tls {
				cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
			}
			limit := 5 * time.Second
			if tc.timed {
				limit = 200 * ms
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			start := time.Now()
			_, err := Dial(ctx, cfg)
			took := time.Since(start)
			failed, ok := errors.AsType[*DialError](err)
			if !ok || tc.phase != "" && failed.Phase != tc.phase || failed.Addr != cfg.Addr {
				t.Fatalf("%v, want a DialError of the phase %s", err, tc.phase)
			}
			found := false
			for _, w := range tc.want {
				found = found || strings.Contains(err.Error(), w)
			}
			if !found {
				t.Errorf("%v: says none of %q", err, tc.want)
			}
			if tc.timed != errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v: is a deadline: %v", err, !tc.timed)
			}
			if took > limit+500*ms || !tc.timed && took > 3*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func reset(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

func TestDialIsCancelled(t *testing.T) {
	for name, cfg := range map[string]*Config{
		"handshake": {Network: "tcp", Addr: listenAs(t, untilGone)},
		"TLS":       {Network: "tcp", Addr: listenAs(t, untilGone), TLS: &tls.Config{MinVersion: tls.VersionTLS12}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			dialed := make(chan struct{})
			cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				defer close(dialed)
				return (&net.Dialer{}).DialContext(ctx, network, addr)
			}
			go func() {
				<-dialed
				cancel()
			}()
			if _, err := Dial(ctx, cfg); !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want a cancel", err)
			}
		})
	}
}

// A push that follows the last reply of the handshake in the same packet is not lost, nor is its beginning.
func TestPushBehindTheHandshake(t *testing.T) {
	hello := "%1\r\n$2\r\nid\r\n:7\r\n"
	for _, tc := range []struct{ with, then string }{{">1\r\n+note\r\n", ""}, {">1\r\n+no", "te\r\n"}} {
		serve := func(nc net.Conn) {
			_, _ = nc.Read(make([]byte, 4096))
			_, _ = io.WriteString(nc, hello+tc.with)
			_, _ = nc.Read(make([]byte, 4096))
			_, _ = io.WriteString(nc, tc.then+"+PONG\r\n")
			untilGone(nc)
		}
		pushes := make(chan string, 2)
		c := mustDial(t, &Config{Addr: listenAs(t, serve), Conn: Options{OnPush: func(_ *Conn, v resp.Value) { pushes <- v.Elems[0].Str }}})
		if got := ask(t, c, "PING"); got != "PONG" {
			t.Errorf("got %q", got)
		}
		if got := <-pushes; got != "note" {
			t.Errorf("push %q", got)
		}
		closeAndWait(t, c)
	}
	t.Run("anything else there is no Redis server", func(t *testing.T) {
		c, err := dialTo(t, &Config{Addr: listenAs(t, say(hello+"+OK\r\n"))})
		if err == nil {
			t.Errorf("dialed %v", c.Info())
		}
	})
}
