package clients

import (
	"context"
	"fmt"
	"io"

	"github.com/redis/go-redis/v9"
)

func goRedisSpec() Spec {
	return Spec{
		Name:     GoRedis,
		Module:   "github.com/redis/go-redis/v9",
		Setup:    fmt.Sprintf("PoolSize %d; ContextTimeoutEnabled, so that a deadline is obeyed", PoolSize),
		Open:     openGoRedis,
		OpenPipe: openGoRedisPipe,
		OpenIdle: openGoRedisIdle,
	}
}

func newGoRedis(addr string, size, idle int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, PoolSize: size, MinIdleConns: idle, ContextTimeoutEnabled: true})
}

type goRedis struct{ client *redis.Client }

func openGoRedis(_ context.Context, addr string) (KV, error) {
	return goRedis{newGoRedis(addr, PoolSize, 0)}, nil
}

func (c goRedis) Get(ctx context.Context, key string) (int, error) {
	value, err := c.client.Get(ctx, key).Result()
	return len(value), err
}

func (c goRedis) Set(ctx context.Context, key, value string) error {
	return c.client.Set(ctx, key, value, 0).Err()
}

func (c goRedis) Close() error { return c.client.Close() }

type goRedisPipe struct {
	client *redis.Client
	gets   []*redis.StringCmd
}

func openGoRedisPipe(_ context.Context, addr string) (Pipe, error) {
	return &goRedisPipe{client: newGoRedis(addr, 1, 0)}, nil
}

func (p *goRedisPipe) GetAll(ctx context.Context, keys []string) (int, error) {
	pipe := p.client.Pipeline()
	p.gets = p.gets[:0]
	for _, key := range keys {
		p.gets = append(p.gets, pipe.Get(ctx, key))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, err
	}
	total := 0
	for _, get := range p.gets {
		total += len(get.Val())
	}
	return total, nil
}

func (p *goRedisPipe) SetAll(ctx context.Context, keys []string, value string) error {
	pipe := p.client.Pipeline()
	for _, key := range keys {
		pipe.Set(ctx, key, value, 0)
	}
	_, err := pipe.Exec(ctx)
	return err
}

func (p *goRedisPipe) Close() error { return p.client.Close() }

func openGoRedisIdle(_ context.Context, addr string, n int) (io.Closer, error) {
	return newGoRedis(addr, n, n), nil
}
