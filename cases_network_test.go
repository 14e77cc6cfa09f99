package evenkeel_test

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// TestC1_PeerVanishes: no FIN, no RST, and nothing of what is sent arrives.
func TestC1_PeerVanishes(t *testing.T) {
	t.Parallel()
	const (
		size    = 10
		outage  = 3 * time.Second
		timeout = 250 * time.Millisecond
	)
	server := evenkeeltest.StartServer(t)
	r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) {
		cfg.Size, cfg.MinIdleConns, cfg.Overflow, cfg.MaxBlocking = size, size, 0, 0
		cfg.StallTimeout, cfg.DialTimeout, cfg.PingInterval = 500*time.Millisecond, 500*time.Millisecond, 300*time.Millisecond
	})
	l := startLoad(t, 20, timeout, 10*time.Millisecond, func(ctx context.Context, i int) error {
		key := "c1:" + strconv.Itoa(i)
		if err := r.DoExclusive(ctx, "SET", key, key).Err(); err != nil {
			return err
		}
		return ownValue(key, r.Do(ctx, "GET", key))
	})
	eventually(t, 5*time.Second, "all conns are open", func() bool { return r.Stats().Exclusive.Open == size && l.ok.Load() > 200 })
	y := startYardstick()
	r.relay.Swallow(evenkeeltest.Both)
	old := r.relay.Flows()
	pass(outage)
	r.relay.Heal()
	healed := time.Now()
	// A dial that was under way has lost its bytes, and must run into its own timeout before the next one.
	eventually(t, 3*time.Second, "all calls succeed", func() bool {
		ok, failed := l.ok.Load(), l.failed.Load()
		pass(100 * time.Millisecond)
		return l.ok.Load() > ok+20 && l.failed.Load() == failed
	})
	eventually(t, 5*time.Second-min(5*time.Second, time.Since(healed))+time.Second, "the client has closed its old conns", func() bool {
		left := map[int]bool{}
		for _, f := range r.relay.Flows() {
			left[f.ID()] = true
		}
		open := closedFlows(r.relay)
		for _, f := range old {
			if left[f.ID()] && !open[f.ID()] {
				return false
			}
		}
		return true
	})
	l.stop()
	if p999, latest := l.lateness(); p999 > y.allowance() {
		t.Errorf("calls returned up to %v late, %v at p99.9", latest, p999)
	}
	if n := l.wrongReplies(); n > 0 {
		t.Errorf("%d wrong replies", n)
	}
}

// closedFlows are those of which the relay saw the client's end.
func closedFlows(relay *evenkeeltest.Relay) map[int]bool {
	closed := map[int]bool{}
	for _, e := range relay.Events() {
		if !e.Open {
			closed[e.Flow] = true
		}
	}
	return closed
}

// TestC2_IdleFlowForgotten: the first calls after a quiet time find conns that work, whatever a middle box or the server has
// done to them meanwhile.
func TestC2_IdleFlowForgotten(t *testing.T) {
	t.Parallel()
	const (
		callers = 10
		silence = 2500 * time.Millisecond
		forget  = time.Second
	)
	for name, test := range map[string]struct {
		options []evenkeeltest.Option
		ending  evenkeeltest.Ending
		relay   bool
		ping    time.Duration
		worst   time.Duration
		kept    bool // no flow is lost
	}{
		// A box that answers the first packet by RST cannot be told from a live one before that packet: a command that was
		// sent may have run, for all the client knows, and INCR is not repeated. The keep-warm pings are what rules it out.
		"kept warm, RST":     {relay: true, ending: evenkeeltest.EndRST, ping: 300 * time.Millisecond, worst: time.Second, kept: true},
		"kept warm, silence": {relay: true, ending: evenkeeltest.EndSilence, ping: 300 * time.Millisecond, worst: time.Second, kept: true},
		"server closes":      {options: []evenkeeltest.Option{evenkeeltest.WithConfig("timeout", "1")}, worst: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := evenkeeltest.StartServer(t, test.options...)
			r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) {
				cfg.Size, cfg.MinIdleConns, cfg.Overflow = callers, callers, 0
				cfg.PingInterval = test.ping
			})
			incr := func() (worst time.Duration) {
				var (
					mu sync.Mutex
					wg sync.WaitGroup
				)
				for range callers {
					wg.Go(func() {
						start := time.Now()
						if err := r.DoExclusive(t.Context(), "INCR", "n").Err(); err != nil {
							t.Error(err)
						}
						mu.Lock()
						defer mu.Unlock()
						worst = max(worst, time.Since(start))
					})
				}
				wg.Wait()
				return worst
			}
			incr()
			eventually(t, 5*time.Second, "all conns are open", func() bool { return r.Stats().Exclusive.Idle == callers })
			if test.relay {
				r.relay.ForgetIdle(forget, test.ending)
			}
			flows := r.relay.Stats().Accepted
			pass(silence)
			if worst := incr(); worst > test.worst {
				t.Errorf("the slowest call after the silence took %v", worst)
			}
			if got, err := r.Do(t.Context(), "GET", "n").Int(); err != nil || got != 2*callers {
				t.Errorf("the counter is %d, want %d, %v", got, 2*callers, err)
			}
			if now := r.relay.Stats().Accepted; test.kept && now > flows+2 { // the shared lane's, which GET used first
				t.Errorf("%d flows were lost", now-flows)
			}
		})
	}
}

// TestC2_ForgottenWithoutPings: with the pings off, the box's RST or silence meets a command that was sent. What only reads is
// repeated and nobody sees it; what changes something is reported as unknown, never run twice.
func TestC2_ForgottenWithoutPings(t *testing.T) {
	t.Parallel()
	for name, ending := range map[string]evenkeeltest.Ending{"RST": evenkeeltest.EndRST, "silence": evenkeeltest.EndSilence} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := evenkeeltest.StartServer(t)
			r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) {
				cfg.PingInterval = evenkeel.Disabled
				cfg.StallTimeout = 300 * time.Millisecond
			})
			if err := r.Do(t.Context(), "SET", "k", "k").Err(); err != nil {
				t.Fatal(err)
			}
			r.relay.ForgetIdle(500*time.Millisecond, ending)
			pass(time.Second)
			if err := ownValue("k", r.Do(t.Context(), "GET", "k")); err != nil {
				t.Errorf("a read after the silence: %v", err)
			}
			pass(time.Second)
			err := r.Do(t.Context(), "INCR", "n").Err()
			n, gerr := server.Do(t.Context(), "GET", "n")
			if gerr != nil {
				t.Fatal(gerr)
			}
			switch {
			case err == nil && n != "1", err != nil && n != nil && n != "1":
				t.Errorf("INCR: %v, and the counter is %v", err, n)
			case err != nil && !evenkeel.MayHaveRun(err):
				t.Errorf("INCR: %v does not say that it may have run", err)
			}
		})
	}
}

// TestC5_ConnectsButDoesNotAnswer: a minute of it, with a health check every second and callers beside it.
func TestC5_ConnectsButDoesNotAnswer(t *testing.T) {
	for name, paused := range map[string]bool{"frozen server": true, "silent from the start": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { connectsButDoesNotAnswer(t, paused) })
		})
	}
}

func connectsButDoesNotAnswer(t *testing.T, paused bool) {
	t.Helper()
	const (
		callers = 50
		timeout = time.Second
	)
	_, fake, cfg := newVirtual(t, "silent:6379")
	client, err := evenkeel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if paused {
		if err := client.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	fake.Pause()
	stop := make(chan struct{})
	var (
		wg      sync.WaitGroup
		resumed atomic.Bool
	)
	for range callers {
		wg.Go(func() {
			for {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				start := time.Now()
				if err := client.Do(ctx, "GET", "k").Err(); err == nil && !resumed.Load() {
					t.Error("a call succeeded")
				}
				if took := time.Since(start); took > timeout+time.Millisecond {
					t.Errorf("a call returned after %v", took)
				}
				cancel()
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	time.Sleep(5 * time.Second)
	// The runtime's count is off by some dozens for a moment while it moves finished goroutines between its lists: of ten looks the least counts.
	const looks = 10
	var early, late int
	for second := range 60 {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		start := time.Now()
		if err := client.Ping(ctx); err == nil {
			t.Error("healthy")
		}
		if took := time.Since(start); took > timeout+time.Millisecond {
			t.Errorf("the health check took %v", took)
		}
		cancel()
		time.Sleep(timeout - min(timeout, time.Since(start)))
		synctest.Wait()
		switch n := runtime.NumGoroutine(); {
		case second == 0:
			early = n
		case second < looks:
			early = min(early, n)
		case second == 60-looks:
			late = n
		case second > 60-looks:
			late = min(late, n)
		}
		if st := fake.Stats(); st.Open > cfg.SharedConns+1 {
			t.Fatalf("%d conns are open", st.Open)
		}
	}
	if late > early+early/10 {
		t.Errorf("%d goroutines at the begin, %d later", early, late)
	}
	if st := fake.Stats(); st.Accepted > 60 { // one at a time, each for the 2 s of its timeout and its backoff
		t.Errorf("%d dials in a minute", st.Accepted)
	}
	resumed.Store(true)
	fake.Resume()
	start := time.Now()
	for client.Ping(t.Context()) != nil {
		if time.Since(start) > 8*time.Second {
			t.Fatal("not healthy again")
		}
		time.Sleep(10 * time.Millisecond)
	}
	close(stop)
	wg.Wait()
	if err := client.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
