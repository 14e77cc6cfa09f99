package pool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/evenkeel-go/evenkeel/pool"
)

// A pool of network connections: up to two are kept, up to eight more serve a burst and
// leave over the next minute and a half.
func ExamplePool() {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer listener.Close()
	go greet(listener)

	p, err := pool.New(pool.Config[net.Conn]{
		Dial: func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", listener.Addr().String())
		},
		Close:         func(c net.Conn, _ pool.Reason) { c.Close() },
		Size:          2,
		Overflow:      8,
		OverflowDrain: 90 * time.Second,
		DialTimeout:   2 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close(context.Background())

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	lease, err := p.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	greeting := make([]byte, 5)
	if _, err := io.ReadFull(lease.Value(), greeting); err != nil {
		fmt.Println(err, lease.Discard(pool.ReasonError))
		return
	}
	fmt.Println(string(greeting))
	fmt.Println(lease.Release())
	fmt.Println(errors.Is(lease.Release(), pool.ErrReleased))
	s := p.Stat()
	fmt.Println(s.Open, "open,", s.Idle, "idle")
	// Output:
	// hello
	// <nil>
	// true
	// 1 open, 1 idle
}

func greet(listener net.Listener) {
	for {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		if _, err := io.WriteString(c, "hello"); err != nil {
			return
		}
	}
}
