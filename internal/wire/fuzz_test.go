package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/resp"
	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

// FuzzServerBytes lets a server send arbitrary bytes, cut arbitrarily, in the handshake or after it. Nothing panics, no call hangs, and the conn
// ends with nothing owed.
func FuzzServerBytes(f *testing.F) {
	for _, s := range []string{
		"", "+OK\r\n", "+OK\r\n$3\r\nabc\r\n:5\r\n", "$-1\r\n*-1\r\n_\r\n", ">2\r\n+note\r\n:1\r\n+OK\r\n", "|1\r\n+a\r\n+b\r\n+OK\r\n+OK\r\n",
		"-ERR going away\r\n", "*3\r\n*1\r\n+x\r\n$0\r\n\r\n#t\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "$5\r\nab", "*2147483647\r\n",
		"+a\r\n+b\r\n+c\r\n+d\r\n+e\r\n+f\r\n+g\r\n+h\r\n", "%1\r\n$2\r\nid\r\n:7\r\n+OK\r\n", "$?\r\n;1\r\na\r\n;0\r\n", "\x15\x03\x01",
	} {
		f.Add([]byte(s), uint8(0), false, true)
		f.Add([]byte(s), uint8(1), true, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, split uint8, handshake, closes bool) {
		synctest.Test(t, func(t *testing.T) {
			network := simnet.New(simnet.Options{})
			ln, err := network.Listen(rigAddr)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() { serveBytes(ln, b, handshake, closes) })
			useServer(t, network, int(split%8))
			ln.Close()
			wg.Wait()
		})
	})
}

// serveBytes serves one conn: with a proper handshake first, if so, then b whatever is asked.
func serveBytes(ln net.Listener, b []byte, handshake, closes bool) {
	nc, err := ln.Accept()
	if err != nil {
		return
	}
	defer nc.Close()
	if handshake {
		_, _ = nc.Read(make([]byte, 4096))
		_, _ = io.WriteString(nc, "%1\r\n$2\r\nid\r\n:7\r\n")
		_, _ = nc.Read(make([]byte, 1))
	}
	_, _ = nc.Write(b)
	if !closes {
		_, _ = io.Copy(io.Discard, nc)
	}
}

func useServer(t *testing.T, network *simnet.Network, split int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	network.Split(simnet.ToClient, split)
	pushes := 0
	c, err := Dial(ctx, &Config{Network: "tcp", Addr: rigAddr, Dialer: network.Dial, Conn: Options{
		StallTimeout: 100 * ms, Limits: resp.Limits{MaxTotal: 1 << 20},
		OnPush: func(*Conn, resp.Value) { pushes++ }, // by whoever holds the reader role
	}})
	if err != nil {
		if _, ok := errors.AsType[*DialError](err); !ok {
			t.Errorf("%v is no DialError", err)
		}
		return
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 50*ms)
			defer cancel()
			k := NewCall()
			for range i + 1 {
				k.Words("PING")
			}
			if i == 3 {
				k.OnLost(func(resp.Value) {})
			}
			start := time.Now()
			if err := c.RoundTrip(ctx, k, 0, 0); err == nil {
				k.Free()
			}
			if late := time.Since(start) - 50*ms; late > slack {
				t.Errorf("late by %v", late)
			}
		})
	}
	wg.Wait()
	c.Alive()
	c.Ping()
	pass(time.Second)
	c.Alive()
	c.Close(nil)
	synctest.Wait()
	if n := c.Owed(); n != 0 {
		t.Errorf("%d replies owed by a closed conn", n)
	}
}
