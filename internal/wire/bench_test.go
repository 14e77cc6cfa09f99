package wire

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// BenchmarkRoundTrip is GET and SET in turns, 100 bytes, by so many callers on one conn to a real server, without and with a
// fresh deadline for each call.
func BenchmarkRoundTrip(b *testing.B) {
	s := evenkeeltest.StartServer(b)
	for _, callers := range []int{1, 8, 64, 250, 1000} {
		for _, deadline := range []bool{false, true} {
			b.Run(fmt.Sprintf("callers=%d/deadline=%v", callers, deadline), func(b *testing.B) {
				c := mustDial(b, &Config{Addr: s.Addr(), Conn: Options{StallTimeout: 2 * time.Second}})
				var left atomic.Int64
				left.Store(int64(b.N))
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for range callers {
					wg.Go(func() { benchCaller(b, c, &left, deadline) })
				}
				wg.Wait()
			})
		}
	}
}

func benchCaller(b *testing.B, c *Conn, left *atomic.Int64, deadline bool) {
	b.Helper()
	var value any = make([]byte, 100)
	for {
		n := left.Add(-1)
		if n < 0 {
			return
		}
		ctx, cancel := context.Background(), func() {}
		if deadline {
			ctx, cancel = context.WithTimeout(ctx, time.Second)
		}
		k := NewCall()
		var err error
		if n%2 == 0 {
			err = k.Command([]any{"SET", "k", value})
		} else {
			err = k.Command([]any{"GET", "k"})
		}
		if err == nil {
			err = c.RoundTrip(ctx, k, 0, 0)
		}
		cancel()
		if err != nil {
			b.Error(err)
			return
		}
		k.Free()
	}
}
