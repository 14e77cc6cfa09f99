package wire

import (
	"bytes"
	"context"
	"net"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/internal/race"
)

// TestAllocations holds the lone caller to its budget: nothing for a SET, the value for a GET, and beside that what the context
// itself costs.
func TestAllocations(t *testing.T) {
	s := evenkeeltest.StartServer(t, evenkeeltest.WithTLS(), evenkeeltest.WithUnixSocket())
	for name, cfg := range map[string]*Config{
		"TCP":  {Addr: s.Addr()},
		"unix": {Network: "unix", Addr: s.Socket()},
		"TLS":  {Addr: s.TLSAddr(), TLS: s.TLSConfig()},
	} {
		cfg.Conn.StallTimeout = 2 * time.Second
		c := mustDial(t, cfg)
		value := make([]byte, 100)
		call := func(ctx context.Context, timeout time.Duration, args ...any) {
			k := NewCall()
			if err := k.Command(args); err != nil {
				t.Error(err)
			}
			if err := c.RoundTrip(ctx, k, timeout, 0); err != nil {
				t.Error(err)
			}
			k.Free()
		}
		background := context.Background()
		withDeadline := func(f func(context.Context)) func() {
			return func() {
				ctx, cancel := context.WithTimeout(background, time.Second)
				f(ctx)
				cancel()
			}
		}
		var slice any = value // boxed once
		own := testing.AllocsPerRun(500, withDeadline(func(ctx context.Context) { _ = ctx.Done() }))
		for _, tc := range []struct {
			name   string
			f      func()
			budget float64
		}{
			{"SET", func() { call(background, 0, "SET", "k", slice) }, 0},
			{"SET with a timeout", func() { call(background, time.Second, "SET", "k", slice) }, 0},
			{"GET", func() { call(background, 0, "GET", "k") }, 1},
			{"SET with a fresh context", withDeadline(func(ctx context.Context) { call(ctx, 0, "SET", "k", slice) }), own},
			{"GET with a fresh context", withDeadline(func(ctx context.Context) { call(ctx, 0, "GET", "k") }), own + 1},
		} {
			got := testing.AllocsPerRun(500, tc.f)
			if name == "TLS" {
				tc.budget += 4 // crypto/tls makes its own
			}
			if got > tc.budget && !race.Enabled {
				t.Errorf("%s, %s: %v allocations, budget %v", name, tc.name, got, tc.budget)
			}
		}
	}
}

// maxIdleConn is what an idle conn may hold of the heap, in bytes, the socket apart.
const maxIdleConn = 2 << 10

// TestIdleConnIsSmall counts what many idle conns hold once the watch has let go of their buffers.
func TestIdleConnIsSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 500
		conns := make([]*Conn, n)
		before := heap()
		for i := range conns {
			conns[i] = newConn(&agreeable{}, Options{StallTimeout: time.Second})
			if o := do(context.Background(), conns[i], 0, "ECHO", "x"); o.reply != "OK" {
				t.Fatal(o)
			}
			conns[i].mu.Lock()
			held := conns[i].rbuf != nil
			conns[i].mu.Unlock()
			if !held {
				t.Fatal("there is no buffer to let go of")
			}
		}
		pass(3 * idleLook)
		synctest.Wait()
		stacks := make([]byte, 1<<20)
		if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("wire.(*Conn)")) {
			t.Errorf("an idle conn has a goroutine:\n%s", stacks)
		}
		if each := (int64(heap()) - int64(before)) / n; each > maxIdleConn && !race.Enabled {
			t.Errorf("an idle conn holds %d bytes, budget %d", each, maxIdleConn)
		} else {
			t.Logf("an idle conn holds %d bytes", each)
		}
		for _, c := range conns {
			c.Close(nil)
		}
	})
}

// agreeable is a server that answers every write with OK at once.
type agreeable struct {
	net.Conn
	owed int
}

func (a *agreeable) Write(b []byte) (int, error) {
	a.owed++
	return len(b), nil
}

func (a *agreeable) Read(b []byte) (int, error) {
	if a.owed == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	a.owed--
	return copy(b, "+OK\r\n"), nil
}

func (a *agreeable) SetReadDeadline(time.Time) error  { return nil }
func (a *agreeable) SetWriteDeadline(time.Time) error { return nil }
func (a *agreeable) Close() error                     { return nil }

func heap() uint64 {
	var m runtime.MemStats
	for range 3 { // pools keep what they hold for two collections
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
