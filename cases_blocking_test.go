package evenkeel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// TestE1_BlockingLongerThanTheTimeout: every command that waits on the server waits as long as it says, whatever the timeout
// of the others, and nobody waits behind it. {} stands for a name of the row's own.
func TestE1_BlockingLongerThanTheTimeout(t *testing.T) {
	t.Parallel()
	const (
		commandTimeout = 300 * time.Millisecond
		wait           = time.Second // on the server, longer than that
	)
	server := evenkeeltest.StartServer(t)
	r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) {
		cfg.CommandTimeout, cfg.StallTimeout = commandTimeout, commandTimeout
	})
	rows := []struct {
		command string // waits for a second
		forever string // the same, for ever; empty if there is no such thing
		setup   string
		push    string // wakes it up
	}{
		{"BLPOP {} 1", "BLPOP {} 0", "", "RPUSH {} x"},
		{"BRPOP {} 1", "BRPOP {} 0", "", "RPUSH {} x"},
		{"BLMPOP 1 1 {} LEFT", "BLMPOP 0 1 {} LEFT", "", "RPUSH {} x"},
		{"BLMOVE {} {}2 LEFT RIGHT 1", "BLMOVE {} {}2 LEFT RIGHT 0", "", "RPUSH {} x"},
		{"BRPOPLPUSH {} {}2 1", "BRPOPLPUSH {} {}2 0", "", "RPUSH {} x"},
		{"BZPOPMIN {} 1", "BZPOPMIN {} 0", "", "ZADD {} 1 x"},
		{"BZPOPMAX {} 1", "BZPOPMAX {} 0", "", "ZADD {} 1 x"},
		{"BZMPOP 1 1 {} MIN", "BZMPOP 0 1 {} MIN", "", "ZADD {} 1 x"},
		{"XREAD BLOCK 1000 STREAMS {} $", "XREAD BLOCK 0 STREAMS {} $", "", "XADD {} * f v"},
		{"XREADGROUP GROUP g c BLOCK 1000 STREAMS {} >", "XREADGROUP GROUP g c BLOCK 0 STREAMS {} >", "XGROUP CREATE {} g $ MKSTREAM", "XADD {} * f v"},
		{"WAIT 1 1000", "", "", ""},
	}
	others := startLoad(t, 10, 5*time.Second, 100*time.Millisecond, func(ctx context.Context, _ int) error { return r.Do(ctx, "GET", "k").Err() })
	y := startYardstick()
	var wg sync.WaitGroup
	for i, row := range rows {
		for _, lower := range []bool{false, true} {
			words := func(template string) []any {
				if lower { // the command's own words; the group's and the consumer's are in lower case anyway
					template = strings.ToLower(template)
				}
				var args []any
				for word := range strings.FieldsSeq(template) {
					args = append(args, strings.ReplaceAll(word, "{}", fmt.Sprintf("e1:%d:%v", i, lower)))
				}
				return args
			}
			wg.Go(func() {
				if row.setup != "" {
					if err := r.Do(t.Context(), words(row.setup)...).Err(); err != nil {
						t.Errorf("%s: %v", row.setup, err)
					}
				}
				start := time.Now()
				reply := r.Do(t.Context(), words(row.command)...)
				took := time.Since(start)
				switch {
				case reply.Err() != nil:
					t.Errorf("%v: %v, want the server's own nil", words(row.command), reply.Err())
				case row.push != "" && !reply.IsNil():
					t.Errorf("%v: %v, want nil", words(row.command), reply)
				case took < wait-50*time.Millisecond || took > wait+900*time.Millisecond:
					t.Errorf("%v took %v", words(row.command), took)
				}
				if row.forever == "" {
					return
				}
				start = time.Now()
				pushed := time.AfterFunc(wait, func() {
					if err := r.Do(t.Context(), words(row.push)...).Err(); err != nil {
						t.Errorf("%s: %v", row.push, err)
					}
				})
				defer pushed.Stop()
				reply = r.Do(t.Context(), words(row.forever)...)
				if took := time.Since(start); reply.Err() != nil || reply.IsNil() || took < wait-50*time.Millisecond {
					t.Errorf("%v: %v after %v, want the element", words(row.forever), reply, took)
				}
				start = time.Now() // before the context's own clock
				ctx, cancel := context.WithTimeout(t.Context(), wait/2)
				defer cancel()
				err := r.Do(ctx, words(row.forever)...).Err()
				if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took < wait/2 {
					t.Errorf("%v with a context that ends: %v after %v", words(row.forever), err, took)
				}
			})
		}
	}
	wg.Wait()
	eventually(t, 2*time.Second, "the server counts no blocked client", func() bool { return blocked(t, server) == 0 })
	others.stop()
	if n := others.failed.Load(); n > 0 {
		t.Errorf("%d calls beside them failed: %v", n, others.errors)
	}
	if p99, allowed := others.tookP99(), y.allowance(); p99 > allowed {
		t.Errorf("calls beside them took %v at p99; this machine allows for %v", p99, allowed)
	}
	eventually(t, 2*time.Second, "all conns are given back", r.idle)
}

// TestE4_DeadlineKept: ten thousand callers at once, a frozen server, and not one of them returns late: to the millisecond, in
// virtual time.
func TestE4_DeadlineKept(t *testing.T) {
	for _, lane := range []evenkeel.Lane{evenkeel.LaneShared, evenkeel.LaneExclusive} {
		t.Run(lane.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { deadlineKept(t, lane) })
		})
	}
}

func deadlineKept(t *testing.T, lane evenkeel.Lane) {
	t.Helper()
	const (
		callers = 10_000
		timeout = 50 * time.Millisecond
		freeze  = 20 * time.Second
	)
	_, fake, cfg := newVirtual(t, "frozen:6379")
	client, err := evenkeel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	do := client.Do
	if lane == evenkeel.LaneExclusive {
		do = client.DoExclusive
	}
	if err := do(t.Context(), "PING").Err(); err != nil {
		t.Fatal(err)
	}
	fake.Pause()
	begin := time.Now()
	heap := liveHeap()
	for time.Since(begin) < freeze {
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				start := time.Now()
				if err := do(ctx, "GET", "k").Err(); err == nil {
					t.Error("a frozen server answered")
				}
				if took := time.Since(start); took > timeout+time.Millisecond {
					t.Errorf("a call with %v returned after %v", timeout, took)
				}
			})
		}
		start := time.Now()
		if err := do(t.Context(), "GET", "k").Err(); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, evenkeel.ErrEndpointDown) &&
			!errors.Is(err, evenkeel.ErrStalled) && !errors.Is(err, evenkeel.ErrAcquireTimeout) {
			t.Errorf("without a deadline: %v", err)
		}
		if took := time.Since(start); took > cfg.CommandTimeout+time.Millisecond {
			t.Errorf("without a deadline a call took %v, the default is %v", took, cfg.CommandTimeout)
		}
		wg.Wait()
		time.Sleep(5 * time.Second)
	}
	if grown := liveHeap() - heap; grown > 64<<20 {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
	if st := fake.Stats(); st.OpenMax > cfg.MaxConns || st.Accepted > 40 {
		t.Errorf("%d dials, %d conns at once", st.Accepted, st.OpenMax)
	}
	fake.Resume()
	time.Sleep(5 * time.Second)
	if err := do(t.Context(), "PING").Err(); err != nil {
		t.Errorf("after the thaw: %v", err)
	}
	if err := client.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// liveHeap is what the heap holds after a collection, in bytes.
func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far below the limit
}

// TestF1_RunsAtMostOnce: a server that is busy for longer than callers wait runs what they sent once or not at all, and they
// are told that nobody knows.
func TestF1_RunsAtMostOnce(t *testing.T) {
	t.Parallel()
	server := evenkeeltest.StartServer(t)
	r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) {
		cfg.Size, cfg.MinIdleConns, cfg.Overflow = 4, 4, 0
		cfg.CommandTimeout = 300 * time.Millisecond
	})
	if _, err := server.Do(t.Context(), "SADD", "set", "a", "b", "c", "d", "e", "f", "g", "h"); err != nil {
		t.Fatal(err)
	}
	for _, do := range []func(context.Context, ...any) evenkeel.Reply{r.Do, r.DoExclusive} {
		if err := do(t.Context(), "PING").Err(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, 5*time.Second, "all conns are open", func() bool { return r.Stats().Exclusive.Open == 4 })
	calls := map[string]func(ctx context.Context) error{}
	for _, lane := range []string{"shared", "exclusive"} {
		do := r.Do
		if lane == "exclusive" {
			do = r.DoExclusive
		}
		for _, command := range []string{"INCR n:{}", "LPUSH l:{} x", "APPEND s:{} x", "EVAL return(redis.call('incr',KEYS[1])) 1 e:{}", "SPOP set"} {
			var args []any
			for word := range strings.FieldsSeq(strings.ReplaceAll(command, "{}", lane)) {
				args = append(args, word)
			}
			calls[lane+" "+command] = func(ctx context.Context) error { return do(ctx, args...).Err() }
		}
	}
	calls["pipeline"] = func(ctx context.Context) error {
		p := r.Pipeline()
		p.Do("INCR", "p")
		p.Do("INCR", "p")
		_, err := p.Exec(ctx)
		return err
	}
	calls["transaction"] = func(ctx context.Context) error {
		p := r.Pipeline()
		p.Do("MULTI")
		p.Do("INCR", "t")
		p.Do("EXEC")
		_, err := p.Exec(ctx)
		return err
	}
	asleep := make(chan error, 1)
	go func() {
		_, err := server.Do(context.WithoutCancel(t.Context()), "DEBUG", "SLEEP", "1.5")
		asleep <- err
	}()
	eventually(t, 5*time.Second, "the server is busy", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		return r.Ping(ctx) != nil
	})
	var wg sync.WaitGroup
	for name, call := range calls {
		wg.Go(func() {
			err := call(t.Context())
			switch {
			case err == nil:
				t.Errorf("%s: succeeded on a server that was busy", name)
			case !evenkeel.MayHaveRun(err) && !errors.Is(err, evenkeel.ErrAcquireTimeout):
				t.Errorf("%s: %v does not say that it may have run", name, err)
			case evenkeel.ServerSaid(err):
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
	if err := <-asleep; err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "all that was sent has run", func() bool {
		return r.Ping(t.Context()) == nil && r.idle() && r.DoExclusive(t.Context(), "PING").Err() == nil
	})
	ran := 0
	for _, test := range []struct {
		most    int64
		command []string
	}{
		{1, []string{"GET", "n:shared"}},
		{1, []string{"GET", "n:exclusive"}},
		{1, []string{"LLEN", "l:shared"}},
		{1, []string{"LLEN", "l:exclusive"}},
		{1, []string{"STRLEN", "s:shared"}},
		{1, []string{"STRLEN", "s:exclusive"}},
		{1, []string{"GET", "e:shared"}},
		{1, []string{"GET", "e:exclusive"}},
		{2, []string{"GET", "p"}},
		{1, []string{"GET", "t"}},
	} {
		args := make([]any, len(test.command))
		for i, word := range test.command {
			args[i] = word
		}
		n, err := r.Do(t.Context(), args...).Int()
		if err != nil && !errors.Is(err, evenkeel.ErrNil) {
			t.Errorf("%v: %v", test.command, err)
		}
		if n > test.most {
			t.Errorf("%v is %d: it ran more than once", test.command, n)
		}
		ran += int(n)
	}
	if left, err := r.Do(t.Context(), "SCARD", "set").Int(); err != nil || left < 8-2 {
		t.Errorf("%d of 8 members left after two SPOPs, %v", left, err)
	}
	if ran == 0 {
		t.Error("nothing ran at all: the fault came too early")
	}
	if n := r.Stats().Retries; n > 0 {
		t.Errorf("%d retries", n)
	}
}
