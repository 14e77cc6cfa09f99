package raw

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readSize is the buffer that all conns of a worker read into: the replies to a
	// thousand small requests, and still in the second-level cache.
	readSize = 64 << 10
	// reads is how often one conn is read in a row, so that a fast one does not keep the others waiting.
	reads = 16
)

// reactor moves a worker's bytes on one thread: an epoll, and descriptors that do not
// block. A conn is registered once; when a read has brought the last reply that was due,
// the next requests are written at once, so that one exchange costs two system calls and a
// share of the wait.
type reactor struct {
	w     *worker
	poll  *poller
	conns []*socket
	peer  *peer // for opening conns again without leaving the thread; may be nil
	buf   []byte
	now   int64 // the last look at the clock

	ready     ring[*socket] // in open loop: conns with room
	roomSince int64         // since when ready is not empty

	began, ended cpuTime

	dials sync.WaitGroup
	mu    sync.Mutex
	inbox []mail // what dialling goroutines have to say
}

// socket is one conn's place.
type socket struct {
	window
	fd         int // -1: none
	index      int32
	generation int32
	out        []byte // what the socket did not take yet
	dialled    int64  // when the dial of a conn that is connecting began
	began      int64  // when the dial of a conn opened on purpose began, until its first requests are taken; else -1
	greeting   bool   // Config.Hello goes before the next requests
	connecting bool   // whether the conn is established is not known yet
	queued     bool   // in ready
	dialing    bool   // a goroutine opens it
}

// mail is what a dialling goroutine says: a conn for a place, or why there is none yet.
type mail struct {
	socket *socket
	opened opened
	timed  bool // it was opened on purpose: its requests count from the dial
	missed error
}

func newReactor(w *worker, conns []opened) (*reactor, error) {
	e := &reactor{w: w, buf: make([]byte, readSize)}
	var err error
	if e.poll, err = newPoller(); err != nil {
		return nil, err
	}
	if len(conns) > 0 {
		e.peer = peerOf(conns[0].conn)
	}
	for i, o := range conns {
		s := &socket{fd: -1, index: int32(i), began: -1} //nolint:gosec // at most MaxConns
		e.conns = append(e.conns, s)
		if err := e.adopt(s, o); err != nil {
			e.close()
			return nil, err
		}
	}
	return e, nil
}

// adopt puts a conn into its place.
func (e *reactor) adopt(s *socket, o opened) error {
	fd, err := detach(o.conn)
	if err != nil {
		return err
	}
	s.fd, s.connecting = fd, false
	s.generation++
	if err := e.poll.add(fd, s.index, s.generation); err != nil {
		_ = unix.Close(fd)
		s.fd = -1
		return err
	}
	return nil
}

func (e *reactor) worker() *worker { return e.w }

func (e *reactor) names() (engine, timer string) { return "epoll", e.poll.name() }

func (e *reactor) kick() { e.poll.wake() }

func (e *reactor) used() (user, system time.Duration) {
	return e.ended.user - e.began.user, e.ended.system - e.began.system
}

// work is the loop. The thread is never given back: it ends with the goroutine, and
// with it what was set for it alone.
func (e *reactor) work() {
	runtime.LockOSThread()
	exactTimers()
	w := e.w
	e.began = threadCPU()
	e.now = w.run.now()
	for _, s := range e.conns {
		e.advance(s)
	}
	for {
		if w.checkpoint(e.now) {
			e.began = threadCPU()
		}
		if w.spent(e.now) && e.over() {
			break
		}
		if w.plan != nil {
			e.dispatch()
		}
		n, err := e.next()
		if err != nil {
			w.run.fail(err)
			break
		}
		if n == 0 {
			e.now = w.run.now()
		}
		for _, ev := range e.poll.events[:n] {
			e.event(&ev)
		}
	}
	e.ended = threadCPU()
	w.finish(e.now)
}

// over reports whether a worker that sends no more may end.
func (e *reactor) over() bool {
	r := e.w.run
	return e.w.inflight == 0 || r.stopped.Load() || e.now-int64(drainTime) >= r.deadline
}

// event handles one event.
func (e *reactor) event(ev *unix.EpollEvent) {
	if ev.Fd == wakeIndex {
		e.poll.calm()
		e.now = e.w.run.now()
		e.open()
		return
	}
	s := e.conns[ev.Fd]
	if s.fd < 0 || s.generation != ev.Pad {
		return // of a conn that this batch has closed already
	}
	if ev.Events&unix.EPOLLOUT != 0 {
		e.writable(s)
	}
	if s.fd >= 0 && ev.Events&^unix.EPOLLOUT != 0 {
		e.readable(s)
	}
	if e.w.plan != nil && e.w.plan.next <= e.now {
		e.dispatch()
	}
}

// readable takes in what has come, and sends what it made room for.
func (e *reactor) readable(s *socket) {
	for range reads {
		n, err := read(s.fd, e.buf)
		e.now = e.w.run.now()
		if err == unix.EAGAIN { //nolint:errorlint // read returns it as it is
			break
		}
		if err == nil {
			err = e.w.replies(&s.window, e.buf[:n], e.now)
		}
		if err != nil {
			e.lose(s, err)
			return
		}
		if n < len(e.buf) {
			break // what came since then is the next event
		}
	}
	e.advance(s)
}

// room is how many more requests a conn may be sent now. One that has served its number
// has room again once nothing is in flight: for the conn that comes after it.
func (e *reactor) room(s *socket) int {
	cfg := &e.w.run.cfg
	if e.w.plan == nil && !cfg.Sliding && s.inflight > 0 {
		return 0
	}
	room := cfg.Depth - s.inflight
	switch every := cfg.ReconnectEvery; {
	case every == 0:
		return room
	case !e.worn(s):
		return min(room, every-s.served)
	case s.inflight > 0:
		return 0
	default:
		return min(room, every)
	}
}

// worn reports whether a conn has served its number of requests.
func (e *reactor) worn(s *socket) bool {
	every := e.w.run.cfg.ReconnectEvery
	return every > 0 && s.served >= every
}

// advance sends the next requests of a conn, if there is room: in closed loop at once; in
// open loop the conn waits for arrivals.
func (e *reactor) advance(s *socket) {
	w := e.w
	if s.fd < 0 || len(s.out) > 0 {
		return
	}
	room := e.room(s)
	if room <= 0 {
		return
	}
	if w.plan != nil {
		e.enqueue(s)
		return
	}
	if w.spent(e.now) || e.worn(s) && !e.reopen(s) {
		return
	}
	at := e.now
	if s.began >= 0 {
		at, s.began = s.began, -1
	}
	e.send(s, w.take(&s.window, room, at, at))
}

// send writes requests, and keeps what the socket does not take.
func (e *reactor) send(s *socket, b []byte) {
	if len(b) == 0 {
		return
	}
	if s.greeting {
		s.greeting = false
		s.out = append(append(s.out[:0], e.w.run.cfg.Hello...), b...)
		b = s.out
	}
	n, err := write(s.fd, b)
	if err != nil {
		e.broken(s, err)
		return
	}
	if n == len(b) {
		s.out = s.out[:0]
		e.connected(s)
		return
	}
	s.out = append(s.out[:0], b[n:]...)
	if err := e.poll.change(s.fd, s.index, s.generation, unix.EPOLLIN|unix.EPOLLOUT); err != nil {
		e.lose(s, err)
	}
}

// writable sends what was kept.
func (e *reactor) writable(s *socket) {
	n, err := write(s.fd, s.out)
	if err != nil {
		e.broken(s, err)
		return
	}
	if n > 0 || len(s.out) == 0 {
		e.now = e.w.run.now()
		e.connected(s)
	}
	s.out = s.out[:copy(s.out, s.out[n:])]
	if len(s.out) > 0 {
		return
	}
	if err := e.poll.change(s.fd, s.index, s.generation, unix.EPOLLIN); err != nil {
		e.lose(s, err)
		return
	}
	e.advance(s)
}

// broken handles a write that failed. What the peer said before is read first: it may
// say why.
func (e *reactor) broken(s *socket, err error) {
	if !s.connecting {
		if n, readErr := read(s.fd, e.buf); readErr == nil {
			if cause := e.w.replies(&s.window, e.buf[:n], e.now); cause != nil {
				err = cause
			}
		}
	}
	e.lose(s, err)
}

// lose closes a conn that is of no more use, and has another one opened.
func (e *reactor) lose(s *socket, err error) {
	r := e.w.run
	if s.connecting {
		e.w.loseDial(&s.window, err, e.now)
	} else {
		e.w.lose(&s.window, err, e.now)
		r.open.Add(-1)
	}
	e.shut(s)
	if fatal(err) {
		r.fail(err)
		return
	}
	if !e.w.spent(e.now) {
		e.redial(s)
	}
}

// shut closes a place's descriptor.
func (e *reactor) shut(s *socket) {
	_ = unix.Close(s.fd) // epoll forgets it by itself
	s.fd, s.connecting, s.greeting, s.began = -1, false, false, -1
	s.out = s.out[:0]
}

// leave counts what is in flight, and closes everything.
func (e *reactor) leave(now int64, r *Result) {
	for _, s := range e.conns {
		e.w.abandon(&s.window, now, r)
	}
	e.close()
}

// close closes all descriptors, and waits for the goroutines that dial.
func (e *reactor) close() {
	e.dials.Wait()
	for _, m := range e.inbox {
		if m.opened.conn != nil {
			_ = m.opened.conn.Close()
		}
	}
	for _, s := range e.conns {
		if s.fd >= 0 {
			e.shut(s)
		}
	}
	e.poll.close()
}
