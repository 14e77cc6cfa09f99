package evenkeel

import (
	"context"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/wire"
	"github.com/evenkeel-go/evenkeel/pool"
)

// probeEvery is how often an endpoint with stalled conns is probed at most, besides the governor's backoff.
const probeEvery = 100 * time.Millisecond

// stalledConns are the conns whose oldest reply is overdue. They take no more work, but keep their places in the budget: if
// the whole server has stopped, another conn to it is of no use, and a hundred others are a storm. One probe finds out.
type stalledConns struct {
	mu      sync.Mutex
	conns   map[*wire.Conn]struct{}
	probing bool
}

func (s *stalledConns) remove(conn *wire.Conn) {
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
}

// take empties the set, and reports what was in it.
func (s *stalledConns) take() map[*wire.Conn]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := s.conns
	s.conns = nil
	return conns
}

func (s *stalledConns) none() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns) == 0
}

// stallChanged is told when a conn stalls, and when its replies come after all.
func (c *Client) stallChanged(conn *wire.Conn, lane Lane) {
	if !conn.Stalled() {
		c.stalled.remove(conn)
		if conn.Err() == nil {
			c.connEvent(ConnEvent{Kind: ConnRecovered, Lane: lane})
			c.shared.recovered()
		}
		return
	}
	c.stalls.Add(1)
	c.connEvent(ConnEvent{Kind: ConnStalled, Lane: lane})
	s := &c.stalled
	s.mu.Lock()
	if s.conns == nil {
		s.conns = map[*wire.Conn]struct{}{}
	}
	s.conns[conn] = struct{}{}
	start := !s.probing && !c.isClosed()
	if start {
		s.probing = true
	}
	s.mu.Unlock()
	if start {
		c.tasks.Go(c.probe)
	}
}

// probe opens one conn after the other until one comes through, or no conn is stalled any more. The shared lane puts it to use.
func (c *Client) probe() {
	defer func() {
		c.stalled.mu.Lock()
		c.stalled.probing = false
		c.stalled.mu.Unlock()
	}()
	for !c.stalled.none() && !c.isClosed() {
		c.probes.Add(1)
		f := c.shared.fill()
		select {
		case <-f.done:
		case <-c.closed:
			return
		}
		if f.err == nil && c.stalled.none() {
			return
		}
		wait := probeEvery
		if at := c.endpoint.State().NextAttempt; !at.IsZero() {
			wait = max(wait, time.Until(at))
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-c.closed:
			t.Stop()
			return
		}
	}
}

// answered is called when a dial has come through: the endpoint answers, so conns that are stalled still are dead ones.
func (c *Client) answered() {
	for conn := range c.stalled.take() {
		if conn.Stalled() {
			conn.Close(wire.ErrStalled)
		}
	}
}

// giveBack returns the lease of an exclusive or blocking conn: at once when nothing is owed on it, else when it is drained. A
// stalled or broken one is discarded in the end.
func giveBack(lease pool.Lease[*wire.Conn]) {
	conn := lease.Value()
	if conn.Owed() == 0 && conn.Err() == nil {
		_ = lease.Release() // fails only when the pool was closed meanwhile
		return
	}
	conn.AfterDrain(func(err error) {
		if err != nil {
			_ = lease.Discard(closeReason(err))
			return
		}
		_ = lease.Release()
	})
}

// acquire leases a conn that takes work from a pool. timeout bounds the wait of a context without a deadline.
func (c *Client) acquire(ctx context.Context, p *pool.Pool[*wire.Conn], timeout time.Duration) (pool.Lease[*wire.Conn], error) {
	lease, ok := p.TryAcquire()
	if !ok && timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	for {
		if !ok {
			var err error
			if lease, err = p.Acquire(ctx); err != nil {
				return lease, err
			}
		}
		switch conn := lease.Value(); {
		case conn.Usable():
			return lease, nil
		case conn.Err() != nil: // it broke while it was idle
			_ = lease.Discard(closeReason(conn.Err()))
		default: // it stalled on a background ping
			giveBack(lease)
		}
		ok = false
	}
}
