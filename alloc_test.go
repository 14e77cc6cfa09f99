package evenkeel_test

import (
	"context"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/internal/race"
)

// TestAllocations states what a call may allocate: nothing for a SET, its value for a GET, and what a context costs besides is
// the context's own.
func TestAllocations(t *testing.T) {
	server := evenkeeltest.StartServer(t)
	client, err := evenkeel.New(evenkeel.DefaultConfig(server.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var (
		key   = string([]byte("key")) // not a constant: constants are boxed for nothing
		value = make([]byte, 100)
	)
	set := func(ctx context.Context) func() {
		return func() {
			if err := client.Do(ctx, "SET", key, value).Err(); err != nil {
				t.Error(err)
			}
		}
	}
	get := func(ctx context.Context) func() {
		return func() {
			if _, err := client.Do(ctx, "GET", key).Text(); err != nil {
				t.Error(err)
			}
		}
	}
	own := testing.AllocsPerRun(1000, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		listen(ctx)
		cancel()
	})
	for _, c := range []struct {
		name string
		max  float64
		f    func()
	}{
		{"SET", 0, set(context.Background())},
		{"SET with a deadline", 0, set(ctx)},
		{"GET", 1, get(context.Background())},
		{"GET with a deadline", 1, get(ctx)},
		{"SET with a fresh context", own, func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			if err := client.Do(ctx, "SET", key, value).Err(); err != nil {
				t.Error(err)
			}
			cancel()
		}},
		{"lease and release", 0, func() {
			if err := client.DoExclusive(ctx, "SET", key, value).Err(); err != nil {
				t.Error(err)
			}
		}},
	} {
		c.f() // warms pools up
		got := testing.AllocsPerRun(2000, c.f)
		t.Logf("%s: %.2f allocations", c.name, got)
		if got > c.max && !race.Enabled {
			t.Errorf("%s: %.2f allocations, want at most %.0f", c.name, got, c.max)
		}
	}
}

// listen does with a context what any call must: it asks for the Done channel, which is made then.
//
//go:noinline
func listen(ctx context.Context) {
	select {
	case <-ctx.Done():
	default:
	}
}
