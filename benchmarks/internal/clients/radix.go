package clients

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/trace"
)

// radixSize: its conns are shared by its callers, so it needs fewer than a pool of
// exclusive ones; 10 serve it better here than its default of 4.
const radixSize = 10

func radixSpec() Spec {
	return Spec{
		Name:     Radix,
		Module:   "github.com/mediocregopher/radix/v4",
		Setup:    fmt.Sprintf("PoolConfig.Size %d; pipelines on a conn of its own", radixSize),
		Open:     openRadix,
		OpenPipe: openRadixPipe,
		OpenIdle: func(ctx context.Context, addr string, n int) (io.Closer, error) { return newRadix(ctx, addr, n) },
	}
}

// newRadix returns when all conns are open: a pool that is closed while it still opens
// them leaves one behind.
func newRadix(ctx context.Context, addr string, size int) (radix.Client, error) {
	full := make(chan struct{})
	client, err := radix.PoolConfig{
		Size:  size,
		Trace: trace.PoolTrace{InitCompleted: func(trace.PoolInitCompleted) { close(full) }},
	}.New(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	select {
	case <-full:
		return client, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), client.Close())
	}
}

type radixKV struct{ client radix.Client }

func openRadix(ctx context.Context, addr string) (KV, error) {
	client, err := newRadix(ctx, addr, radixSize)
	if err != nil {
		return nil, err
	}
	return radixKV{client}, nil
}

func (c radixKV) Get(ctx context.Context, key string) (int, error) {
	var value string
	err := c.client.Do(ctx, radix.Cmd(&value, "GET", key))
	return len(value), err
}

func (c radixKV) Set(ctx context.Context, key, value string) error {
	return c.client.Do(ctx, radix.Cmd(nil, "SET", key, value))
}

func (c radixKV) Close() error { return c.client.Close() }

type radixPipe struct {
	conn     radix.Conn
	pipeline *radix.Pipeline
	values   []string
}

func openRadixPipe(ctx context.Context, addr string) (Pipe, error) {
	conn, err := radix.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &radixPipe{conn: conn, pipeline: radix.NewPipeline()}, nil
}

func (p *radixPipe) GetAll(ctx context.Context, keys []string) (int, error) {
	p.pipeline.Reset()
	if len(p.values) < len(keys) {
		p.values = make([]string, len(keys))
	}
	for i, key := range keys {
		p.pipeline.Append(radix.Cmd(&p.values[i], "GET", key))
	}
	if err := p.conn.Do(ctx, p.pipeline); err != nil {
		return 0, err
	}
	total := 0
	for _, value := range p.values[:len(keys)] {
		total += len(value)
	}
	return total, nil
}

func (p *radixPipe) SetAll(ctx context.Context, keys []string, value string) error {
	p.pipeline.Reset()
	for _, key := range keys {
		p.pipeline.Append(radix.Cmd(nil, "SET", key, value))
	}
	return p.conn.Do(ctx, p.pipeline)
}

func (p *radixPipe) Close() error { return p.conn.Close() }
