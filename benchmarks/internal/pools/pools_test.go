package pools

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

// TestEveryPoolHoldsSize: with many goroutines all things are out at some time, and
// never more.
func TestEveryPoolHoldsSize(t *testing.T) {
	for _, spec := range All() {
		t.Run(spec.Name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cycle, closePool, err := spec.Open(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer closePool()

			var out atomic.Int64
			allOut := make(chan struct{})
			full := sync.OnceFunc(func() { close(allOut) })
			var workers sync.WaitGroup
			for range 2 * Size {
				workers.Go(func() {
					err := cycle(ctx, func() {
						switch n := out.Add(1); {
						case n == Size:
							full()
						case n > Size:
							t.Errorf("%d things are out, the pool holds %d", n, Size)
						}
						<-allOut // holds what it has until nothing is left
						out.Add(-1)
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			workers.Wait()
		})
	}
}

// TestEveryPoolObeysTheContext: who waits for a thing gets out when its context ends,
// and leaves the pool usable.
func TestEveryPoolObeysTheContext(t *testing.T) {
	for _, spec := range All() {
		t.Run(spec.Name, func(t *testing.T) {
			cycle, closePool, err := spec.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer closePool()
			release := make(chan struct{})
			var holders sync.WaitGroup
			var held sync.WaitGroup
			held.Add(Size)
			for range Size {
				holders.Go(func() {
					if err := cycle(t.Context(), func() { held.Done(); <-release }); err != nil {
						t.Error(err)
					}
				})
			}
			held.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				runtime.Gosched()
				cancel()
			}()
			if err := cycle(ctx, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want context.Canceled", err)
			}
			close(release)
			holders.Wait()
			for range 2 * Size {
				if err := cycle(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
