package pool

import "time"

// handOverAfter is how long the oldest waiter competes for conns with running callers
// before they are handed to it directly.
const handOverAfter = int64(time.Millisecond)

// maxSpareWaiters bounds the waiters kept for reuse; the housekeeper lets go of them
// when nobody has waited for a while.
const maxSpareWaiters = 256

// waiter is a caller in the queue. All but ch and timer is guarded by the pool's lock.
type waiter[T any] struct {
	next, prev *waiter[T]
	// ch has room for one token, which means "look again". A token may be left over
	// from an earlier use of the waiter; looking once too often does no harm.
	ch    chan struct{}
	timer *time.Timer
	since int64
	lease Lease[T]
	err   error
	state waiterState
	woken bool // has a token, and has not looked yet
}

type waiterState uint8

const (
	waiting waiterState = iota
	served              // lease is set
	failed              // err is set
)

// signal gives w its token. It never blocks.
func (w *waiter[T]) signal() {
	select {
	case w.ch <- struct{}{}:
	default:
	}
}

// queue is the list of waiters, oldest first, and the store of spare ones.
type queue[T any] struct {
	head, tail *waiter[T]
	n          int
	spare      *waiter[T]
	spares     int
}

func (q *queue[T]) get() *waiter[T] {
	w := q.spare
	if w == nil {
		return &waiter[T]{ch: make(chan struct{}, 1)}
	}
	q.spare, w.next = w.next, nil
	q.spares--
	return w
}

func (q *queue[T]) put(w *waiter[T]) {
	if q.spares >= maxSpareWaiters {
		return
	}
	var none Lease[T]
	w.lease, w.err, w.state, w.woken = none, nil, waiting, false
	w.next, w.prev = q.spare, nil
	q.spare = w
	q.spares++
}

func (q *queue[T]) pushBack(w *waiter[T]) {
	w.prev, w.next = q.tail, nil
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	q.n++
}

func (q *queue[T]) pushFront(w *waiter[T]) {
	w.prev, w.next = nil, q.head
	if q.head == nil {
		q.tail = w
	} else {
		q.head.prev = w
	}
	q.head = w
	q.n++
}

func (q *queue[T]) remove(w *waiter[T]) {
	if w.prev == nil {
		q.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
	q.n--
}

// first returns whose turn it is: the oldest, or the newest while CoDel says so.
func (p *Pool[T]) first() *waiter[T] {
	if p.overload.newestFirst {
		return p.queue.tail
	}
	return p.queue.head
}

// unqueue takes w out and settles what depends on who waits. If w was woken for an idle
// conn and leaves without it, the next must be.
func (p *Pool[T]) unqueue(w *waiter[T]) {
	p.queue.remove(w)
	if p.queue.n == 0 {
		p.setStarving(false)
	}
	if w.woken {
		w.woken = false
		p.passOn()
	}
}

func (p *Pool[T]) setStarving(on bool) {
	if on {
		p.slow |= slowStarving
	} else {
		p.slow &^= slowStarving
	}
}

// serve takes w out of the queue and leases e to it. The caller signals w once the
// lock is free, or at once if that is simpler.
func (p *Pool[T]) serve(w *waiter[T], e *entry[T]) {
	p.unqueue(w)
	w.lease = p.lease(e)
	w.state = served
}

// fail takes w out of the queue with an error.
func (p *Pool[T]) fail(w *waiter[T], err error) {
	p.unqueue(w)
	w.err = err
	w.state = failed
	w.signal()
}

// passOn wakes the next waiter if a conn is idle.
func (p *Pool[T]) passOn() {
	if len(p.idle) == 0 {
		return
	}
	if w := p.first(); w != nil && !w.woken {
		w.woken = true
		w.signal()
	}
}
