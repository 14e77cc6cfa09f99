package bench

import (
	"context"
	"errors"
	"sync"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/pool"
)

// pinger is a way to keep conns: each call of ping gets one, pings, and gives it
// back.
type pinger interface {
	ping(ctx context.Context) error
	// conns is how many there are, and how many of these could be had at once.
	conns() (open, available int)
	close(ctx context.Context) error
}

func newPinger(s *server, o ChurnOptions, mode ChurnMode) (pinger, error) {
	cfg := s.config(false, false)
	cfg.OverflowDrain = o.OverflowDrain
	cfg.CreateBurst, cfg.CreateInterval = 0, evenkeel.Disabled
	switch mode {
	case ChurnShared:
		lanes(&cfg, evenkeel.DefaultSharedConns, 0, 0)
	case ChurnLimited:
		cfg.CreateBurst, cfg.CreateInterval = o.CreateBurst, o.CreateInterval
		lanes(&cfg, 1, o.Size, o.Overflow)
	case ChurnOverflow:
		lanes(&cfg, 1, o.Size, o.Overflow)
	default:
		lanes(&cfg, 1, 0, 0) // of no use to conns of their own, but a Config needs some
		return &surplusPool{cfg: cfg, size: o.Size}, nil
	}
	cfg.MaxWaiters = o.Parallel // nobody is turned away
	client, err := evenkeel.New(cfg)
	if err != nil {
		return nil, err
	}
	if mode == ChurnShared {
		return sharedPinger{client}, nil
	}
	return exclusivePinger{client}, nil
}

// surplusPool is the pool that the others are compared with, as clients had it
// before overflow: it opens a conn when none is idle, without any limit, and closes
// what is given back when it has size idle ones already.
type surplusPool struct {
	cfg  evenkeel.Config
	size int

	mu   sync.Mutex
	idle []*evenkeel.Conn
	all  int
}

func (p *surplusPool) ping(ctx context.Context) error {
	conn, err := p.get(ctx)
	if err != nil {
		return err
	}
	err = conn.Do(ctx, "PING").Err()
	p.put(conn, err == nil)
	return err
}

func (p *surplusPool) get(ctx context.Context) (*evenkeel.Conn, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		conn := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return conn, nil
	}
	p.all++
	p.mu.Unlock()
	conn, err := evenkeel.Dial(ctx, p.cfg)
	if err != nil {
		p.gone(1)
	}
	return conn, err
}

func (p *surplusPool) put(conn *evenkeel.Conn, good bool) {
	p.mu.Lock()
	if good && len(p.idle) < p.size {
		p.idle = append(p.idle, conn)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	_ = conn.Close() // what is thrown away need not end well
	p.gone(1)
}

func (p *surplusPool) gone(n int) {
	p.mu.Lock()
	p.all -= n
	p.mu.Unlock()
}

func (p *surplusPool) conns() (open, available int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all, len(p.idle)
}

func (p *surplusPool) close(context.Context) error {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	var errs []error
	for _, conn := range idle {
		errs = append(errs, conn.Close())
	}
	p.gone(len(idle))
	return errors.Join(errs...)
}

// exclusivePinger leases a conn of the client's for each ping.
type exclusivePinger struct{ client *evenkeel.Client }

func (p exclusivePinger) ping(ctx context.Context) error {
	return p.client.DoExclusive(ctx, "PING").Err()
}

func (p exclusivePinger) conns() (open, available int) {
	st := p.client.Stats().Exclusive
	return openOf(&st), st.Idle
}

func (p exclusivePinger) close(ctx context.Context) error { return p.client.Close(ctx) }

// sharedPinger pipelines on the shared lane, where each conn takes more work at any
// time.
type sharedPinger struct{ client *evenkeel.Client }

func (p sharedPinger) ping(ctx context.Context) error { return p.client.Ping(ctx) }

func (p sharedPinger) conns() (open, available int) {
	st := p.client.Stats().Shared
	return openOf(&st), st.Open
}

func (p sharedPinger) close(ctx context.Context) error { return p.client.Close(ctx) }

// openOf counts closing conns too: until its socket is closed, the server has it.
func openOf(st *pool.Stat) int { return st.Open + st.Closing }
