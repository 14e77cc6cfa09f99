package evenkeeltest

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// pump passes the bytes of one direction. It belongs to its goroutine.
type pump struct {
	flow     *Flow
	dir      int
	src, dst net.Conn // dst is nil until the server has been dialed
	buf      [relayBuffer]byte
	late     []chunk // held back by a delay, oldest first
	lateSize int
	count    int64 // bytes seen for passing
	cut      *cut  // the order that cutBase belongs to
	cutBase  int64
	armed    bool // a read deadline may be set
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
			p.armed = true
			if p.sendDue() != nil {
				return
			}
		default:
			p.ended(err)
			return
		}
	}
}

// connected tells whether there is somebody to send to.
func (p *pump) connected() bool {
	if p.dst == nil {
		select {
		case <-p.flow.ready:
			p.dst = p.flow.server // set before ready was closed, and never again
		default:
		}
	}
	return p.dst != nil
}

// awaitConnected waits for the dial.
func (p *pump) awaitConnected() error {
	if p.connected() {
		return nil
	}
	select {
	case <-p.flow.ready:
		p.dst = p.flow.server // as in connected
		return nil
	case <-p.flow.done:
		return errFlowOver
	}
}

// read reads, at most until the oldest late chunk is due or the dial is done.
func (p *pump) read() (int, error) {
	if !p.connected() {
		if p.lateSize < relayDelayed {
			return p.src.Read(p.buf[:])
		}
		if p.awaitConnected() != nil {
			return 0, net.ErrClosed
		}
		return 0, os.ErrDeadlineExceeded
	}
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
	if d.delay <= 0 && len(p.late) == 0 && p.connected() {
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
	if !p.connected() {
		return nil
	}
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
	if err := p.awaitConnected(); err != nil {
		return err
	}
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
