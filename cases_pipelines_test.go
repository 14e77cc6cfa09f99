package evenkeel_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// TestL1_HugePipeline: between peers that stop reading while they cannot write, long pipelines go through, and neither side
// piles up what the other has not taken.
func TestL1_HugePipeline(t *testing.T) {
	t.Parallel()
	const (
		gets, getSize = 1000, 100_000
		sets, setSize = 20, 1_000_000
		small         = 250_000
	)
	server := evenkeeltest.StartServer(t)
	// A relay copies through buffers of 32 KiB each way, and reads no more before it could write: back-pressure as of a proxy.
	r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) { cfg.CommandTimeout = 30 * time.Second })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := r.Do(ctx, "SET", "big", strings.Repeat("x", getSize)).Err(); err != nil {
		t.Fatal(err)
	}
	var replyMemory, worst atomic.Int64
	watch := startLoad(t, 1, 10*time.Second, 20*time.Millisecond, func(ctx context.Context, _ int) error {
		n, err := server.InfoInt(ctx, "memory", "mem_clients_normal")
		replyMemory.Store(max(replyMemory.Load(), n))
		return err
	})
	others := startLoad(t, 4, 10*time.Second, 10*time.Millisecond, func(ctx context.Context, _ int) error {
		start := time.Now()
		err := r.Do(ctx, "PING").Err()
		worst.Store(max(worst.Load(), int64(time.Since(start))))
		return err
	})

	heap := liveHeap()
	p := r.Pipeline()
	value := strings.Repeat("y", setSize)
	for i := range gets {
		p.Do("GET", "big")
		if i%(gets/sets) == 0 {
			p.Do("SET", "set"+strconv.Itoa(i), value)
		}
	}
	payload := int64(gets*getSize + sets*setSize)
	start := time.Now()
	replies, err := p.Exec(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB in %v", payload/1e6, time.Since(start))
	if len(replies) != gets+sets {
		t.Fatalf("%d replies", len(replies))
	}
	for i, reply := range replies {
		text, err := reply.Text()
		if err != nil || len(text) != getSize && text != "OK" {
			t.Fatalf("reply %d: %d bytes, %v", i, len(text), err)
		}
	}
	if held := liveHeap() - heap; held > 2*payload {
		t.Errorf("the client holds %d MB for a payload of %d MB", held/1e6, payload/1e6)
	}
	p.Reset()

	start = time.Now()
	for i := range small {
		p.Do("SET", "small", i)
	}
	replies, err = p.Exec(ctx)
	if err != nil || len(replies) != small {
		t.Fatalf("%d replies, %v", len(replies), err)
	}
	t.Logf("%d small SETs in %v", small, time.Since(start))
	if got, err := r.Do(ctx, "GET", "small").Int(); err != nil || got != small-1 {
		t.Errorf("the last SET left %d, %v", got, err)
	}
	watch.stop()
	others.stop()
	if most := replyMemory.Load(); most == 0 || most > 32<<20 {
		t.Errorf("the server held %d MiB for its clients", most>>20)
	}
	if n := others.failed.Load(); n > 0 || others.ok.Load() == 0 {
		t.Errorf("beside it %d calls succeeded, %d failed: %v", others.ok.Load(), n, others.errors)
	}
	if d := time.Duration(worst.Load()); d > 3*time.Second {
		t.Errorf("beside it a call took %v", d)
	}
}

// TestL1_SlowPipeline: a pipeline that takes longer than StallTimeout as a whole, and whose replies come one by one in time, is
// no stall.
func TestL1_SlowPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, fake, cfg := newVirtual(t, "slow:6379")
		fake.Handle("SLOW", func(*evenkeeltest.Request) evenkeeltest.Reply {
			return evenkeeltest.OK().After(300 * time.Millisecond)
		})
		client, err := evenkeel.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		for _, n := range []int{50, 300} { // on the shared lane, and in windows on the exclusive one
			p := client.Pipeline()
			for range n {
				p.Do("SLOW")
			}
			if _, err := p.Exec(ctx); err != nil {
				t.Errorf("%d commands: %v", n, err)
			}
		}
		if st := client.Stats(); st.Stalls != 0 {
			t.Errorf("%d stalls", st.Stalls)
		}
		if err := client.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestL3_ErrorsOfSingleCommands: thirty commands of every kind of outcome, in shuffled order, alone, in a pipeline and in a
// transaction: each has its own.
func TestL3_ErrorsOfSingleCommands(t *testing.T) {
	server := evenkeeltest.StartServer(t)
	for protocol := 2; protocol <= 3; protocol++ {
		t.Run("RESP"+strconv.Itoa(protocol), func(t *testing.T) {
			r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) { cfg.Protocol = protocol })
			ctx := t.Context()
			for _, args := range [][]any{{"SET", "present", "value"}, {"DEL", "list"}, {"RPUSH", "list", "a", "b"}, {"HSET", "hash", "f", "v"}} {
				if err := r.Do(ctx, args...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			kinds := [][]any{
				{"GET", "present"},
				{"GET", "missing"},
				{"GET", "list"},
				{"LRANGE", "list", 0, -1},
				{"HGETALL", "hash"},
				{"LPOP", "present"},
				{"MGET", "present", "missing", "list"},
				{"INCRBY", "present", 1},
				{"STRLEN", "missing"},
				{"ZSCORE", "missing", "m"},
			}
			var commands [][]any
			for range 3 {
				commands = append(commands, kinds...)
			}
			rand.Shuffle(len(commands), func(i, j int) { commands[i], commands[j] = commands[j], commands[i] })

			var (
				alone     []outcome
				firstReal = -1
			)
			for i, args := range commands {
				o := outcomeOf(r.Do(ctx, args...))
				alone = append(alone, o)
				if firstReal < 0 && strings.HasPrefix(o.Err, "WRONGTYPE") || firstReal < 0 && strings.HasPrefix(o.Err, "ERR") {
					firstReal = i
				}
			}
			run := func(name string, first, last int, replies []evenkeel.Reply, err error) {
				var got []outcome
				for _, reply := range replies[first:last] {
					got = append(got, outcomeOf(reply))
				}
				if diff := cmp.Diff(alone, got); diff != "" {
					t.Errorf("%s and single calls differ (-single +%s):\n%s", name, name, diff)
				}
				said, ok := errors.AsType[*evenkeel.ServerError](err)
				if name == "pipeline" && (!ok || said.Error() != alone[firstReal].Err || errors.Is(err, evenkeel.ErrNil)) {
					t.Errorf("the summary is %v, want the first real error, %s", err, alone[firstReal].Err)
				}
			}
			p := r.Pipeline()
			for _, args := range commands {
				p.Do(args...)
			}
			replies, err := p.Exec(ctx)
			if len(replies) != len(commands) {
				t.Fatalf("%d replies, %v", len(replies), err)
			}
			run("pipeline", 0, len(replies), replies, err)

			p = r.Pipeline()
			p.Do("MULTI")
			for _, args := range commands {
				p.Do(args...)
			}
			p.Do("EXEC")
			replies, err = p.Exec(ctx)
			if err != nil {
				t.Fatalf("transaction: %v", err) // its commands' errors are inside the reply to EXEC
			}
			results, err := replies[len(replies)-1].Slice()
			if err != nil {
				t.Fatal(err)
			}
			run("transaction", 0, len(results), results, nil)
		})
	}
}

// outcome is a reply as far as it can be compared.
type outcome struct {
	Value any
	Nil   bool
	Err   string
}

func outcomeOf(r evenkeel.Reply) outcome {
	v, err := r.Any()
	o := outcome{Value: v, Nil: r.IsNil()}
	if list, ok := v.([]any); ok {
		for i, e := range list { // errors inside compare by text
			if err, ok := e.(error); ok {
				list[i] = err.Error()
			}
		}
	}
	if err != nil && !errors.Is(err, evenkeel.ErrNil) {
		o.Err = err.Error()
	}
	return o
}
