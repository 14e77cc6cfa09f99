package clients

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/redis/rueidis"
)

// rueidisMaxIdle: each of its dedicated conns takes more than a megabyte.
const rueidisMaxIdle = 100

func rueidisSpecs() []Spec {
	const module = "github.com/redis/rueidis"
	open := func(delay time.Duration) func(context.Context, string) (KV, error) {
		return func(_ context.Context, addr string) (KV, error) {
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, MaxFlushDelay: delay})
			if err != nil {
				return nil, err
			}
			return rueidisKV{client}, nil
		}
	}
	return []Spec{
		{
			Name: Rueidis, Module: module, Setup: "as it comes; one conn for pipelines (PipelineMultiplex -1); idle conns are dedicated ones",
			Open: open(0), OpenPipe: openRueidisPipe, OpenIdle: openRueidisIdle, MaxIdle: rueidisMaxIdle,
		},
		{Name: RueidisFlush, Module: module, Setup: fmt.Sprintf("MaxFlushDelay %v, its best setting with many callers", flushDelay), Open: open(flushDelay)},
	}
}

type rueidisKV struct{ client rueidis.Client }

func (c rueidisKV) Get(ctx context.Context, key string) (int, error) {
	value, err := c.client.Do(ctx, c.client.B().Get().Key(key).Build()).ToString()
	return len(value), err
}

func (c rueidisKV) Set(ctx context.Context, key, value string) error {
	return c.client.Do(ctx, c.client.B().Set().Key(key).Value(value).Build()).Error()
}

func (c rueidisKV) Close() error {
	c.client.Close()
	return nil
}

type rueidisPipe struct {
	rueidisKV
	commands rueidis.Commands
}

func openRueidisPipe(_ context.Context, addr string) (Pipe, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, PipelineMultiplex: -1})
	if err != nil {
		return nil, err
	}
	return &rueidisPipe{rueidisKV: rueidisKV{client}}, nil
}

func (p *rueidisPipe) GetAll(ctx context.Context, keys []string) (int, error) {
	p.commands = p.commands[:0]
	for _, key := range keys {
		p.commands = append(p.commands, p.client.B().Get().Key(key).Build())
	}
	total := 0
	for _, reply := range p.client.DoMulti(ctx, p.commands...) {
		value, err := reply.ToString()
		if err != nil {
			return 0, err
		}
		total += len(value)
	}
	return total, nil
}

func (p *rueidisPipe) SetAll(ctx context.Context, keys []string, value string) error {
	p.commands = p.commands[:0]
	for _, key := range keys {
		p.commands = append(p.commands, p.client.B().Set().Key(key).Value(value).Build())
	}
	for _, reply := range p.client.DoMulti(ctx, p.commands...) {
		if err := reply.Error(); err != nil {
			return err
		}
	}
	return nil
}

func openRueidisIdle(ctx context.Context, addr string, n int) (io.Closer, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		return nil, err
	}
	var releases []func()
	for range n {
		dedicated, release := client.Dedicate()
		releases = append(releases, release)
		if err = dedicated.Do(ctx, dedicated.B().Ping().Build()).Error(); err != nil {
			break
		}
	}
	for _, release := range releases {
		release()
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return rueidisKV{client}, nil
}
