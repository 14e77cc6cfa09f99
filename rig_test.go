package evenkeel_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

// A rig is a client whose conns all go through a relay, with both sides counted: the relay sees what the server would, frozen
// or not, and the dial hook what never got that far.
type rig struct {
	*evenkeel.Client
	relay  *evenkeeltest.Relay
	dials  *dialMeter
	closed atomic.Bool
}

// newRig makes a client for the server at addr. It is closed with the test, which fails if that leaves a conn open.
func newRig(tb testing.TB, addr string, configure func(*evenkeel.Config)) *rig {
	tb.Helper()
	r := &rig{relay: evenkeeltest.StartRelay(tb, addr), dials: &dialMeter{}}
	cfg := evenkeel.DefaultConfig(r.relay.Addr())
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.Governor = evenkeel.NewGovernor(0)
	cfg.Dialer = r.dials.dial
	cfg.Hooks.OnDial = r.dials.ended
	if configure != nil {
		configure(&cfg)
	}
	var err error
	if r.Client, err = evenkeel.New(cfg); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.shut(tb) })
	return r
}

// newVirtual makes a scriptable server on a network of its own in virtual time, and a Config for its clients.
func newVirtual(tb testing.TB, addr string) (*simnet.Network, *evenkeeltest.Fake, evenkeel.Config) {
	tb.Helper()
	network := simnet.New(simnet.Options{})
	ln, err := network.Listen(addr)
	if err != nil {
		tb.Fatal(err)
	}
	fake := evenkeeltest.NewFake(ln, nil)
	tb.Cleanup(func() { _ = fake.Close() })
	cfg := evenkeel.DefaultConfig(addr)
	cfg.Dialer, cfg.Governor = network.Dial, evenkeel.NewGovernor(0)
	return network, fake, cfg
}

// shut closes the client and checks that none of its conns is left.
func (r *rig) shut(tb testing.TB) {
	tb.Helper()
	if r.closed.Swap(true) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = r.Close(ctx) // it may have had to cut
	eventually(tb, 5*time.Second, "all conns closed", func() bool { return r.relay.Stats().Open == 0 })
	if err := r.relay.Close(); err != nil {
		tb.Error(err)
	}
	if n := r.Stats().Conns; n != 0 {
		tb.Errorf("%d places of the budget were not given back", n)
	}
}

// accepted counts the conns that the relay accepted from one moment to another.
func (r *rig) accepted(from, to time.Time) int {
	n := 0
	for _, e := range r.relay.Events() {
		if e.Open && !e.At.Before(from) && e.At.Before(to) {
			n++
		}
	}
	return n
}

// idle says whether nobody uses a conn of the lanes that are leased.
func (r *rig) idle() bool {
	st := r.Stats()
	return st.Exclusive.InUse == 0 && st.Blocking.InUse == 0
}

// dialMeter watches dials from where the client makes them.
type dialMeter struct {
	mu       sync.Mutex
	underWay int
	most     int // under way at once, since reset
	starts   []time.Time
	refused  int
}

func (d *dialMeter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d.mu.Lock()
	d.underWay++
	d.most = max(d.most, d.underWay)
	d.starts = append(d.starts, time.Now())
	d.mu.Unlock()
	var dialer net.Dialer
	return dialer.DialContext(ctx, network, addr)
}

func (d *dialMeter) ended(e evenkeel.DialEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.underWay--
	var op *net.OpError
	if errors.As(e.Err, &op) && op.Op == "dial" {
		d.refused++
	}
}

// note records a dial that goes no further.
func (d *dialMeter) note() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.starts = append(d.starts, time.Now())
}

// reset forgets what was seen, apart from what is under way, and returns it.
func (d *dialMeter) reset() (most, started, refused int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	most, started, refused = d.most, len(d.starts), d.refused
	d.most, d.starts, d.refused = d.underWay, nil, 0
	return most, started, refused
}

// moments are the starts of the dials since reset.
func (d *dialMeter) moments() []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.starts)
}

// A load is callers who call in turn, each call with a deadline, until it is stopped.
type load struct {
	ok, failed atomic.Int64

	stopped chan struct{}
	once    sync.Once
	wg      sync.WaitGroup

	mu     sync.Mutex
	late   []time.Duration // of all calls, those in time as 0
	took   []time.Duration
	errors map[string]int // by text, with an example of each
	wrong  int            // replies that belong to another call
}

var errWrongReply = errors.New("a reply that belongs to another call")

// startLoad sets callers off. call makes the i-th caller's next call.
func startLoad(tb testing.TB, callers int, timeout, pause time.Duration, call func(ctx context.Context, i int) error) *load {
	tb.Helper()
	l := &load{stopped: make(chan struct{}), errors: map[string]int{}}
	for i := range callers {
		l.wg.Go(func() {
			t := time.NewTimer(pause * time.Duration(i) / time.Duration(callers)) // spread over the first pause
			defer t.Stop()
			for {
				select {
				case <-l.stopped:
					return
				case <-t.C:
				}
				l.call(timeout, func(ctx context.Context) error { return call(ctx, i) })
				t.Reset(pause)
			}
		})
	}
	tb.Cleanup(l.stop)
	return l
}

func (l *load) call(timeout time.Duration, call func(ctx context.Context) error) {
	start := time.Now()
	deadline := start.Add(timeout)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	err := call(ctx)
	took := time.Since(start)
	late := max(0, time.Since(deadline))
	if err == nil {
		l.ok.Add(1)
	} else {
		l.failed.Add(1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = append(l.late, late)
	l.took = append(l.took, took)
	if err != nil {
		l.errors[err.Error()]++
		if errors.Is(err, errWrongReply) {
			l.wrong++
		}
	}
}

func (l *load) stop() {
	l.once.Do(func() { close(l.stopped) })
	l.wg.Wait()
}

// lateness is how late calls returned: the latest, and the one of 99.9 %.
func (l *load) lateness() (p999, latest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.late) == 0 {
		return 0, 0
	}
	slices.Sort(l.late)
	n := len(l.late)
	return l.late[n-1-n/1000], l.late[n-1]
}

// tookP99 is what 99 % of the calls took at most.
func (l *load) tookP99() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.took) == 0 {
		return 0
	}
	slices.Sort(l.took)
	n := len(l.took)
	return l.took[n-1-n/100]
}

// wrongReplies is how many calls got another one's reply.
func (l *load) wrongReplies() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong
}

// rate waits for a while and returns how many calls a second succeeded meanwhile.
func (l *load) rate(tb testing.TB, d time.Duration) float64 {
	tb.Helper()
	start, n := time.Now(), l.ok.Load()
	pass(d)
	return float64(l.ok.Load()-n) / time.Since(start).Seconds()
}

// pass lets a span of real time go by: the length of a fault, or of a look at a rate. It never waits for something to happen.
func pass(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	<-t.C
}

// freeze stops the server's process for a while.
func freeze(t *testing.T, server *evenkeeltest.Server, d time.Duration) {
	t.Helper()
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	pass(d)
	if err := server.Cont(); err != nil {
		t.Error(err)
	}
}

// A yardstick measures how late this machine, busy with other tests as well, lets timers fire: what lateness is judged by.
type yardstick struct {
	worst time.Duration
	done  chan struct{}
	wg    sync.WaitGroup
}

func startYardstick() *yardstick {
	y := &yardstick{done: make(chan struct{})}
	y.wg.Go(func() {
		const step = 10 * time.Millisecond
		t := time.NewTimer(step)
		defer t.Stop()
		for {
			due := time.Now().Add(step)
			t.Reset(step)
			select {
			case <-t.C:
				y.worst = max(y.worst, time.Since(due))
			case <-y.done:
				return
			}
		}
	})
	return y
}

// allowance is what a call may be late by: room for a busy machine, and what it did to timers meanwhile.
func (y *yardstick) allowance() time.Duration {
	close(y.done)
	y.wg.Wait()
	return 300*time.Millisecond + 4*y.worst
}

// countGoroutines says how many there are. The runtime's own count is off by some dozens for a moment while it moves finished goroutines from one
// of its lists to another, so two looks have to agree.
func countGoroutines() int {
	for last := runtime.NumGoroutine(); ; {
		runtime.Gosched()
		now := runtime.NumGoroutine()
		if now == last {
			return now
		}
		last = now
	}
}

// backToBaseline waits until there are no more goroutines than before.
func backToBaseline(tb testing.TB, before int) {
	tb.Helper()
	eventually(tb, 5*time.Second, "goroutines back to the baseline", func() bool { return countGoroutines() <= before })
}
