package evenkeel_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/internal/simnet"
	"github.com/evenkeel-go/evenkeel/pool"
)

// virtual is a client and its server in virtual time.
type virtual struct {
	*testing.T
	network *simnet.Network
	fake    *evenkeeltest.Fake
	client  *evenkeel.Client
}

// inVirtual runs f with a client in virtual time, and closes it.
func inVirtual(t *testing.T, tune func(*evenkeel.Config), f func(*virtual)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network, fake, cfg := newVirtual(t, "server:6379")
		if tune != nil {
			tune(&cfg)
		}
		client, err := evenkeel.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		f(&virtual{t, network, fake, client})
		_ = client.Close(t.Context()) // it may have to cut
	})
}

// TestCommandTimeoutBoundsTheWholeCall: what a call has waited for a conn is not given to it again for its reply.
func TestCommandTimeoutBoundsTheWholeCall(t *testing.T) {
	const limit = time.Second
	for name, call := range map[string]func(context.Context, *evenkeel.Client) error{
		"exclusive": func(ctx context.Context, c *evenkeel.Client) error { return c.DoExclusive(ctx, "GET", "k").Err() },
		"transaction": func(ctx context.Context, c *evenkeel.Client) error {
			p := c.Pipeline()
			p.Do("MULTI")
			p.Do("GET", "k")
			p.Do("EXEC")
			_, err := p.Exec(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtual(t, func(cfg *evenkeel.Config) {
				cfg.Size, cfg.Overflow, cfg.CommandTimeout = 1, 0, limit
			}, func(t *virtual) {
				held, leave := make(chan struct{}), make(chan struct{})
				var wg sync.WaitGroup
				wg.Go(func() {
					_ = t.client.WithConn(t.Context(), func(*evenkeel.Conn) error { close(held); <-leave; return nil })
				})
				<-held
				time.AfterFunc(limit*9/10, func() { t.fake.Pause(); close(leave) })
				start := time.Now()
				err := call(context.Background(), t.client)
				if took := time.Since(start); !errors.Is(err, evenkeel.ErrTimeout) || !evenkeel.MayHaveRun(err) || took > limit+time.Millisecond {
					t.Errorf("%v after %v, want ErrTimeout of a command that was sent, after %v", err, took, limit)
				}
				t.fake.Resume()
				wg.Wait()
			})
		})
	}
}

// TestCommandTimeoutWithoutAConn: the error is the same on every lane, and holds the lane's state.
func TestCommandTimeoutWithoutAConn(t *testing.T) {
	const limit = time.Second
	inVirtual(t, func(cfg *evenkeel.Config) {
		cfg.CommandTimeout = limit
	}, func(t *virtual) {
		t.network.SetDialFault(simnet.BlackholeDials)
		for name, call := range map[string]func(context.Context, ...any) evenkeel.Reply{"shared": t.client.Do, "exclusive": t.client.DoExclusive} {
			start := time.Now()
			err := call(t.Context(), "GET", "k").Err()
			var e *evenkeel.Error
			if !errors.As(err, &e) || !errors.Is(err, evenkeel.ErrTimeout) || !errors.Is(err, evenkeel.ErrAcquireTimeout) || !errors.Is(err, context.DeadlineExceeded) ||
				e.Pool == nil || e.MayHaveRun || time.Since(start) > limit+time.Millisecond {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
		}
	})
}

// TestConnWithFullQueueIsNotReused: a conn whose queue has no room for the command that would clean it is closed: the next lease
// must not find itself in the last one's transaction.
func TestConnWithFullQueueIsNotReused(t *testing.T) {
	large := strings.Repeat("v", 20<<20)
	inVirtual(t, func(cfg *evenkeel.Config) {
		cfg.Size, cfg.Overflow = 1, 0
	}, func(t *virtual) {
		err := t.client.WithConn(t.Context(), func(c *evenkeel.Conn) error {
			if err := c.Do(t.Context(), "MULTI").Err(); err != nil {
				return err
			}
			t.network.Freeze(simnet.ToServer)
			for range 2 { // one is being written, the other waits
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				if err := c.Do(ctx, "SET", "k", large).Err(); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("while the server does not read: %v", err)
				}
				cancel()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.network.Thaw(simnet.ToServer)
		if got, err := t.client.DoExclusive(t.Context(), "ECHO", "mine").Text(); err != nil || got != "mine" {
			t.Errorf("the next lease got %q, %v", got, err)
		}
		if n := t.client.Stats().Exclusive.Closed(pool.ReasonState); n != 1 {
			t.Errorf("%d conns closed for the state they were in, want 1", n)
		}
	})
}

// TestKeptConnIsRefused: whatever is kept beyond WithConn reaches nobody else's conn.
func TestKeptConnIsRefused(t *testing.T) {
	inVirtual(t, func(cfg *evenkeel.Config) {
		cfg.Size, cfg.Overflow = 1, 0
	}, func(t *virtual) {
		var (
			kept     *evenkeel.Conn
			pipeline *evenkeel.Pipeline
		)
		if err := t.client.WithConn(t.Context(), func(c *evenkeel.Conn) error {
			kept, pipeline = c, c.Pipeline()
			pipeline.Do("INCR", "n")
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		_, execErr := pipeline.Exec(t.Context())
		for name, err := range map[string]error{"Do": kept.Do(t.Context(), "INCR", "n").Err(), "Exec": execErr, "Close": kept.Close()} {
			if !errors.Is(err, evenkeel.ErrUsage) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := t.fake.Count("INCR"); n > 0 {
			t.Errorf("%d commands were sent on a conn that was given back", n)
		}
		if st := t.client.Stats().Exclusive; st.Open != 1 || st.Opened != 1 {
			t.Errorf("%d conns open of %d ever opened, want the one", st.Open, st.Opened)
		}
	})
}

// TestAbandonedBlockingCommandIsNoFault: a server that does not say which conn is which leaves nothing but to close the conn of a
// blocking command whose caller has left. That says nothing about the server.
func TestAbandonedBlockingCommandIsNoFault(t *testing.T) {
	inVirtual(t, func(cfg *evenkeel.Config) {
		cfg.Protocol = 2
	}, func(t *virtual) {
		t.fake.Handle("CLIENT", func(*evenkeeltest.Request) evenkeeltest.Reply { return evenkeeltest.Err("ERR unknown command") })
		const n = 5
		for range n {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			if err := t.client.Do(ctx, "BLPOP", "q", 0).Err(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("BLPOP: %v", err)
			}
			cancel()
			synctest.Wait()
		}
		st := t.client.Stats()
		if got := st.Blocking.Closed(pool.ReasonCanceled); got != n {
			t.Errorf("%d conns closed because their callers had left, want %d; in all %d", got, n, st.Blocking.ClosedTotal())
		}
		if st.Endpoint.Failing {
			t.Error("the endpoint counts as failing")
		}
	})
}

// TestSharedConnIsReplacedBeforeItGoes: a conn that is too old serves until its successor is there, and for as long as there is none.
func TestSharedConnIsReplacedBeforeItGoes(t *testing.T) {
	const life = time.Minute
	inVirtual(t, func(cfg *evenkeel.Config) {
		cfg.MaxConnLifetime = life
	}, func(t *virtual) {
		ask := func(span time.Duration) {
			t.Helper()
			for begin := time.Now(); time.Since(begin) < span; time.Sleep(time.Second) {
				start := time.Now()
				if err := t.client.Ping(t.Context()); err != nil || time.Since(start) > time.Millisecond {
					t.Fatalf("%v after %v", err, time.Since(start))
				}
			}
		}
		ask(time.Second)
		t.network.SetDialFault(simnet.RefuseDials)
		ask(2 * life)
		t.network.SetDialFault(simnet.NoDialFault)
		ask(life)
		if n := t.client.Stats().Shared.Closed(pool.ReasonLifetime); n == 0 {
			t.Error("no conn was ever replaced")
		}
	})
}

// TestProbeGetsItsPlace: a conn that has been replaced and still owes a reply, and its successor, stall at once when the flows of
// that moment go silent. They take all places of the lane, and new conns work: the probe must get one of them.
func TestProbeGetsItsPlace(t *testing.T) {
	const life = time.Minute
	inVirtual(t, func(cfg *evenkeel.Config) {
		cfg.SharedConns, cfg.MaxConnLifetime, cfg.PingInterval = 1, life, 100*time.Millisecond
	}, func(t *virtual) {
		// Slow, and no stall: at any time some replies are owed, also when the conn is replaced.
		t.fake.Handle("GET", func(*evenkeeltest.Request) evenkeeltest.Reply {
			return evenkeeltest.Bulk("v").After(1500 * time.Millisecond)
		})
		for t.client.Stats().Shared.Opened < 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_ = t.client.Do(ctx, "GET", "k").Err()
			cancel()
		}
		for _, link := range t.network.Links() {
			link.Drop(simnet.ToClient)
		}
		time.Sleep(20 * time.Second)
		if err := t.client.Ping(t.Context()); err != nil {
			st := t.client.Stats()
			t.Errorf("long after: %v; %d of %d open, %d probes, %d dials", err, st.Shared.InUse, st.Shared.Max, st.Probes, st.Endpoint.Dials)
		}
	})
}

// TestRepeatKeepsTheCause: a read that is repeated and then finds no conn says what broke the first one.
func TestRepeatKeepsTheCause(t *testing.T) {
	inVirtual(t, nil, func(t *virtual) {
		t.fake.Handle("GET", func(*evenkeeltest.Request) evenkeeltest.Reply {
			return evenkeeltest.Raw("HTTP/1.1 400 Bad Request\r\n\r\n")
		})
		for name, call := range map[string]func(context.Context, ...any) evenkeel.Reply{"shared": t.client.Do, "exclusive": t.client.DoExclusive} {
			for range 3 {
				if err := call(t.Context(), "GET", "k").Err(); err == nil || !strings.Contains(err.Error(), "HTTP") {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}

// TestConnClosedSaysWhy: the hook learns the error, not only that there was one.
func TestConnClosedSaysWhy(t *testing.T) {
	events := make(chan evenkeel.ConnEvent, 16)
	inVirtual(t, func(cfg *evenkeel.Config) {
		cfg.Hooks.OnConn = func(e evenkeel.ConnEvent) { events <- e }
	}, func(t *virtual) {
		if err := t.client.DoExclusive(t.Context(), "PING").Err(); err != nil {
			t.Fatal(err)
		}
		t.fake.ResetConns()
		time.Sleep(10 * time.Second) // until a ping or a check sees it
		for {
			select {
			case e := <-events:
				if e.Kind == evenkeel.ConnClosed {
					if e.Err == nil || e.Elapsed <= 0 {
						t.Errorf("closed with reason %v, error %v, after %v", e.Reason, e.Err, e.Elapsed)
					}
					return
				}
			default:
				t.Fatal("no conn was closed")
			}
		}
	})
}
