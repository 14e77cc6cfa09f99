package evenkeel_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// TestChaos lets callers use every lane under deadlines and cancels of their own, while the server and the network fail in every
// way there is, one after the other in random order. Each call asks for what only it could have sent. No call gets another's
// reply, none hangs, no conn is opened beyond MaxConns, and afterwards the client works and nothing is left behind.
func TestChaos(t *testing.T) {
	const callers = 40
	server := evenkeeltest.StartServer(t)
	goroutines := countGoroutines()
	r := newRig(t, server.Addr(), nil)
	c := &chaos{rig: r, stopped: make(chan struct{})}
	y := startYardstick()
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { c.caller(i) })
	}
	seed := rand.Uint64()
	t.Logf("order of the faults: seed %d", seed)
	for range 2 {
		for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(faults)) {
			faults[i].strike(t, server, r.relay)
			pass(400 * time.Millisecond)
		}
	}
	close(c.stopped)
	wg.Wait()

	if n := c.wrong.Load(); n > 0 {
		t.Errorf("%d calls got another call's reply", n)
	}
	// A caller of this test runs on a machine that is kept busy: what is ruled out here is a call that hangs.
	if late, limit := time.Duration(c.latest.Load()), max(500*time.Millisecond, 2*y.allowance()); late > limit {
		t.Errorf("a call returned %v after its deadline, %v at most", late, limit)
	}
	if st, limit := r.relay.Stats(), r.Stats().MaxConns; st.OpenMax > limit {
		t.Errorf("%d conns open at once, MaxConns is %d", st.OpenMax, limit)
	}
	for kind := range c.answered {
		if c.answered[kind].Load() == 0 {
			t.Errorf("not one call of kind %d was answered", kind)
		}
	}
	eventually(t, 5*time.Second, "the client works again", func() bool { return r.Do(t.Context(), "PING").Err() == nil })
	eventually(t, 5*time.Second, "all leases given back", r.idle)
	r.shut(t)
	backToBaseline(t, goroutines)
}

// faults are what befalls the server and the network.
var faults = []struct {
	name   string
	strike func(*testing.T, *evenkeeltest.Server, *evenkeeltest.Relay)
}{
	{"reset", func(_ *testing.T, _ *evenkeeltest.Server, relay *evenkeeltest.Relay) { relay.ResetAll() }},
	{"frozen briefly", func(t *testing.T, server *evenkeeltest.Server, _ *evenkeeltest.Relay) {
		t.Helper()
		freeze(t, server, 200*time.Millisecond)
	}},
	{"frozen until stalled", func(t *testing.T, server *evenkeeltest.Server, _ *evenkeeltest.Relay) {
		t.Helper()
		freeze(t, server, 2500*time.Millisecond)
	}},
	{"killed", func(t *testing.T, server *evenkeeltest.Server, _ *evenkeeltest.Relay) {
		t.Helper()
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
		pass(200 * time.Millisecond)
		if err := server.Restart(t.Context()); err != nil {
			t.Error(err)
		}
	}},
	{"conns killed", func(t *testing.T, server *evenkeeltest.Server, _ *evenkeeltest.Relay) {
		t.Helper()
		if _, err := server.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal"); err != nil {
			t.Error(err)
		}
	}},
	{"refused", func(t *testing.T, _ *evenkeeltest.Server, relay *evenkeeltest.Relay) {
		t.Helper()
		if err := relay.Refuse(); err != nil {
			t.Error(err)
		}
		relay.ResetAll()
		pass(300 * time.Millisecond)
		if err := relay.Accept(); err != nil {
			t.Error(err)
		}
	}},
}

// chaos is what the callers share.
type chaos struct {
	*rig
	stopped  chan struct{}
	calls    atomic.Uint64
	wrong    atomic.Int64
	latest   atomic.Int64 // nanoseconds
	answered [5]atomic.Int64
}

// caller calls until it is stopped, each time in another way and with another limit.
func (c *chaos) caller(i int) {
	for {
		select {
		case <-c.stopped:
			return
		default:
		}
		limit := time.Duration(1+rand.IntN(80)) * time.Millisecond
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		if rand.IntN(3) == 0 { // a cancel instead of a deadline
			cancel()
			ctx, cancel = context.WithCancel(context.Background())
			time.AfterFunc(limit, cancel)
		}
		token := strconv.Itoa(i) + "-" + strconv.FormatUint(c.calls.Add(1), 10)
		kind := rand.IntN(len(c.answered))
		start := time.Now()
		err := c.call(ctx, kind, token)
		late := int64(time.Since(start) - limit)
		cancel()
		for was := c.latest.Load(); late > was && !c.latest.CompareAndSwap(was, late); was = c.latest.Load() {
		}
		switch {
		case err == nil:
			c.answered[kind].Add(1)
		case errors.Is(err, errWrongReply):
			c.wrong.Add(1)
		}
	}
}

// call is a call of one kind, each of them on another path through the client.
func (c *chaos) call(ctx context.Context, kind int, token string) error {
	switch kind {
	case 0:
		return is(token)(c.Do(ctx, "ECHO", token).Text())
	case 1:
		return is(token)(c.DoExclusive(ctx, "ECHO", token).Text())
	case 2:
		return c.pipeline(ctx, token)
	case 3:
		if rand.IntN(2) == 0 {
			_ = c.Do(ctx, "BLPOP", "nothing:"+token, 0).Err() // is left, and its conn is to be freed
		}
		if err := c.Do(ctx, "RPUSH", "list:"+token, token).Err(); err != nil {
			return err
		}
		got, err := c.Do(ctx, "BLPOP", "list:"+token, 0).Strings()
		if err == nil && !slices.Equal(got, []string{"list:" + token, token}) {
			return errWrongReply
		}
		return err
	default:
		return c.WithConn(ctx, func(conn *evenkeel.Conn) error {
			// Whatever of this fails half way must not be left to the next user of the conn.
			_ = conn.Do(ctx, "MULTI").Err()
			_ = conn.Do(ctx, "ECHO", token).Err()
			got, err := conn.Do(ctx, "EXEC").Strings()
			if err == nil && !slices.Equal(got, []string{token}) {
				return errWrongReply
			}
			return err
		})
	}
}

// pipeline is short enough for the shared lane, or so long that it gets a conn of its own.
func (c *chaos) pipeline(ctx context.Context, token string) error {
	p := c.Pipeline()
	n := 1 + rand.IntN(300)
	for i := range n {
		p.Do("ECHO", token+"/"+strconv.Itoa(i))
	}
	replies, err := p.Exec(ctx)
	for i, r := range replies {
		if got, err := r.Text(); err == nil && got != token+"/"+strconv.Itoa(i) {
			return errWrongReply
		}
	}
	return err
}

// is checks a reply.
func is(want string) func(got string, err error) error {
	return func(got string, err error) error {
		if err == nil && got != want {
			return errWrongReply
		}
		return err
	}
}
