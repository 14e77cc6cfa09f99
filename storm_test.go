package evenkeel_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// The set-up of the storm counts: 200 callers with contexts of 50 ms, on 100 exclusive conns, or on the shared ones.
const (
	stormCallers = 200
	stormSize    = 100
	stormTimeout = 50 * time.Millisecond
	stormPause   = 100 * time.Millisecond // between calls, so that a small machine that does other things as well is not at its limit
	// stormBack is the share of the rate before that must be back: a test shares its machine, and 90 % is for bench storm to
	// judge.
	stormBack = 0.5
)

// storm is one lane under a fault.
type storm struct {
	*rig
	lane   evenkeel.Lane
	calls  atomic.Uint64
	load   *load
	before float64 // calls per second without the fault
}

// startStorms sets both lanes going, each a client of its own on the same server, and waits until they are at full rate.
func startStorms(t *testing.T, server *evenkeeltest.Server) []*storm {
	t.Helper()
	var storms []*storm
	for _, lane := range []evenkeel.Lane{evenkeel.LaneExclusive, evenkeel.LaneShared} {
		s := &storm{lane: lane}
		s.rig = newRig(t, server.Addr(), func(cfg *evenkeel.Config) {
			cfg.Size, cfg.Overflow, cfg.MaxBlocking = stormSize, 0, 0
			cfg.MaxConns = cfg.SharedConns + 1 + cfg.Size
			if lane == evenkeel.LaneExclusive {
				cfg.MinIdleConns = cfg.Size // all of them, at whatever rate this machine can call
			}
		})
		s.load = startLoad(t, stormCallers, stormTimeout, stormPause, s.call)
		storms = append(storms, s)
	}
	for _, s := range storms {
		eventually(t, 30*time.Second, "the load is under way", func() bool {
			return s.load.ok.Load() > 5*stormCallers && (s.lane == evenkeel.LaneShared || s.Stats().Exclusive.Open == stormSize)
		})
	}
	for _, s := range storms {
		s.before = s.load.rate(t, 250*time.Millisecond)
		if most, _, _ := s.dials.reset(); most > 2 {
			t.Errorf("%v lane: %d dials under way at the start", s.lane, most)
		}
	}
	return storms
}

// call is an ECHO of what only this call sent.
func (s *storm) call(ctx context.Context, i int) error {
	token := strconv.Itoa(i) + " " + strconv.FormatUint(s.calls.Add(1), 10)
	do := s.Do
	if s.lane == evenkeel.LaneExclusive {
		do = s.DoExclusive
	}
	got, err := do(ctx, "ECHO", token).Text()
	if err == nil && got != token {
		return errWrongReply
	}
	return err
}

// recovered waits until the rate is back.
func (s *storm) recovered(t *testing.T, limit time.Duration) {
	t.Helper()
	const window = 2 * stormPause
	start := time.Now()
	for s.load.rate(t, window) < stormBack*s.before {
		if time.Since(start) > 8*limit+2*window { // bench storm holds the client to the limit itself
			t.Errorf("%v lane: of %.0f calls per second the share of %v is not back within %v", s.lane, s.before, stormBack, limit)
			return
		}
	}
}

// endStorms stops the load, and judges what holds whatever the fault was.
func endStorms(t *testing.T, storms []*storm, y *yardstick, goroutines int) {
	t.Helper()
	allowed := y.allowance()
	for _, s := range storms {
		s.load.stop()
		if p999, latest := s.load.lateness(); p999 > allowed {
			t.Errorf("%v lane: calls returned %v past their deadline at p99.9, %v at most; this machine allows for %v", s.lane, p999, latest, allowed)
		}
		if n := s.load.wrongReplies(); n > 0 {
			t.Errorf("%v lane: %d calls got another call's reply", s.lane, n)
		}
		st := s.relay.Stats()
		if limit := s.Stats().MaxConns; st.OpenMax > limit {
			t.Errorf("%v lane: %d conns open at once, MaxConns is %d", s.lane, st.OpenMax, limit)
		}
		s.shut(t)
	}
	backToBaseline(t, goroutines)
}

// TestStormSilence: a server that holds its replies, or whose process is frozen, is probed by one dial; when it is back it is
// met by no burst, for its conns are still there.
func TestStormSilence(t *testing.T) {
	const length = 3 * time.Second // longer than StallTimeout, so that there is a probe
	for name, fault := range map[string]func(*testing.T, *evenkeeltest.Server){
		"pause": func(t *testing.T, server *evenkeeltest.Server) {
			t.Helper()
			if _, err := server.Do(t.Context(), "CLIENT", "PAUSE", strconv.FormatInt(length.Milliseconds(), 10), "ALL"); err != nil {
				t.Error(err)
			}
			if _, err := server.Do(t.Context(), "PING"); err != nil { // held as well: the reply comes when the pause is over
				t.Error(err)
			}
		},
		"stop": func(t *testing.T, server *evenkeeltest.Server) {
			t.Helper()
			freeze(t, server, length)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := evenkeeltest.StartServer(t)
			goroutines := countGoroutines()
			storms := startStorms(t, server)
			y := startYardstick()
			begin := time.Now()
			fault(t, server)
			end := time.Now()
			for _, s := range storms {
				s.recovered(t, time.Second)
			}
			pass(700 * time.Millisecond) // for a burst to show
			for _, s := range storms {
				if n := s.accepted(begin, end); n > 1 {
					t.Errorf("%v lane: %d dials while the server was silent, want the probe alone", s.lane, n)
				}
				if n := s.accepted(end, time.Now()); n > 2 {
					t.Errorf("%v lane: a burst of %d dials after it", s.lane, n)
				}
				if most, _, _ := s.dials.reset(); most > 2 {
					t.Errorf("%v lane: %d dials under way at once", s.lane, most)
				}
			}
			endStorms(t, storms, y, goroutines)
		})
	}
}

// TestStormKill: when all conns are killed, at most two dials at a time replace them.
func TestStormKill(t *testing.T) {
	server := evenkeeltest.StartServer(t)
	goroutines := countGoroutines()
	storms := startStorms(t, server)
	y := startYardstick()
	begin := time.Now()
	if _, err := server.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal"); err != nil {
		t.Fatal(err)
	}
	for _, s := range storms {
		s.recovered(t, 2*time.Second) // up to one of which conns beyond the first are held back, to spread a fleet
	}
	for _, s := range storms {
		if most, _, _ := s.dials.reset(); most > 2 {
			t.Errorf("%v lane: %d dials under way at once", s.lane, most)
		}
		if n := s.accepted(begin, time.Now()); n == 0 || n > s.Stats().MaxConns {
			t.Errorf("%v lane: %d dials after the kill", s.lane, n)
		}
	}
	endStorms(t, storms, y, goroutines)
}

// TestStormRefused: a server that is gone is tried by one dial at a time, further and further apart, and callers are told at
// once.
func TestStormRefused(t *testing.T) {
	server := evenkeeltest.StartServer(t)
	goroutines := countGoroutines()
	storms := startStorms(t, server)
	y := startYardstick()
	for _, s := range storms {
		if err := s.relay.Refuse(); err != nil {
			t.Fatal(err)
		}
		s.relay.ResetAll()
	}
	for _, s := range storms {
		eventually(t, 5*time.Second, "the endpoint is known to be down", func() bool { return s.Stats().Endpoint.Failing && s.relay.Stats().Open == 0 })
		s.dials.reset()
		start := time.Now()
		err := s.call(t.Context(), 0)
		// A conn that was reset while idle is found dead by whoever takes it: at most as many calls as there were conns.
		for tries := s.Stats().MaxConns; !errors.Is(err, evenkeel.ErrEndpointDown) && tries > 0; tries-- {
			start = time.Now()
			err = s.call(t.Context(), 0)
		}
		var acquire *evenkeel.Error
		if !errors.Is(err, evenkeel.ErrEndpointDown) || !errors.As(err, &acquire) || acquire.MayHaveRun {
			t.Errorf("%v lane: while the server refuses: %v", s.lane, err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("%v lane: told after %v", s.lane, took)
		}
	}
	pass(time.Second)
	for _, s := range storms {
		dials := s.dials.moments()
		most, started, refused := s.dials.reset()
		// 100 ms to 300 ms until the second, and at least as long before each further one; 2 s is more than has passed.
		if most > 1 || started < 1 || started > 10 || refused < started-1 {
			t.Errorf("%v lane: %d dials, %d refused, %d under way at once", s.lane, started, refused, most)
		}
		for i := 1; i < len(dials); i++ {
			if gap := dials[i].Sub(dials[i-1]); gap < 90*time.Millisecond {
				t.Errorf("%v lane: dials %d and %d are %v apart", s.lane, i, i+1, gap)
			}
		}
		if err := s.relay.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range storms {
		s.recovered(t, 8*time.Second) // the backoff: up to three times the outage, and the hold-back after it
		if most, _, _ := s.dials.reset(); most > 2 {
			t.Errorf("%v lane: %d dials under way at once", s.lane, most)
		}
	}
	endStorms(t, storms, y, goroutines)
}

// TestNothingIsShed: more callers than conns is normal use (F24, F66), and nobody is turned away.
func TestNothingIsShed(t *testing.T) {
	t.Parallel()
	server := evenkeeltest.StartServer(t)
	for _, test := range []struct{ callers, size int }{{200, 20}, {250, 10}} {
		t.Run(fmt.Sprintf("%d on %d", test.callers, test.size), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) {
				cfg.Size, cfg.Overflow, cfg.MaxBlocking = test.size, 0, 0
				cfg.MaxConns = cfg.SharedConns + 1 + cfg.Size
			})
			const calls = 40
			done := make(chan error, test.callers)
			for range test.callers {
				go func() {
					for range calls {
						if err := r.DoExclusive(t.Context(), "PING").Err(); err != nil {
							done <- err
							return
						}
					}
					done <- nil
				}()
			}
			for range test.callers {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			st := r.Stats().Exclusive
			if st.Shed+st.Rejected+st.Timeouts+st.Refused+st.Canceled != 0 {
				t.Errorf("turned away: %+v", st)
			}
			if got := r.relay.Stats().Accepted; got > test.size {
				t.Errorf("%d conns for a lane of %d", got, test.size)
			}
		})
	}
}
