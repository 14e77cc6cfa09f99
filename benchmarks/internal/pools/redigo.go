package pools

import (
	"context"

	"github.com/gomodule/redigo/redis"
)

// idleConn is a conn on which nothing is ever pending, which is all that redigo's pool
// asks of a conn that comes back.
type idleConn struct{ _ thing }

func (*idleConn) Close() error                    { return nil }
func (*idleConn) Err() error                      { return nil }
func (*idleConn) Do(string, ...any) (any, error)  { return nil, nil }
func (*idleConn) Send(string, ...any) error       { return nil }
func (*idleConn) Flush() error                    { return nil }
func (*idleConn) Receive() (reply any, err error) { return nil, nil }

func openRedigo(ctx context.Context) (Cycle, func(), error) {
	p := &redis.Pool{
		MaxActive: Size, MaxIdle: Size, Wait: true,
		DialContext: func(context.Context) (redis.Conn, error) { return new(idleConn), nil },
	}
	closePool := func() { _ = p.Close() } // closing an idleConn cannot fail
	err := fill(func() (func(), error) {
		conn, err := p.GetContext(ctx)
		return func() { _ = conn.Close() }, err
	})
	if err != nil {
		closePool()
		return nil, nil, err
	}
	return func(ctx context.Context, hold func()) error {
		conn, err := p.GetContext(ctx)
		if err != nil {
			return err
		}
		if hold != nil {
			hold()
		}
		return conn.Close()
	}, closePool, nil
}
