package raw

import (
	"time"

	"golang.org/x/sys/unix"
)

// enqueue makes a conn one of those with room, in open loop.
func (e *reactor) enqueue(s *socket) {
	if s.queued {
		return
	}
	if e.ready.used == 0 {
		e.roomSince = e.now
	}
	s.queued = true
	e.ready.push(s)
}

// dispatch sends the arrivals that are due, to the conns that have had room for longest.
// When more are due than there are such conns, each gets its share at once.
func (e *reactor) dispatch() {
	w := e.w
	for e.ready.used > 0 && !w.spent(e.now) {
		due := w.overdue(e.now)
		if due == 0 {
			return
		}
		s := *e.ready.front()
		e.ready.pop()
		s.queued = false
		room := e.room(s)
		if s.fd < 0 || len(s.out) > 0 || room <= 0 {
			continue // it comes back when it has room again
		}
		if e.worn(s) && !e.reopen(s) {
			continue
		}
		s.began = -1
		share := due / int64(e.ready.used+1)
		b := w.takeDue(&s.window, int(min(int64(room), max(1, share))), e.now, e.roomSince)
		if len(b) == 0 {
			s.queued = true
			e.ready.push(s)
			return
		}
		e.send(s, b)
		if s.fd >= 0 && len(s.out) == 0 && e.room(s) > 0 && !s.queued {
			s.queued = true
			e.ready.push(s) // it had room all the time
		}
		e.now = w.run.now()
	}
}

// spin is the shortest wait that is left to the kernel: a sleep and its wake-up take
// about that long.
const spin = 4 * time.Microsecond

// next takes the next events.
func (e *reactor) next() (int, error) {
	w := e.w
	r := w.run
	n, err := e.poll.poll()
	if n > 0 || err != nil {
		return n, err
	}
	if n, err := e.poll.poll(); n > 0 || err != nil {
		return n, err
	}
	e.now = r.now()
	// Until something has to be done without an event.
	until := r.deadline
	switch {
	case !w.measuring:
		until = min(until, r.warmEnd)
	case w.spent(e.now):
		if until = r.deadline; e.now >= until {
			until += int64(drainTime)
		}
	}
	if w.plan != nil && e.ready.used > 0 && !w.spent(e.now) {
		next := w.plan.next
		if len(w.dues) > 0 {
			next = e.now
		}
		until = min(until, next)
	}
	if until == noEnd {
		return e.poll.wait(-1)
	}
	d := nanos(until - e.now)
	if d < spin {
		return e.poll.wait(0)
	}
	return e.poll.wait(d)
}

// connected takes note of a conn that is established.
func (e *reactor) connected(s *socket) {
	if !s.connecting {
		return
	}
	s.connecting = false
	e.w.run.open.Add(1)
	e.w.live.Opened++
	e.w.live.Connect.Record(nanos(e.w.run.now() - s.dialled))
}

// reopen closes a conn that has served its number of requests, and opens the next one. It
// reports whether that one takes requests already; if not it comes by mail.
func (e *reactor) reopen(s *socket) bool {
	w := e.w
	e.shut(s)
	s.reset()
	w.run.open.Add(-1)
	e.now = w.run.now()
	if e.peer == nil {
		e.dial(s, true)
		return false
	}
	fd, err := e.peer.connect()
	if err == nil {
		s.generation++
		if err = e.poll.add(fd, s.index, s.generation); err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		w.loseDial(&s.window, err, e.now)
		e.redial(s)
		return false
	}
	s.fd, s.connecting, s.began, s.dialled = fd, true, e.now, e.now
	s.hello, s.greeting = w.run.cfg.HelloReplies, w.run.cfg.HelloReplies > 0
	return true
}

// redial has a goroutine open a conn in the place of one that was lost.
func (e *reactor) redial(s *socket) { e.dial(s, false) }

func (e *reactor) dial(s *socket, onPurpose bool) {
	if s.dialing {
		return
	}
	s.dialing = true
	r := e.w.run
	e.dials.Go(func() {
		missed := func(err error) {
			r.missed(err)
			e.post(mail{socket: s, missed: err})
		}
		if onPurpose {
			o, err := r.connect(r.ctx)
			if err == nil {
				e.post(mail{socket: s, opened: o, timed: true})
				return
			}
			if r.ctx.Err() != nil {
				return
			}
			missed(err)
		}
		o, err := r.reconnect(r.ctx, missed)
		if err != nil {
			return // the run has ended
		}
		e.post(mail{socket: s, opened: o})
	})
}

// post gives mail to the worker.
func (e *reactor) post(m mail) {
	e.mu.Lock()
	e.inbox = append(e.inbox, m)
	e.mu.Unlock()
	e.poll.wake()
}

// open reads the mail.
func (e *reactor) open() {
	e.mu.Lock()
	inbox := e.inbox
	e.inbox = nil
	e.mu.Unlock()
	w := e.w
	for _, m := range inbox {
		if m.missed != nil {
			count(w.live.Failures, []byte(dialLossOf(m.missed)))
			continue
		}
		s := m.socket
		s.dialing = false
		if err := e.adopt(s, m.opened); err != nil {
			count(w.live.Failures, []byte(dialLossOf(err)))
			e.redial(s)
			continue
		}
		w.live.Opened++
		w.live.Connect.Record(m.opened.took)
		w.run.open.Add(1)
		if m.timed {
			s.began = m.opened.begin
		}
		e.advance(s)
	}
}
