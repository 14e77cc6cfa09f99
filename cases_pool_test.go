package evenkeel_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// blocked is how many clients wait on the server.
func blocked(t *testing.T, server *evenkeeltest.Server) int64 {
	t.Helper()
	n, err := server.InfoInt(context.WithoutCancel(t.Context()), "clients", "blocked_clients")
	if err != nil {
		t.Error(err)
	}
	return n
}

// TestD1_CancelledBlockingCall: fifty rounds of whatever might keep a conn, on a pool of two.
func TestD1_CancelledBlockingCall(t *testing.T) {
	const rounds = 50
	server := evenkeeltest.StartServer(t)
	r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) {
		cfg.Size, cfg.Overflow, cfg.MaxBlocking = 2, 0, 2
	})
	for name, round := range map[string]func(t *testing.T){
		"blocking call": func(t *testing.T) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- r.Do(ctx, "BLPOP", "q", 0).Err() }()
			eventually(t, 5*time.Second, "the server has it", func() bool { return blocked(t, server) > 0 })
			start := time.Now()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("BLPOP: %v", err)
			}
			if took := time.Since(start); took > time.Second { // 200 ms, on a machine with nothing else to do
				t.Errorf("returned %v after the cancel", took)
			}
			eventually(t, time.Second, "the server counts no blocked client", func() bool { return blocked(t, server) == 0 })
		},
		"cancel before the clean-up": func(t *testing.T) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			err := r.WithConn(ctx, func(c *evenkeel.Conn) error {
				if err := c.Do(ctx, "WATCH", "k").Err(); err != nil {
					return err
				}
				cancel() // UNWATCH is still owed
				return c.Do(ctx, "GET", "k").Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("WithConn: %v", err)
			}
		},
		"panic in a transaction": func(t *testing.T) {
			t.Helper()
			defer func() {
				if recover() == nil {
					t.Error("the panic did not reach the caller")
				}
			}()
			_ = r.WithConn(t.Context(), func(c *evenkeel.Conn) error {
				if err := c.Do(t.Context(), "MULTI").Err(); err != nil {
					return err
				}
				panic("the caller's own")
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range rounds {
				round(t)
			}
			eventually(t, time.Second, "all conns are given back", r.idle)
			start := time.Now()
			if err := r.DoExclusive(t.Context(), "GET", "k").Err(); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > 500*time.Millisecond {
				t.Errorf("a GET afterwards took %v", took)
			}
			if st := r.Stats(); st.Exclusive.Open > 2 || st.Blocking.Open > 2 {
				t.Errorf("%d exclusive and %d blocking conns", st.Exclusive.Open, st.Blocking.Open)
			}
		})
	}
}

// TestD2_RunOfFailedDials: a run of failures leaves the pool able to try.
func TestD2_RunOfFailedDials(t *testing.T) {
	t.Parallel()
	server := evenkeeltest.StartServer(t)
	r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) {
		cfg.Size, cfg.Overflow, cfg.MaxBlocking = 2, 0, 0
	})
	if err := r.relay.Refuse(); err != nil {
		t.Fatal(err)
	}
	var ok atomic.Bool
	call := func() time.Duration {
		start := time.Now()
		if err := r.DoExclusive(t.Context(), "PING").Err(); err == nil {
			ok.Store(true)
		} else if !errors.Is(err, evenkeel.ErrEndpointDown) {
			t.Errorf("while it is down: %v", err)
		}
		return time.Since(start)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	down := time.Now()
	for n := 0; n < 10 || time.Since(down) < time.Second; n++ {
		if took := call(); took > 500*time.Millisecond {
			t.Errorf("a call while it is down took %v", took)
		}
		<-tick.C
	}
	moments := r.dials.moments()
	if len(moments) < 2 {
		t.Fatalf("%d dials in %v of outage", len(moments), time.Since(down))
	}
	for i := 1; i < len(moments); i++ {
		if gap := moments[i].Sub(moments[i-1]); gap > 1500*time.Millisecond || gap < 90*time.Millisecond {
			t.Errorf("dials %d and %d are %v apart", i, i+1, gap)
		}
	}
	if err := r.relay.Accept(); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	for !ok.Load() && time.Since(back) < 5*time.Second {
		call()
		<-tick.C
	}
	if took := time.Since(back); took > 1300*time.Millisecond { // a second of backoff at most, and a busy machine
		t.Errorf("the first call succeeded %v after the server was back", took)
	}
}

// TestD4_CloseWithWorkInFlight: Close ends everything within its bound, once or twice.
func TestD4_CloseWithWorkInFlight(t *testing.T) {
	for name, bound := range map[string]time.Duration{"drains": 2 * time.Second, "is out of patience": 100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			server := evenkeeltest.StartServer(t)
			before := countGoroutines()
			r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) { cfg.ClientName = "d4" })
			var (
				wg      sync.WaitGroup
				started sync.WaitGroup
				unknown atomic.Int64
			)
			work := func(i int) error {
				switch i % 5 {
				case 0:
					return r.Do(t.Context(), "GET", "k").Err()
				case 1:
					return r.DoExclusive(t.Context(), "INCR", "n").Err()
				case 2:
					return r.Do(t.Context(), "BLPOP", "q", 0).Err()
				case 3:
					p := r.Pipeline()
					for range 20 {
						p.Do("PING")
					}
					_, err := p.Exec(t.Context())
					return err
				default:
					return r.WithConn(t.Context(), func(c *evenkeel.Conn) error { return c.Do(t.Context(), "GET", "k").Err() })
				}
			}
			for i := range 100 {
				started.Add(1)
				wg.Go(func() {
					started.Done()
					for {
						if err := work(i); err != nil {
							if !errors.Is(err, evenkeel.ErrClosed) && !errors.Is(err, net.ErrClosed) {
								unknown.Add(1)
								t.Errorf("caller %d: %v", i, err)
							}
							return
						}
					}
				})
			}
			started.Wait()
			eventually(t, 5*time.Second, "workers wait on the server", func() bool { return blocked(t, server) >= 10 })
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			defer cancel()
			start := time.Now()
			var closers sync.WaitGroup
			for range 2 {
				closers.Go(func() {
					if err := r.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("Close: %v", err)
					}
				})
			}
			closers.Wait()
			if took := time.Since(start); took > bound+time.Second {
				t.Errorf("Close took %v", took)
			}
			wg.Wait()
			start = time.Now()
			for _, err := range []error{r.Do(t.Context(), "PING").Err(), r.DoExclusive(t.Context(), "PING").Err(), work(2), work(3), work(4)} {
				if !errors.Is(err, evenkeel.ErrClosed) {
					t.Errorf("a call after Close: %v", err)
				}
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("calls after Close took %v", took)
			}
			if st := r.Stats(); st.Shared.Open+st.Exclusive.Open+st.Blocking.Open+st.Conns != 0 {
				t.Errorf("counters after Close: %+v", st)
			}
			eventually(t, 2*time.Second, "the server has none of our conns", func() bool {
				n, err := server.InfoInt(t.Context(), "clients", "connected_clients")
				return err == nil && n == 1
			})
			r.shut(t)
			backToBaseline(t, before)
		})
	}
}
