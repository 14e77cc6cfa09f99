package evenkeel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// fillKeys sets k0 … to their own names.
func fillKeys(t *testing.T, server *evenkeeltest.Server, n int) {
	t.Helper()
	args := []string{"MSET"}
	for i := range n {
		args = append(args, "k"+strconv.Itoa(i), "k"+strconv.Itoa(i))
	}
	if _, err := server.Do(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
}

// ownValue says whether a GET of key came back with what belongs to key.
func ownValue(key string, r evenkeel.Reply) error {
	got, err := r.Text()
	if err == nil && got != key {
		return fmt.Errorf("%w: %s got %q", errWrongReply, key, got)
	}
	return err
}

// TestA1_CancelInMidFlight: callers leave at any moment of a call, and nobody ever gets a reply that was theirs.
func TestA1_CancelInMidFlight(t *testing.T) {
	t.Parallel()
	const (
		keys   = 200
		delay  = 20 * time.Millisecond
		length = 2500 * time.Millisecond
	)
	server := evenkeeltest.StartServer(t)
	fillKeys(t, server, keys)
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, mode := range []struct {
		name string
		size int
	}{{"pool of 1", 1}, {"pool of 4", 4}, {"shared", 2}} {
		r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) {
			cfg.Size, cfg.Overflow, cfg.MaxBlocking = mode.size, 0, 2
			cfg.MaxConnLifetime = 300 * time.Millisecond // so that callers leave during set-up again and again
		})
		r.relay.Delay(evenkeeltest.ToClient, delay)
		do := r.DoExclusive
		if mode.name == "shared" {
			do = r.Do
		}
		plain := startLoad(t, 12, 10*time.Second, time.Millisecond, func(ctx context.Context, _ int) error {
			key := "k" + strconv.Itoa(rand.IntN(keys))
			return ownValue(key, do(ctx, "GET", key))
		})
		leavers := startLoad(t, 48, 10*time.Second, time.Millisecond, func(ctx context.Context, i int) error {
			return leave(ctx, r, do, i, keys, delay+delay/5)
		})
		wg.Go(func() {
			pass(length)
			leavers.stop()
			plain.stop()
			for name, l := range map[string]*load{"plain": plain, "leaving": leavers} {
				if n := l.wrongReplies(); n > 0 {
					t.Errorf("%s: %d %s calls got another call's reply", mode.name, n, name)
				}
			}
			if plain.ok.Load() == 0 || plain.failed.Load() > 0 {
				t.Errorf("%s: %d plain calls succeeded, %d failed: %v", mode.name, plain.ok.Load(), plain.failed.Load(), plain.errors)
			}
			if leavers.failed.Load() > 0 {
				t.Errorf("%s: %v", mode.name, leavers.errors)
			}
			eventually(t, 2*time.Second, mode.name+": every conn given back", r.idle)
			if st := r.Stats().Exclusive; st.Open > mode.size {
				t.Errorf("%s: %d conns at the end", mode.name, st.Open)
			}
			if most := r.relay.Stats().OpenMax; most > r.Stats().MaxConns {
				t.Errorf("%s: %d conns open at once", mode.name, most)
			}
		})
	}
}

// leave makes a call whose context is cancelled at a random moment up to most. It returns an error when that went wrong.
func leave(ctx context.Context, r *rig, do func(context.Context, ...any) evenkeel.Reply, i, keys int, most time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var canceled atomic.Int64
	t := time.AfterFunc(rand.N(most), func() {
		canceled.Store(time.Now().UnixNano())
		cancel()
	})
	defer t.Stop()
	a, b := "k"+strconv.Itoa(rand.IntN(keys)), "k"+strconv.Itoa(rand.IntN(keys))
	var err error
	switch i % 4 {
	case 0:
		err = ownValue(a, do(ctx, "GET", a))
	case 1:
		p := r.Pipeline()
		p.Do("GET", a)
		p.Do("GET", b)
		var replies []evenkeel.Reply
		if replies, err = p.Exec(ctx); err == nil {
			err = errors.Join(ownValue(a, replies[0]), ownValue(b, replies[1]))
		}
	case 2:
		err = r.WithConn(ctx, func(c *evenkeel.Conn) error {
			for _, args := range [][]any{{"WATCH", a}, {"MULTI"}, {"GET", a}} {
				if err := c.Do(ctx, args...).Err(); err != nil {
					return err
				}
			}
			results, err := c.Do(ctx, "EXEC").Slice()
			if err != nil {
				return err
			}
			return ownValue(a, results[0])
		})
	default:
		err = r.Do(ctx, "BLPOP", "nothing", 0).Err()
	}
	if at := canceled.Load(); at != 0 && ctx.Err() != nil {
		if late := time.Since(time.Unix(0, at)); late > 500*time.Millisecond { // 50 ms, on a machine with nothing else to do
			return fmt.Errorf("returned %v after its cancel", late)
		}
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// TestA3_OneReplyNeverComes: on a shared conn from which no more replies come nobody waits for longer than its own deadline,
// and the conn is replaced.
func TestA3_OneReplyNeverComes(t *testing.T) {
	t.Parallel()
	const (
		stall   = 2 * time.Second
		timeout = time.Second
		marker  = "the-reply-to-drop"
	)
	server := evenkeeltest.StartServer(t)
	fillKeys(t, server, 50)
	if _, err := server.Do(t.Context(), "SET", "drop-me", marker); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) {
		cfg.SharedConns = 1
		cfg.StallTimeout = stall
	})
	r.relay.Filter(func(_ *evenkeeltest.Flow, d evenkeeltest.Direction, p []byte) ([]byte, evenkeeltest.Verdict) {
		if at := strings.Index(string(p), "$"+strconv.Itoa(len(marker))+"\r\n"+marker); d == evenkeeltest.ToClient && at >= 0 {
			return p[:at], evenkeeltest.PassThenSilence
		}
		return p, evenkeeltest.Pass
	})
	var lastFailure atomic.Int64
	others := startLoad(t, 50, timeout, 5*time.Millisecond, func(ctx context.Context, i int) error {
		key := "k" + strconv.Itoa(i)
		err := ownValue(key, r.Do(ctx, "GET", key))
		if err != nil {
			lastFailure.Store(time.Now().UnixNano())
		}
		return err
	})
	eventually(t, 5*time.Second, "the load is under way", func() bool { return others.ok.Load() > 500 })

	fault := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	err := r.Do(ctx, "GET", "drop-me").Err()
	if took := time.Since(fault); !errors.Is(err, context.DeadlineExceeded) || took < timeout || took > timeout+500*time.Millisecond {
		t.Errorf("the call whose reply was lost: %v after %v", err, took)
	}
	eventually(t, stall+3*time.Second, "a second conn is in use", func() bool { return r.relay.Stats().Accepted >= 2 })
	pass(stall + time.Second - time.Since(fault))
	healthy := time.Now()
	pass(time.Second)
	others.stop()
	if at := time.Unix(0, lastFailure.Load()); at.After(healthy) {
		t.Errorf("a call failed as late as %v after the fault", at.Sub(fault))
	}
	if n := others.wrongReplies(); n > 0 {
		t.Errorf("%d calls got another call's reply", n)
	}
	if st := r.Stats(); st.Stalls != 1 || st.Shared.Open != 1 {
		t.Errorf("%d stalls, %d conns at the end", st.Stalls, st.Shared.Open)
	}
}

// TestA5_ErrorInTheMiddleOfAPipeline: whatever the caller does with some of the replies, the others are not left for the next one.
func TestA5_ErrorInTheMiddleOfAPipeline(t *testing.T) {
	server := evenkeeltest.StartServer(t)
	fillKeys(t, server, 10)
	r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) { cfg.Size, cfg.Overflow = 1, 0 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	fill := func(p *evenkeel.Pipeline) {
		for i := range 10 {
			p.Do("GET", "k"+strconv.Itoa(i))
		}
	}
	check := func(name string) {
		for i := range 100 {
			token := name + strconv.Itoa(i)
			for lane, do := range map[string]func(context.Context, ...any) evenkeel.Reply{"exclusive": r.DoExclusive, "shared": r.Do} {
				start := time.Now()
				if got, err := do(ctx, "ECHO", token).Text(); err != nil || got != token {
					t.Fatalf("%s: ECHO %d on the %s lane: %q, %v", name, i, lane, got, err)
				}
				if took := time.Since(start); took > time.Second {
					t.Errorf("%s: ECHO %d on the %s lane took %v", name, i, lane, took)
				}
			}
		}
		if !r.idle() {
			t.Errorf("%s: a conn was not given back", name)
		}
	}

	t.Run("undecodable", func(t *testing.T) {
		p := r.Pipeline()
		fill(p)
		replies, err := p.Exec(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i, reply := range replies {
			if i == 3 {
				var convert *evenkeel.ConversionError
				if _, err := reply.Int(); !errors.As(err, &convert) {
					t.Errorf("k3 as an integer: %v", err)
				}
				continue
			}
			if err := ownValue("k"+strconv.Itoa(i), reply); err != nil {
				t.Error(err)
			}
		}
		check("undecodable")
	})
	t.Run("panic", func(t *testing.T) {
		for _, begin := range []string{"", "WATCH", "MULTI"} {
			func() {
				defer func() {
					if got := recover(); got != "the caller's own" {
						t.Errorf("%s: recovered %v", begin, got)
					}
				}()
				_ = r.WithConn(ctx, func(c *evenkeel.Conn) error {
					switch begin {
					case "WATCH":
						_ = c.Do(ctx, "WATCH", "k0")
					case "MULTI":
						_ = c.Do(ctx, "MULTI")
					}
					p := c.Pipeline()
					fill(p)
					replies, err := p.Exec(ctx)
					if err != nil {
						return err
					}
					for i := range replies {
						if i == 3 {
							panic("the caller's own")
						}
					}
					return nil
				})
				t.Errorf("%s: the panic did not reach the caller", begin)
			}()
			check("panic after " + begin)
		}
	})
	t.Run("stops reading", func(t *testing.T) {
		err := r.WithConn(ctx, func(c *evenkeel.Conn) error {
			p := c.Pipeline()
			fill(p)
			replies, err := p.Exec(ctx)
			if err != nil {
				return err
			}
			return ownValue("k0", replies[0])
		})
		if err != nil {
			t.Error(err)
		}
		check("stopped")
	})
}
