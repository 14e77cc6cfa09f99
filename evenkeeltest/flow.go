package evenkeeltest

import (
	"context"
	"net"
	"sync"
	"time"
)

// Flow is one conn through a [Relay], with its continuation to the server. Its
// methods may be called concurrently.
type Flow struct {
	relay   *Relay
	id      int
	client  net.Conn
	counted bool // as closed; guarded by the relay's lock

	ready    chan struct{} // closed when the server has been dialed
	done     chan struct{} // closed when the flow is ended from outside
	doneOnce sync.Once

	mu       sync.Mutex
	server   net.Conn // nil until dialed
	over     bool
	reset    bool             // over, by an RST
	silenced [directions]bool // has lost bytes: passes nothing any more
	ends     int              // how many sources have ended
	last     time.Time        // when bytes passed last
}

// ID numbers the flows of a relay in the order of their being accepted, from 1.
func (f *Flow) ID() int { return f.id }

// ClientAddr returns the address that the client connected from.
func (f *Flow) ClientAddr() net.Addr { return f.client.RemoteAddr() }

// Reset resets both ends.
func (f *Flow) Reset() { f.finish(EndRST) }

// Close closes both ends in order.
func (f *Flow) Close() { f.finish(EndFIN) }

// Swallow loses everything in direction d from now on, for good.
func (f *Flow) Swallow(d Direction) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d.each(func(i int) { f.silenced[i] = true })
}

func (f *Flow) finish(e Ending) {
	if e == EndSilence {
		f.Swallow(Both)
		return
	}
	f.mu.Lock()
	server := f.server
	already := f.over
	f.over, f.reset = true, f.reset || e == EndRST
	f.mu.Unlock()
	if already {
		return
	}
	f.doneOnce.Do(func() { close(f.done) })
	f.relay.clientGone(f) // before the client can know of it and connect again
	for _, c := range []net.Conn{f.client, server} {
		switch {
		case c == nil:
		case e == EndRST:
			resetConn(c)
		default:
			_ = c.Close()
		}
	}
}

// run passes bytes until both directions have ended. The client is read from while
// the server is still being dialed, so that its leaving is noticed.
func (f *Flow) run() {
	defer f.relay.forget(f)
	back := make(chan struct{})
	f.relay.wg.Go(func() {
		defer close(back)
		if server := f.dial(); server != nil {
			(&pump{flow: f, dir: clientward, src: server, dst: f.client}).run()
		}
	})
	(&pump{flow: f, dir: serverward, src: f.client}).run()
	<-back
	f.Close()
}

// dial connects to the server and tells the pump that waits for it. It returns nil
// when the flow is over.
func (f *Flow) dial() net.Conn {
	if d := f.relay.current().setupDelay; d > 0 && !f.sleep(d) {
		return nil
	}
	ctx, cancel := context.WithTimeout(f.relay.life, relayDialTimeout)
	defer cancel()
	server, err := f.relay.cfg.Dial(ctx)
	if err != nil {
		f.relay.failed()
		f.Reset()
		return nil
	}
	f.mu.Lock()
	over, reset := f.over, f.reset
	f.server = server
	f.mu.Unlock()
	switch {
	case !over:
		close(f.ready)
		// Wakes the read of the pump, which looks at ready only before it reads.
		_ = f.client.SetReadDeadline(time.Unix(1, 0))
		return server
	case reset:
		resetConn(server)
	default:
		_ = server.Close()
	}
	return nil
}

// sleep waits, and tells whether the flow is still there.
func (f *Flow) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-f.done:
		return false
	}
}

// active notes that bytes pass, and returns how long none had.
func (f *Flow) active() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	idle := now.Sub(f.last)
	f.last = now
	return idle
}

func (f *Flow) isSilenced(dir int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.silenced[dir]
}

// lastEnd notes that a source has ended, and tells whether the other one had.
func (f *Flow) lastEnd() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ends++
	return f.ends == directions
}
