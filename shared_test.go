package evenkeel_test

import (
	"sync"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// TestSharedConnsFollowTheLoad: a caller alone has one shared conn, a few at once use all there are, and a crowd opens no more.
func TestSharedConnsFollowTheLoad(t *testing.T) {
	t.Parallel()
	server := evenkeeltest.StartServer(t)
	r := newRig(t, server.Addr(), nil)
	for range 200 {
		if err := r.Do(t.Context(), "PING").Err(); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.relay.Stats().Accepted; n != 1 {
		t.Errorf("%d conns for one caller, want 1", n)
	}
	const sharedConns = 2 // the default
	for _, callers := range []int{8, 100} {
		stopped := make(chan struct{})
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for {
					select {
					case <-stopped:
						return
					default:
					}
					if err := r.Do(t.Context(), "PING").Err(); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		eventually(t, 5*time.Second, "all shared conns in use", func() bool { return r.relay.Stats().Open == sharedConns })
		close(stopped)
		wg.Wait()
	}
	if n := r.relay.Stats().OpenMax; n > sharedConns {
		t.Errorf("%d conns open at once, want %d", n, sharedConns)
	}
}
