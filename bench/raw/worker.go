package raw

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/workload"
)

// worker is what both engines do with requests and replies. One goroutine at a time uses
// it. All times are nanoseconds from the beginning of the run.
type worker struct {
	run    *run
	id     int
	stream Stream
	plan   *schedule // nil in closed loop
	tagged bool      // tags are kept: there are several classes, or replies are verified

	live  *Counts
	warm  *Counts // of the warm-up, from its end until it is handed over
	extra *Counts // what live becomes when the warm-up ends

	from      int64 // requests that start before belong to the warm-up
	measuring bool
	left      int64 // requests that may still be sent
	ended     bool  // the stream has
	inflight  int64
	dues      []int64 // arrivals that are due, and that the stream gave no request for yet
	claims    int     // arrivals that conns have claimed, and not sent
	sent      int64   // requests of the measured part
	early     int64   // those of them that were sent before it was seen to have begun
	answered  int64   // requests of the measured part that were answered or failed
	last      int64   // when the last of them was

	ask atomic.Pointer[Counts] // set: hand over what is counted, and go on with this
	got chan handed

	finished bool // ask stays set, and nobody is answered
}

// handed is what a worker hands over.
type handed struct {
	warm, counts *Counts
	measured     bool // counts belong to the measured part; warm, if any, never do
	overdue      int64
}

func newWorker(r *run, id int) *worker {
	cfg := &r.cfg
	w := &worker{
		run: r, id: id, stream: cfg.Streams(id, cfg.Workers),
		tagged: len(cfg.Classes) > 1 || cfg.Verify,
		live:   newCounts(cfg),
		from:   math.MinInt64,
		left:   math.MaxInt64,
		got:    make(chan handed, 1),
	}
	if cfg.Rate > 0 {
		w.plan = newSchedule(cfg, id)
	}
	if cfg.Warmup > 0 {
		w.extra = newCounts(cfg)
	} else {
		w.measure(math.MinInt64)
	}
	return w
}

// measure begins the measured part.
func (w *worker) measure(from int64) {
	w.measuring, w.from, w.sent = true, from, w.early
	if total := w.run.cfg.Requests; total > 0 {
		workers := int64(w.run.cfg.Workers)
		w.left = total / workers
		if int64(w.id) < total%workers {
			w.left++
		}
		w.left -= w.early
	}
}

// isEarly reports whether what is due then belongs to the measured part although nobody has
// seen yet that it has begun: the clock is read more often than the checkpoint comes.
func (w *worker) isEarly(due int64) bool { return !w.measuring && due >= w.run.warmEnd }

// checkpoint does what is due between two batches of events: the end of the warm-up, and
// a hand-over when it is asked for. It reports whether the warm-up has just ended.
func (w *worker) checkpoint(now int64) (began bool) {
	if !w.measuring && now >= w.run.warmEnd {
		w.warm, w.live, w.extra = w.live, w.extra, nil
		w.measure(w.run.warmEnd)
		began = true
	}
	if !w.finished && w.ask.Load() != nil {
		w.hand(w.ask.Swap(nil), now)
	}
	return began
}

// asked asks for what was counted. The answer comes through got, unless asked is false:
// the worker has finished.
func (w *worker) asked(spare *Counts) bool { return w.ask.CompareAndSwap(nil, spare) }

// finish ends the worker: nobody is answered after it.
func (w *worker) finish(now int64) {
	w.finished = true
	if spare := w.ask.Swap(&Counts{}); spare != nil {
		w.hand(spare, now)
	}
}

// hand gives what was counted to whoever asked, and goes on with spare. There is room in
// got, since nobody asks again before taking.
func (w *worker) hand(spare *Counts, now int64) {
	h := handed{warm: w.warm, counts: w.live, measured: w.measuring, overdue: w.overdue(now)}
	w.warm, w.live = nil, spare
	w.got <- h
}

// overdue is about how many arrivals of the schedule wait to be sent.
func (w *worker) overdue(now int64) int64 {
	if w.plan == nil {
		return 0
	}
	return int64(len(w.dues)) + w.plan.overdue(min(now, w.run.deadline))
}

// spent reports whether nothing more will be sent.
func (w *worker) spent(now int64) bool {
	return w.left <= 0 || w.ended || now >= w.run.deadline || w.run.stopped.Load()
}

// take puts the next n requests in flight on c, all meant to start at due (closed loop:
// at sent). The bytes are valid until the next take. None: the stream has ended.
func (w *worker) take(c *window, n int, sent, due int64) []byte {
	if due >= w.from {
		n = int(min(int64(n), w.left))
	}
	requests, tags := w.stream.Batch(n)
	if len(tags) == 0 {
		w.ended = true
		return nil
	}
	c.groups.push(group{sent: sent, due: due, n: len(tags)})
	if due >= w.from {
		w.left -= int64(len(tags))
		w.sent += int64(len(tags))
	}
	if w.isEarly(due) {
		w.early += int64(len(tags))
	}
	w.took(c, requests, tags)
	return requests
}

// takeDue is take for requests that the schedule meant to start by now: at most n of
// them. roomSince is since when some conn had room for one.
func (w *worker) takeDue(c *window, n int, now, roomSince int64) []byte {
	for len(w.dues) < n && w.plan.next <= now {
		due, ok := w.arrival()
		if !ok {
			break
		}
		w.dues = append(w.dues, due)
	}
	n = min(n, len(w.dues))
	if n == 0 {
		return nil
	}
	requests, tags := w.stream.Batch(n)
	if len(tags) == 0 {
		w.ended = true
		return nil
	}
	// A stream may keep requests together, and so give fewer or more than were due.
	used := min(n, len(tags))
	for i, due := range w.dues[:used] {
		g := group{sent: now, due: due, n: 1}
		if i == used-1 {
			g.n += len(tags) - used
		}
		c.groups.push(g)
		if due < w.from {
			continue
		}
		w.left -= int64(g.n)
		w.sent += int64(g.n)
		counts := w.live
		if w.isEarly(due) {
			w.early += int64(g.n)
			counts = w.extra
		}
		ready := min(max(due, roomSince), now)
		counts.Busy.Record(nanos(ready - due))
		counts.Late.Record(nanos(now - ready))
	}
	w.dues = w.dues[:copy(w.dues, w.dues[used:])]
	w.took(c, requests, tags)
	return requests
}

// arrival takes the next arrival off the schedule, unless none is left that may be sent.
func (w *worker) arrival() (due int64, ok bool) {
	due = w.plan.next
	if due >= w.run.deadline || due >= w.from && w.left <= int64(len(w.dues)+w.claims) {
		return 0, false
	}
	w.plan.advance()
	return due, true
}

// claim is arrival for an engine whose conns wait for their moment each by itself.
func (w *worker) claim() (due int64, ok bool) {
	if len(w.dues) > 0 {
		due, ok = w.dues[0], true
		w.dues = w.dues[:copy(w.dues, w.dues[1:])]
	} else {
		due, ok = w.arrival()
	}
	if ok {
		w.claims++
	}
	return due, ok
}

// unclaim gives back an arrival that was not sent.
func (w *worker) unclaim(due int64) {
	w.claims--
	w.dues = append(w.dues, due)
	slices.Sort(w.dues)
}

// takeClaimed is takeDue for one claimed arrival.
func (w *worker) takeClaimed(c *window, due, now, roomSince int64) []byte {
	w.unclaim(due)
	return w.takeDue(c, 1, now, roomSince)
}

// backlog is how many arrivals of the measured part, until a moment, were not sent.
func (w *worker) backlog(until int64) (n int64) {
	if w.plan == nil || !w.measuring {
		return 0
	}
	for _, due := range w.dues {
		if due >= w.from && due < until {
			n++
		}
	}
	return min(n+w.plan.countUntil(w.from, until), max(w.left, 0))
}

// took counts what take and takeDue have put in flight.
func (w *worker) took(c *window, requests []byte, tags []workload.Tag) {
	c.inflight += len(tags)
	c.served += len(tags)
	w.inflight += int64(len(tags))
	if !w.tagged {
		w.live.Classes[0].BytesOut += int64(len(requests))
		return
	}
	for _, tag := range tags {
		c.tags.push(tag)
	}
	if len(tags) == 1 || len(w.live.Classes) == 1 {
		w.live.Classes[tags[0].Class()].BytesOut += int64(len(requests))
		return
	}
	for _, tag := range tags {
		size := requestSize(requests)
		w.live.Classes[tag.Class()].BytesOut += int64(size)
		requests = requests[size:]
	}
}

// replies takes in what came on c. The error says why the conn is of no more use.
func (w *worker) replies(c *window, b []byte, now int64) error {
	for len(b) > 0 {
		if c.hello == 0 && c.inflight > 0 && !c.scan.inside && !w.run.cfg.Verify {
			limit := c.groups.front().n
			if w.tagged {
				limit = 1
			}
			if n, nulls, size := plain(b, limit); n > 0 {
				w.succeeded(c, n, nulls, size, now)
				b = b[size:]
				continue
			}
		}
		whole := b
		n, o, text, err := c.scan.next(b)
		if err != nil {
			return err
		}
		b = b[n:]
		c.size += n
		if o == unfinished {
			w.keep(c, whole[:n])
			return nil // next takes all of b
		}
		if err := w.value(c, o, text, w.whole(c, whole[:n]), now); err != nil {
			return err
		}
		c.size, c.whole = 0, c.whole[:0]
	}
	return nil
}

// keep holds on to the beginning of a reply that has to be verified.
func (w *worker) keep(c *window, b []byte) {
	if w.run.cfg.Verify {
		c.whole = append(c.whole, b...)
	}
}

// whole is the reply that ends with b.
func (w *worker) whole(c *window, b []byte) []byte {
	if len(c.whole) == 0 {
		return b
	}
	c.whole = append(c.whole, b...)
	return c.whole
}

// value takes in one value that the scanner found.
func (w *worker) value(c *window, o outcome, text, reply []byte, now int64) error {
	switch {
	case o == pushed:
		return nil
	case o == errorReply && saysMaxClients(text):
		return errMaxClients
	case c.hello > 0:
		c.hello--
		if o == errorReply {
			return refusal(text)
		}
		return nil
	case c.inflight == 0:
		return errUnasked
	case o == errorReply:
		w.failed(c, codeOf(text), now)
	case w.run.cfg.Verify && w.stream.Verify(*c.tags.front(), reply) != nil:
		w.failed(c, []byte(verifyCode), now)
	default:
		nulls := 0
		if o == nullReply {
			nulls = 1
		}
		w.succeeded(c, 1, nulls, c.size, now)
	}
	return nil
}

// succeeded counts n replies of the oldest group of c; more than one only without tags.
func (w *worker) succeeded(c *window, n, nulls, size int, now int64) {
	class := 0
	if w.tagged {
		class = c.tags.front().Class()
	}
	g := *c.groups.front()
	w.land(c, n, now)
	if w.before(&g) {
		return
	}
	r := &w.live.Classes[class]
	r.OK += int64(n)
	if r.Class.Read {
		r.Misses += int64(nulls)
		r.Hits += int64(n - nulls)
	}
	r.BytesIn += int64(size)
	r.Service.RecordN(nanos(now-g.sent), int64(n))
	if r.Response != nil {
		r.Response.RecordN(nanos(now-g.due), int64(n))
	}
}

// failed counts an error reply to the oldest request of c.
func (w *worker) failed(c *window, code []byte, now int64) {
	class := 0
	if w.tagged {
		class = c.tags.front().Class()
	}
	g := *c.groups.front()
	w.land(c, 1, now)
	if w.before(&g) {
		return
	}
	w.live.Classes[class].Errors++
	count(w.live.Errors, code)
}

// before reports whether a group belongs to the warm-up, and that is over.
func (w *worker) before(g *group) bool { return g.due < w.from }

// land takes n requests of the oldest group of c out of flight.
func (w *worker) land(c *window, n int, now int64) {
	g := c.groups.front()
	if !w.before(g) && w.measuring {
		w.answered += int64(n)
		w.last = now
	}
	if g.n -= n; g.n == 0 {
		c.groups.pop()
	}
	if w.tagged {
		for range n {
			c.tags.pop()
		}
	}
	c.inflight -= n
	w.inflight -= int64(n)
}

// lose counts a conn that broke, with all that was in flight on it.
func (w *worker) lose(c *window, err error, now int64) {
	cause := []byte(lossOf(err))
	for c.inflight > 0 {
		w.failed(c, cause, now)
	}
	count(w.live.Failures, cause)
	w.live.Lost++
	c.reset()
}

// loseDial counts a conn that could not be opened, with what was to be sent on it.
func (w *worker) loseDial(c *window, err error, now int64) {
	cause := []byte(dialLossOf(err))
	for c.inflight > 0 {
		w.failed(c, cause, now)
	}
	count(w.live.Failures, cause)
	c.reset()
}

// abandon counts what is in flight on c as unanswered, at the end of the run.
func (w *worker) abandon(c *window, now int64, r *Result) {
	for c.groups.used > 0 {
		g := c.groups.front()
		if !w.before(g) && w.measuring {
			r.Unanswered += int64(g.n)
			r.OldestUnanswered = max(r.OldestUnanswered, nanos(now-g.sent))
		}
		c.groups.pop()
	}
	w.inflight -= int64(c.inflight)
	c.reset()
}

func nanos(n int64) time.Duration { return time.Duration(n) }
