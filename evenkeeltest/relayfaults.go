package evenkeeltest

import "time"

// Ending is how a flow is ended.
type Ending uint8

const (
	// EndFIN closes both ends in order.
	EndFIN Ending = iota
	// EndRST resets both ends.
	EndRST
	// EndSilence keeps both ends open and passes nothing any more.
	EndSilence
)

// Verdict is what a [Filter] decides.
type Verdict uint8

const (
	// Pass passes on what the filter returned.
	Pass Verdict = iota
	// PassThenSilence passes it on, and then nothing any more in this direction.
	PassThenSilence
	// PassThenFIN passes it on and closes the flow.
	PassThenFIN
	// PassThenRST passes it on and resets the flow; the peers may see the reset
	// before they have read what was passed.
	PassThenRST
)

// Filter sees each piece that a flow reads in one direction, cut as it happened to
// arrive, and returns what to pass on instead: p itself, a part of it, or
// something else. p is only valid during the call. Calls for one direction of one
// flow come in order; others run concurrently.
type Filter func(f *Flow, d Direction, p []byte) ([]byte, Verdict)

// faults is a set of faults in force. It is replaced as a whole, never changed.
type faults struct {
	dir        [directions]dirFaults
	setupDelay time.Duration
	idleAfter  time.Duration
	idleEnding Ending
	filter     Filter
	replaced   chan struct{} // closed when others are in force
}

type dirFaults struct {
	delay     time.Duration
	held      bool
	swallowed bool
	piece     int // write at most so many bytes at a time
	gap       time.Duration
	cut       *cut
}

// cut is an order to end each flow after n bytes; its address tells one order from
// the next.
type cut struct {
	n      int64
	ending Ending
}

// Delay holds back every byte of direction d by delay, without limiting the rate
// below 1 MiB per delay and flow. Zero: none.
func (r *Relay) Delay(d Direction, delay time.Duration) {
	r.setDir(d, func(f *dirFaults) { f.delay = delay })
}

// SetupDelay waits so long before it connects a new flow to the server. Zero: not.
func (r *Relay) SetupDelay(delay time.Duration) {
	r.set(func(f *faults) { f.setupDelay = delay })
}

// Hold stops reading in direction d, so that buffers fill and the sender is pushed
// back. Nothing is lost; nothing is noticed either, not even that the client closes.
func (r *Relay) Hold(d Direction) { r.setDir(d, func(f *dirFaults) { f.held = true }) }

// Release undoes Hold.
func (r *Relay) Release(d Direction) { r.setDir(d, func(f *dirFaults) { f.held = false }) }

// Swallow reads and throws away everything in direction d, the end of the conn
// included: both ends stay open and hear nothing.
func (r *Relay) Swallow(d Direction) { r.setDir(d, func(f *dirFaults) { f.swallowed = true }) }

// ForgetIdle makes the relay forget flows through which nothing has passed for
// after: the next bytes meet the given ending. Zero: never.
func (r *Relay) ForgetIdle(after time.Duration, ending Ending) {
	r.set(func(f *faults) { f.idleAfter, f.idleEnding = after, ending })
}

// CutAfter ends each flow once n bytes more have passed in direction d, counted for
// new flows from their start. The bytes up to there are passed on; with EndRST the
// peer may see the reset before it has read them.
func (r *Relay) CutAfter(d Direction, n int64, ending Ending) {
	c := &cut{n: max(n, 0), ending: ending}
	r.setDir(d, func(f *dirFaults) { f.cut = c })
	if n <= 0 {
		for _, f := range r.Flows() {
			f.finish(ending)
		}
	}
}

// Split writes at most k bytes at a time in direction d. The receiver may still
// read several at once; Trickle keeps them apart. Zero: no limit.
func (r *Relay) Split(d Direction, k int) { r.Trickle(d, k, 0) }

// Trickle writes at most k bytes per gap in direction d, and reads no further
// meanwhile: the sender is pushed back, and its end is noticed late. k = 0: no limit.
func (r *Relay) Trickle(d Direction, k int, gap time.Duration) {
	r.setDir(d, func(f *dirFaults) { f.piece, f.gap = max(k, 0), gap })
}

// Filter passes everything through f; nil: through nothing.
func (r *Relay) Filter(filter Filter) { r.set(func(f *faults) { f.filter = filter }) }

// ResetAll resets every flow that is there now.
func (r *Relay) ResetAll() {
	for _, f := range r.Flows() {
		f.Reset()
	}
}

// Heal takes all faults away. It does not undo Refuse, and a flow that has lost
// bytes stays silent.
func (r *Relay) Heal() { r.set(func(f *faults) { *f = faults{} }) }

func (r *Relay) setDir(d Direction, change func(*dirFaults)) {
	r.set(func(f *faults) { d.each(func(i int) { change(&f.dir[i]) }) })
}

func (r *Relay) set(change func(*faults)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.current()
	next := *old
	change(&next)
	next.replaced = make(chan struct{})
	r.faults.Store(&next)
	close(old.replaced)
}

// current returns the faults in force.
func (r *Relay) current() *faults { return r.faults.Load() }
