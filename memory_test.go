package evenkeel_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// maxIdleConnHeap is what an idle conn may cost in all, in bytes of heap: the promise of the README.
const maxIdleConnHeap = 8 << 10

// TestIdleConnsAreSmall opens 5,000 conns to one server (F21) and counts heap and goroutines while they are idle.
func TestIdleConnsAreSmall(t *testing.T) {
	const conns = 5000
	server := evenkeeltest.StartServer(t)
	cfg := evenkeel.DefaultConfig(server.Addr())
	cfg.Size, cfg.MinIdleConns, cfg.Overflow = conns, conns, 0
	cfg.MaxConns = cfg.SharedConns + 1 + conns + cfg.MaxBlocking
	cfg.PingInterval = evenkeel.Disabled // a ping takes buffers for as long as it lasts
	cfg.Governor = evenkeel.NewGovernor(0)

	before := settledHeap()
	goroutines := countGoroutines()
	start := time.Now()
	client, err := evenkeel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.DoExclusive(t.Context(), "PING").Err(); err != nil { // somebody must begin
		t.Fatal(err)
	}
	eventually(t, time.Minute, "all conns open", func() bool { return client.Stats().Exclusive.Idle == conns })
	elapsed := time.Since(start)
	eventually(t, 10*time.Second, "no goroutine of an idle conn", func() bool { return countGoroutines() <= goroutines+8 })

	heap := (settledHeap() - before) / conns
	t.Logf("%d conns in %v (%.0f/s), %d bytes of heap each, %d goroutines more", conns, elapsed.Round(time.Millisecond),
		conns/elapsed.Seconds(), heap, countGoroutines()-goroutines)
	if heap > maxIdleConnHeap {
		t.Errorf("an idle conn costs %d bytes of heap, want at most %d", heap, maxIdleConnHeap)
	}
	if err := client.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// settledHeap is the heap in use once finalizers have run and pools are empty.
func settledHeap() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far below the limit
}
