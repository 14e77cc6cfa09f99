package clients

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gomodule/redigo/redis"
)

func redigoSpec() Spec {
	return Spec{
		Name:     Redigo,
		Module:   "github.com/gomodule/redigo",
		Setup:    fmt.Sprintf("pool with MaxActive and MaxIdle %d and Wait; DoContext, so that a deadline is obeyed; pipelines by Send, Flush, Receive", PoolSize),
		Open:     openRedigo,
		OpenPipe: openRedigoPipe,
		OpenIdle: openRedigoIdle,
	}
}

func newRedigoPool(addr string, size int) *redis.Pool {
	return &redis.Pool{
		MaxActive: size, MaxIdle: size, Wait: true,
		DialContext: func(ctx context.Context) (redis.Conn, error) { return redis.DialContext(ctx, "tcp", addr) },
	}
}

type redigoKV struct{ pool *redis.Pool }

func openRedigo(_ context.Context, addr string) (KV, error) {
	return redigoKV{newRedigoPool(addr, PoolSize)}, nil
}

func (c redigoKV) Get(ctx context.Context, key string) (int, error) {
	conn, err := c.pool.GetContext(ctx)
	if err != nil {
		return 0, err
	}
	value, err := redis.String(redis.DoContext(conn, ctx, "GET", key))
	return len(value), errors.Join(err, conn.Close())
}

func (c redigoKV) Set(ctx context.Context, key, value string) error {
	conn, err := c.pool.GetContext(ctx)
	if err != nil {
		return err
	}
	_, err = redis.DoContext(conn, ctx, "SET", key, value)
	return errors.Join(err, conn.Close())
}

func (c redigoKV) Close() error { return c.pool.Close() }

type redigoPipe struct{ conn redis.Conn }

func openRedigoPipe(ctx context.Context, addr string) (Pipe, error) {
	conn, err := redis.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return redigoPipe{conn}, nil
}

func (p redigoPipe) GetAll(_ context.Context, keys []string) (int, error) {
	for _, key := range keys {
		if err := p.conn.Send("GET", key); err != nil {
			return 0, err
		}
	}
	if err := p.conn.Flush(); err != nil {
		return 0, err
	}
	total := 0
	for range keys {
		value, err := redis.String(p.conn.Receive())
		if err != nil {
			return 0, err
		}
		total += len(value)
	}
	return total, nil
}

func (p redigoPipe) SetAll(_ context.Context, keys []string, value string) error {
	for _, key := range keys {
		if err := p.conn.Send("SET", key, value); err != nil {
			return err
		}
	}
	if err := p.conn.Flush(); err != nil {
		return err
	}
	for range keys {
		if _, err := p.conn.Receive(); err != nil {
			return err
		}
	}
	return nil
}

func (p redigoPipe) Close() error { return p.conn.Close() }

func openRedigoIdle(ctx context.Context, addr string, n int) (io.Closer, error) {
	pool := newRedigoPool(addr, n)
	var conns []redis.Conn
	var err error
	for range n {
		var conn redis.Conn
		if conn, err = pool.GetContext(ctx); err != nil {
			break
		}
		conns = append(conns, conn)
		if _, err = redis.DoContext(conn, ctx, "PING"); err != nil {
			break
		}
	}
	for _, conn := range conns {
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return pool, nil
}
