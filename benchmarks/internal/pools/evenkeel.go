package pools

import (
	"context"
	"time"

	"github.com/evenkeel-go/evenkeel/pool"
)

const closeTimeout = 5 * time.Second

func openEvenkeel(ctx context.Context) (Cycle, func(), error) {
	p, err := pool.New(pool.Config[*thing]{
		Dial:  func(context.Context) (*thing, error) { return new(thing), nil },
		Close: func(*thing, pool.Reason) {},
		Size:  Size,
	})
	if err != nil {
		return nil, nil, err
	}
	closePool := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = p.Close(ctx) // nothing is out, and closing a thing cannot fail
	}
	err = fill(func() (func(), error) {
		lease, err := p.Acquire(ctx)
		return func() { _ = lease.Release() }, err
	})
	if err != nil {
		closePool()
		return nil, nil, err
	}
	return func(ctx context.Context, hold func()) error {
		lease, err := p.Acquire(ctx)
		if err != nil {
			return err
		}
		if hold != nil {
			hold()
		}
		return lease.Release()
	}, closePool, nil
}
