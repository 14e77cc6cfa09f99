package pools

import (
	"context"

	"github.com/jackc/puddle/v2"
)

func openPuddle(ctx context.Context) (Cycle, func(), error) {
	p, err := puddle.NewPool(&puddle.Config[*thing]{
		Constructor: func(context.Context) (*thing, error) { return new(thing), nil },
		Destructor:  func(*thing) {},
		MaxSize:     Size,
	})
	if err != nil {
		return nil, nil, err
	}
	err = fill(func() (func(), error) {
		resource, err := p.Acquire(ctx)
		return func() { resource.Release() }, err
	})
	if err != nil {
		p.Close()
		return nil, nil, err
	}
	return func(ctx context.Context, hold func()) error {
		resource, err := p.Acquire(ctx)
		if err != nil {
			return err
		}
		if hold != nil {
			hold()
		}
		resource.Release()
		return nil
	}, p.Close, nil
}
