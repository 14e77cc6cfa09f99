package pool

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func BenchmarkSolo(b *testing.B) {
	p := benchPool(b, 16)
	b.ReportAllocs()
	for b.Loop() {
		l, _ := p.Acquire(context.Background())
		l.Release()
	}
}

func BenchmarkSoloCancelable(b *testing.B) {
	p := benchPool(b, 16)
	ctx, c := context.WithTimeout(context.Background(), time.Hour)
	defer c()
	b.ReportAllocs()
	for b.Loop() {
		l, _ := p.Acquire(ctx)
		l.Release()
	}
}

func BenchmarkContended(b *testing.B) {
	for _, yield := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "yield"}[yield], func(b *testing.B) {
			p := benchPool(b, 16)
			ctx, c := context.WithCancel(context.Background())
			defer c()
			b.ReportAllocs()
			var wg sync.WaitGroup
			var n atomic.Int64
			b.ResetTimer()
			for range 64 {
				wg.Go(func() {
					for n.Add(1) <= int64(b.N) {
						l, err := p.Acquire(ctx)
						if err != nil {
							b.Error(err)
						}
						if yield {
							runtime.Gosched()
						}
						l.Release()
					}
				})
			}
			wg.Wait()
		})
	}
}

func benchPool(b *testing.B, n int) *Pool[int] {
	p, err := New(Config[int]{Dial: func(context.Context) (int, error) { return 1, nil }, Close: func(int, Reason) {}, Check: func(int) bool { return true }, Size: n})
	if err != nil {
		b.Fatal(err)
	}
	var ls []Lease[int]
	for range n {
		l, err := p.Acquire(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		ls = append(ls, l)
	}
	for _, l := range ls {
		l.Release()
	}
	b.Cleanup(func() { p.Close(context.Background()) })
	return p
}
