package evenkeeltest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
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
	for _, c := range []net.Conn{f.client, server} {
		switch {
		case c == nil:
		case e == EndRST:
			resetConn(c)
		default:
			_ = c.Close()
		}
	}
	f.relay.clientGone(f)
}

// run dials the server and passes bytes until both directions have ended.
func (f *Flow) run() {
	defer f.relay.forget(f)
	fs := f.relay.current()
	if fs.setupDelay > 0 && !f.sleep(fs.setupDelay) {
		return
	}
	ctx, cancel := context.WithTimeout(f.relay.life, relayDialTimeout)
	defer cancel()
	server, err := f.relay.cfg.Dial(ctx)
	if err != nil {
		f.relay.failed()
		f.Reset()
		return
	}
	f.mu.Lock()
	over, reset := f.over, f.reset
	f.server = server
	f.mu.Unlock()
	if over {
		if reset {
			resetConn(server)
		} else {
			_ = server.Close()
		}
		return
	}
	back := make(chan struct{})
	f.relay.wg.Go(func() {
		defer close(back)
		(&pump{flow: f, dir: clientward, src: server, dst: f.client}).run()
	})
	(&pump{flow: f, dir: serverward, src: f.client, dst: server}).run()
	<-back
	f.Close()
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

// pump passes the bytes of one direction. It belongs to its goroutine.
type pump struct {
	flow     *Flow
	dir      int
	src, dst net.Conn
	buf      [relayBuffer]byte
	late     []chunk // held back by a delay, oldest first
	lateSize int
	count    int64 // bytes seen for passing
	cut      *cut  // the order that cutBase belongs to
	cutBase  int64
	armed    bool // a read deadline is set
}

type chunk struct {
	due time.Time
	p   []byte
}

// errFlowOver says that there is nothing more to do for this direction.
var errFlowOver = errors.New("flow over")

func (p *pump) run() {
	for {
		if p.waitReleased() != nil {
			return
		}
		n, err := p.read()
		if n > 0 && p.handle(p.buf[:n]) != nil {
			return
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			if p.sendDue() != nil {
				return
			}
		default:
			p.ended(err)
			return
		}
	}
}

// read reads, at most until the oldest late chunk is due.
func (p *pump) read() (int, error) {
	if len(p.late) > 0 {
		if p.lateSize >= relayDelayed {
			// No more room: the sender has to wait, as with a full pipe.
			if !p.flow.sleep(time.Until(p.late[0].due)) {
				return 0, net.ErrClosed
			}
			return 0, os.ErrDeadlineExceeded
		}
		p.armed = true
		if err := p.src.SetReadDeadline(p.late[0].due); err != nil {
			return 0, err
		}
	} else if p.armed {
		p.armed = false
		if err := p.src.SetReadDeadline(time.Time{}); err != nil {
			return 0, err
		}
	}
	return p.src.Read(p.buf[:])
}

// handle applies the faults in force to bytes that were read.
func (p *pump) handle(b []byte) error {
	idle := p.flow.active()
	if err := p.waitReleased(); err != nil {
		return err
	}
	fs := p.flow.relay.current()
	d := &fs.dir[p.dir]
	if fs.idleAfter > 0 && idle >= fs.idleAfter {
		p.flow.finish(fs.idleEnding)
		if fs.idleEnding != EndSilence {
			return errFlowOver
		}
	}
	if d.swallowed {
		p.flow.Swallow(p.direction())
	}
	if p.flow.isSilenced(p.dir) {
		return nil
	}
	end, ends := EndFIN, false
	if fs.filter != nil {
		var v Verdict
		b, v = fs.filter(p.flow, p.direction(), b)
		switch v {
		case Pass:
		case PassThenSilence:
			defer p.flow.Swallow(p.direction())
		case PassThenFIN:
			end, ends = EndFIN, true
		case PassThenRST:
			end, ends = EndRST, true
		}
	}
	if d.cut != p.cut {
		p.cut, p.cutBase = d.cut, p.count
	}
	if p.cut != nil {
		if left := p.cut.n - (p.count - p.cutBase); int64(len(b)) >= left {
			b, end, ends = b[:max(left, 0)], p.cut.ending, true
		}
	}
	p.count += int64(len(b))
	if err := p.pass(b, d); err != nil {
		return err
	}
	if ends {
		if err := p.flush(); err != nil {
			return err
		}
		p.flow.finish(end)
	}
	return nil
}

// pass sends bytes on, or puts them behind those that are held back.
func (p *pump) pass(b []byte, d *dirFaults) error {
	if d.delay <= 0 && len(p.late) == 0 {
		return p.send(b)
	}
	due := time.Now().Add(d.delay)
	if k := len(p.late); k > 0 && due.Before(p.late[k-1].due) {
		due = p.late[k-1].due // a shorter delay must not overtake
	}
	p.late = append(p.late, chunk{due, append([]byte(nil), b...)})
	p.lateSize += len(b)
	return p.sendDue()
}

// sendDue sends the late chunks whose time has come.
func (p *pump) sendDue() error {
	for len(p.late) > 0 && !p.late[0].due.After(time.Now()) {
		c := p.late[0]
		p.late[0] = chunk{}
		p.late = p.late[1:]
		p.lateSize -= len(c.p)
		if err := p.send(c.p); err != nil {
			return err
		}
	}
	return nil
}

// flush waits for the late chunks and sends them.
func (p *pump) flush() error {
	for len(p.late) > 0 {
		if !p.flow.sleep(time.Until(p.late[0].due)) {
			return errFlowOver
		}
		if err := p.sendDue(); err != nil {
			return err
		}
	}
	return nil
}

// send writes bytes, in pieces where that is asked for.
func (p *pump) send(b []byte) error {
	for len(b) > 0 {
		fs := p.flow.relay.current()
		piece, gap := fs.dir[p.dir].piece, fs.dir[p.dir].gap
		w := b
		if piece > 0 && piece < len(w) {
			w = w[:piece]
		}
		n, err := p.dst.Write(w)
		p.flow.relay.bytes[p.dir].Add(int64(n))
		if err != nil {
			// The receiver is gone; its peer will hear of it as it would without us.
			p.flow.finish(EndRST)
			return errFlowOver
		}
		if b = b[n:]; piece > 0 && gap > 0 && len(b) > 0 && !p.flow.sleep(gap) {
			return errFlowOver
		}
	}
	return nil
}

// waitReleased waits while the direction is held.
func (p *pump) waitReleased() error {
	for {
		fs := p.flow.relay.current()
		if !fs.dir[p.dir].held {
			return nil
		}
		select {
		case <-fs.replaced:
		case <-p.flow.done:
			return errFlowOver
		}
	}
}

// ended passes on the end of the source.
func (p *pump) ended(err error) {
	if p.dir == serverward {
		p.flow.relay.clientGone(p.flow)
	}
	if p.flush() != nil {
		return
	}
	last := p.flow.lastEnd()
	if p.flow.relay.current().dir[p.dir].swallowed || p.flow.isSilenced(p.dir) {
		// The receiver must not hear of it, until the flow is ended otherwise.
		p.flow.Swallow(p.direction())
		if last {
			p.flow.Close()
		}
		<-p.flow.done
		return
	}
	if errors.Is(err, io.EOF) {
		closeWrite(p.dst)
	} else {
		p.flow.finish(EndRST)
	}
	if last {
		p.flow.Close()
	}
}

func (p *pump) direction() Direction {
	if p.dir == serverward {
		return ToServer
	}
	return ToClient
}
