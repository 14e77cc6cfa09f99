package clients

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// closeTimeout bounds how long our client drains when it is closed.
const closeTimeout = 5 * time.Second

func evenkeelSpecs() []Spec {
	const module = "github.com/evenkeel-go/evenkeel"
	return []Spec{
		{
			Name: Evenkeel, Module: module, Setup: "as it comes; one shared conn for pipelines (SharedConns 1)",
			Open: openEvenkeel, OpenPipe: openEvenkeelPipe, OpenIdle: openEvenkeelIdle,
		},
		{Name: EvenkeelConn, Module: module, Setup: "as it comes; pipelines on a conn of its own (Dial)", OpenPipe: openEvenkeelConnPipe},
	}
}

type evenkeelKV struct{ client *evenkeel.Client }

func newEvenkeel(cfg evenkeel.Config) (evenkeelKV, error) {
	client, err := evenkeel.New(cfg)
	return evenkeelKV{client}, err
}

func openEvenkeel(_ context.Context, addr string) (KV, error) {
	return newEvenkeel(evenkeel.DefaultConfig(addr))
}

func (c evenkeelKV) Get(ctx context.Context, key string) (int, error) {
	value, err := c.client.Do(ctx, "GET", key).Text()
	return len(value), err
}

func (c evenkeelKV) Set(ctx context.Context, key, value string) error {
	return c.client.Do(ctx, "SET", key, value).Err()
}

func (c evenkeelKV) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return c.client.Close(ctx)
}

type evenkeelPipe struct {
	pipeline *evenkeel.Pipeline
	closer   io.Closer
}

func openEvenkeelPipe(_ context.Context, addr string) (Pipe, error) {
	cfg := evenkeel.DefaultConfig(addr)
	cfg.SharedConns = 1
	kv, err := newEvenkeel(cfg)
	if err != nil {
		return nil, err
	}
	return &evenkeelPipe{pipeline: kv.client.Pipeline(), closer: kv}, nil
}

func openEvenkeelConnPipe(ctx context.Context, addr string) (Pipe, error) {
	conn, err := evenkeel.Dial(ctx, evenkeel.DefaultConfig(addr))
	if err != nil {
		return nil, err
	}
	return &evenkeelPipe{pipeline: conn.Pipeline(), closer: conn}, nil
}

func (p *evenkeelPipe) GetAll(ctx context.Context, keys []string) (int, error) {
	p.pipeline.Reset()
	for _, key := range keys {
		p.pipeline.Do("GET", key)
	}
	replies, err := p.pipeline.Exec(ctx)
	if err != nil {
		return 0, err
	}
	if len(replies) != len(keys) {
		return 0, errors.New("a pipeline gave another number of replies")
	}
	total := 0
	for _, reply := range replies {
		value, err := reply.Text()
		if err != nil {
			return 0, err
		}
		total += len(value)
	}
	return total, nil
}

func (p *evenkeelPipe) SetAll(ctx context.Context, keys []string, value string) error {
	p.pipeline.Reset()
	for _, key := range keys {
		p.pipeline.Do("SET", key, value)
	}
	_, err := p.pipeline.Exec(ctx)
	return err
}

func (p *evenkeelPipe) Close() error { return p.closer.Close() }

func openEvenkeelIdle(_ context.Context, addr string, n int) (io.Closer, error) {
	cfg := evenkeel.DefaultConfig(addr)
	// Room for the other lanes, whose conns are not opened here.
	cfg.MaxConns = n + cfg.SharedConns + cfg.MaxBlocking + 1
	cfg.Size, cfg.MinIdleConns, cfg.Overflow = n, n, 0
	return newEvenkeel(cfg)
}
