package clients

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// TestEveryClient makes sure that all clients do the same work: what one of them writes
// the server has, a missing key has no value, and pipelines move every value.
func TestEveryClient(t *testing.T) {
	server := evenkeeltest.StartServer(t)
	value := strings.Repeat("v", 100)
	for _, spec := range All() {
		t.Run(spec.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if spec.Open != nil {
				testKV(ctx, t, spec, server, value)
			}
			if spec.OpenPipe != nil {
				testPipe(ctx, t, spec, server, value)
			}
			if spec.OpenIdle != nil {
				testIdle(ctx, t, spec, server)
			}
			awaitClients(ctx, t, server, 1) // the server's own control conn
		})
	}
}

func testKV(ctx context.Context, t *testing.T, spec Spec, server *evenkeeltest.Server, value string) {
	t.Helper()
	kv, err := spec.Open(ctx, server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer closeIt(t, kv.Close)
	if err := kv.Set(ctx, "kv:"+spec.Name, value); err != nil {
		t.Fatal(err)
	}
	if n, err := kv.Get(ctx, "kv:"+spec.Name); err != nil || n != len(value) {
		t.Errorf("Get = %d, %v; want %d", n, err, len(value))
	}
	if got, err := server.Do(ctx, "GET", "kv:"+spec.Name); err != nil || got != value {
		t.Errorf("the server has %q, %v", got, err)
	}
	if n, err := kv.Get(ctx, "missing"); err == nil && n != 0 { // radix gives an empty string
		t.Errorf("Get of a missing key = %d without an error", n)
	}
}

func testPipe(ctx context.Context, t *testing.T, spec Spec, server *evenkeeltest.Server, value string) {
	t.Helper()
	pipe, err := spec.OpenPipe(ctx, server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer closeIt(t, pipe.Close)
	for _, depth := range []int{1, 16, 300} {
		keys := make([]string, depth)
		for i := range keys {
			keys[i] = spec.Name + ":" + strconv.Itoa(i)
		}
		if err := pipe.SetAll(ctx, keys, value); err != nil {
			t.Fatal(err)
		}
		if n, err := pipe.GetAll(ctx, keys); err != nil || n != depth*len(value) {
			t.Errorf("GetAll of %d = %d, %v; want %d", depth, n, err, depth*len(value))
		}
		if got, err := server.Do(ctx, "GET", keys[depth-1]); err != nil || got != value {
			t.Errorf("the server has %q, %v", got, err)
		}
	}
}

func testIdle(ctx context.Context, t *testing.T, spec Spec, server *evenkeeltest.Server) {
	t.Helper()
	const n = 20
	idle, err := spec.OpenIdle(ctx, server.Addr(), n)
	if err != nil {
		t.Fatal(err)
	}
	defer closeIt(t, idle.Close)
	awaitClients(ctx, t, server, n+1)
}

// awaitClients polls until the server has at least n conns open, or for n = 1 no other.
func awaitClients(ctx context.Context, t *testing.T, server *evenkeeltest.Server, n int64) {
	t.Helper()
	for {
		got, err := server.InfoInt(ctx, "clients", "connected_clients")
		if err != nil {
			t.Fatalf("waiting for %d conns, last seen %d: %v", n, got, err)
		}
		if got == n || n > 1 && got > n {
			return
		}
	}
}

func closeIt(t *testing.T, f func() error) {
	t.Helper()
	if err := f(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
