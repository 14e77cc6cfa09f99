package pools

import (
	"context"
	"sync"
)

func openChannel(context.Context) (Cycle, func(), error) {
	things := make(chan *thing, Size)
	for range Size {
		things <- new(thing)
	}
	return func(ctx context.Context, hold func()) error {
		select {
		case t := <-things:
			if hold != nil {
				hold()
			}
			things <- t
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, func() {}, nil
}

// lifo gives the newest thing to whoever finds one, and a thing that comes back to the
// oldest waiter.
type lifo struct {
	mu      sync.Mutex
	idle    []*thing
	waiters []chan *thing
}

func openMutex(context.Context) (Cycle, func(), error) {
	p := &lifo{}
	for range Size {
		p.idle = append(p.idle, new(thing))
	}
	return func(ctx context.Context, hold func()) error {
		t, err := p.acquire(ctx)
		if err != nil {
			return err
		}
		if hold != nil {
			hold()
		}
		p.release(t)
		return nil
	}, func() {}, nil
}

func (p *lifo) acquire(ctx context.Context) (*thing, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		t := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return t, nil
	}
	turn := make(chan *thing, 1)
	p.waiters = append(p.waiters, turn)
	p.mu.Unlock()
	select {
	case t := <-turn:
		return t, nil
	case <-ctx.Done():
		p.leave(turn)
		return nil, ctx.Err()
	}
}

// leave takes a waiter out of the queue. One that is not there any more has been given
// a thing, which goes to the next.
func (p *lifo) leave(turn chan *thing) {
	p.mu.Lock()
	for i, w := range p.waiters {
		if w == turn {
			p.waiters = append(p.waiters[:i], p.waiters[i+1:]...)
			p.mu.Unlock()
			return
		}
	}
	p.mu.Unlock()
	p.release(<-turn)
}

func (p *lifo) release(t *thing) {
	p.mu.Lock()
	if len(p.waiters) == 0 {
		p.idle = append(p.idle, t)
		p.mu.Unlock()
		return
	}
	turn := p.waiters[0]
	p.waiters = p.waiters[1:]
	p.mu.Unlock()
	turn <- t
}
