package pool

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The comparison with other pools is in the benchmarks module; these watch our own.

func BenchmarkSolo(b *testing.B) {
	cancelable, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	for name, ctx := range map[string]context.Context{"background": context.Background(), "cancelable": cancelable} {
		b.Run(name, func(b *testing.B) {
			p := benchPool(b, 16)
			b.ReportAllocs()
			for b.Loop() {
				turn(ctx, b, p, func() {})
			}
		})
	}
}

// BenchmarkContended: 64 callers on 16 conns, which they hold for no time, or across a
// yield, so that most of them really wait.
func BenchmarkContended(b *testing.B) {
	for name, hold := range map[string]func(){"plain": func() {}, "yield": runtime.Gosched} {
		b.Run(name, func(b *testing.B) { contend(b, 64, 16, hold) })
	}
}

// BenchmarkHandOver: conns held for a millisecond by many more callers than there are,
// each of which then computes. The ideal is 1 ms divided by the conns.
func BenchmarkHandOver(b *testing.B) {
	for _, conns := range []int{4, 16} {
		b.Run(strconv.Itoa(conns), func(b *testing.B) {
			contend(b, 100, conns, func() { <-time.After(time.Millisecond) })
		})
	}
}

func contend(b *testing.B, callers, conns int, hold func()) {
	b.Helper()
	p := benchPool(b, conns)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	b.ResetTimer()
	var done atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for done.Add(1) <= int64(b.N) {
				turn(ctx, b, p, hold)
			}
		})
	}
	wg.Wait()
}

func turn(ctx context.Context, b *testing.B, p *Pool[int], hold func()) {
	b.Helper()
	l, err := p.Acquire(ctx)
	if err != nil {
		b.Error(err)
		return
	}
	hold()
	if err := l.Release(); err != nil {
		b.Error(err)
	}
}

// benchPool returns a pool with n idle conns.
func benchPool(b *testing.B, n int) *Pool[int] {
	b.Helper()
	p, err := New(Config[int]{
		Dial:  func(context.Context) (int, error) { return 1, nil },
		Close: func(int, Reason) {},
		Check: func(int) bool { return true },
		Size:  n,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	leases := make([]Lease[int], n)
	for i := range leases {
		if leases[i], err = p.Acquire(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for _, l := range leases {
		if err := l.Release(); err != nil {
			b.Fatal(err)
		}
	}
	return p
}
