package wire

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
	"github.com/evenkeel-go/evenkeel/internal/resp"
	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

// A move is one call that one caller of the model makes.
type move struct {
	Pause, Limit time.Duration
	Kind         string // what ends it: nothing, a deadline, a cancel, a timeout
	Size, Count  int
}

// A weather is what happens to the server and the network meanwhile.
type weather struct {
	Buffer, Split    int
	Latency          time.Duration
	Queue, QueueSize int
	Delays           []time.Duration // of replies, in turn
	PushEvery        int             // 0: none
	FreezeAt, Freeze time.Duration
	FreezeBoth       bool
	EndAt            int // after so many requests: 0 never
	End              string
	CutAfter         int64 // bytes to the client: 0 never
}

func drawWeather(t *rapid.T) weather {
	d := func(most int, name string) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * ms
	}
	return weather{
		Buffer: rapid.IntRange(8, 4096).Draw(t, "buffer"), Split: rapid.IntRange(0, 9).Draw(t, "split"), Latency: d(5, "latency"),
		Queue: rapid.IntRange(1, 12).Draw(t, "queue"), QueueSize: rapid.IntRange(50, 3000).Draw(t, "queue size"),
		Delays:    rapid.SliceOfN(rapid.SampledFrom([]time.Duration{0, 0, 0, ms, 3 * ms, 10 * ms, 40 * ms}), 1, 12).Draw(t, "delays"),
		PushEvery: rapid.IntRange(0, 4).Draw(t, "push every"),
		FreezeAt:  d(100, "freeze at"), Freeze: d(80, "freeze for"), FreezeBoth: rapid.Bool().Draw(t, "freeze both"),
		EndAt:    rapid.SampledFrom([]int{0, 0, 0, 1, 4, 9, 20}).Draw(t, "end at"),
		End:      rapid.SampledFrom([]string{"close", "reset", "half", "silence", "half and silence"}).Draw(t, "end"),
		CutAfter: rapid.SampledFrom([]int64{0, 0, 0, 1, 17, 100, 1000}).Draw(t, "cut after"),
	}
}

func drawSteps(t *rapid.T) []move {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) move {
		return move{
			Pause: time.Duration(rapid.IntRange(0, 30).Draw(t, "pause")) * ms,
			Kind:  rapid.SampledFrom([]string{"none", "deadline", "cancel", "timeout", "timeout and deadline"}).Draw(t, "kind"),
			Limit: time.Duration(rapid.SampledFrom([]int{0, 1, 3, 5, 10, 13, 40, 90}).Draw(t, "limit")) * ms,
			Size:  rapid.SampledFrom([]int{0, 0, 10, 300, 3000}).Draw(t, "size"),
			Count: rapid.SampledFrom([]int{1, 1, 1, 2, 7}).Draw(t, "count"),
		}
	}), 1, 6).Draw(t, "steps")
}

// TestModel lets callers with random limits loose on one conn under random weather. Whatever happens, reply k belongs to
// request k, every call ends in time, nobody is left behind, and in the end nothing is owed and nothing is held.
func TestModel(t *testing.T) {
	authority, err := evenkeeltest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWeather(rt)
		callers := rapid.SliceOfN(rapid.Custom(drawSteps), 1, 10).Draw(rt, "callers")
		setup := setup{authority: authority, secure: rapid.Bool().Draw(rt, "tls"), net: simnet.Options{BufferSize: w.Buffer}}
		var verdict error
		setup.tune = func(cfg *Config) {
			cfg.Conn = Options{MaxQueue: w.Queue, MaxQueueSize: w.QueueSize, ProbeAfter: 20 * ms, StallTimeout: 150 * ms}
			cfg.Conn.OnStall = func(c *Conn) {
				if c.Stalled() {
					c.Close(ErrStalled)
				}
			}
		}
		setup.handler = w.handler()
		inBubble(t, setup, func(r *rig) { verdict = r.weatherTheModel(w, callers) })
		if verdict != nil {
			rt.Fatal(verdict)
		}
	})
}

// handler answers ECHO in the weather.
func (w weather) handler() evenkeeltest.Handler {
	requests := 0 // one conn, so one goroutine
	return func(q *evenkeeltest.Request) evenkeeltest.Reply {
		if q.Name != "ECHO" {
			return evenkeeltest.Default()
		}
		requests++
		if w.PushEvery > 0 && requests%w.PushEvery == 0 {
			q.Conn.Push(evenkeeltest.Push(evenkeeltest.Bulk("note"), evenkeeltest.Int(1)))
		}
		reply := evenkeeltest.Bulk(q.Arg(1)).After(w.Delays[requests%len(w.Delays)])
		if w.EndAt == 0 || requests < w.EndAt {
			return reply
		}
		switch w.End {
		case "close":
			return evenkeeltest.Hangup()
		case "reset":
			return reply.CutAt(3).ThenReset()
		case "half":
			return reply.Half().ThenClose()
		case "half and silence":
			return reply.Half()
		default:
			return evenkeeltest.Silence()
		}
	}
}

func (r *rig) weatherTheModel(w weather, callers [][]move) error {
	link := r.link()
	link.Split(simnet.Both, w.Split)
	link.SetLatency(simnet.Both, w.Latency)
	if w.CutAfter > 0 {
		link.ResetAfter(simnet.ToClient, w.CutAfter)
	}
	direction := simnet.ToServer
	if w.FreezeBoth {
		direction = simnet.Both
	}
	if w.Freeze > 0 {
		r.wg.Go(func() {
			pass(w.FreezeAt)
			link.Freeze(direction)
			pass(w.Freeze)
			link.Thaw(direction)
		})
	}
	var (
		mu    sync.Mutex
		first error
	)
	for id, steps := range callers {
		r.wg.Go(func() {
			for i, s := range steps {
				pass(s.Pause)
				if err := r.take(s, fmt.Sprintf("%d.%d", id, i)); err != nil {
					mu.Lock()
					if first == nil {
						first = fmt.Errorf("caller %d step %d (%+v): %w", id, i, s, err)
					}
					mu.Unlock()
				}
			}
		})
	}
	r.wg.Wait()
	if first != nil {
		return first
	}
	pass(10 * time.Second)
	synctest.Wait()
	if n := r.c.Owed(); n != 0 {
		return fmt.Errorf("%d replies owed in the end", n)
	}
	r.checkReleased()
	checkCalls(r.t)
	return nil
}

// take makes the call of a step and says what is wrong about its outcome.
func (r *rig) take(s move, id string) error {
	ctx, timeout, allowed := context.Background(), time.Duration(0), s.Limit+slack
	cancel := func() {}
	switch s.Kind {
	case "deadline":
		ctx, cancel = context.WithTimeout(ctx, s.Limit)
	case "timeout and deadline":
		ctx, cancel = context.WithTimeout(ctx, s.Limit)
		timeout = s.Limit + 1
	case "timeout":
		timeout = s.Limit + 1
	case "cancel":
		ctx, cancel = context.WithCancel(ctx)
		defer time.AfterFunc(s.Limit, cancel).Stop()
		allowed += time.Duration(cancelGrace) + writeMoment // a virtual network's write may take its moment first
	default:
		allowed = time.Hour // its stall ends it
	}
	defer cancel()
	var raw []byte
	tokens := make([]string, s.Count)
	for i := range tokens {
		tokens[i] = id + "." + strconv.Itoa(i) + strings.Repeat("x", s.Size)
		raw = resp.AppendArrayHeader(raw, 2)
		raw = resp.AppendBulkString(raw, "ECHO")
		raw = resp.AppendBulkString(raw, tokens[i])
	}
	k := NewCall()
	k.Raw(raw, s.Count)
	replies := make(slots, s.Count)
	k.Into(replies)
	start := time.Now()
	err := r.c.RoundTrip(ctx, k, timeout, 0)
	took := time.Since(start)
	clear(raw) // it must not be read any more
	if took > allowed {
		return fmt.Errorf("returned after %v with %w", took, err)
	}
	if left, ok := errors.AsType[*LeftError](err); ok {
		if s.Kind == "none" || took < s.Limit {
			return fmt.Errorf("left of itself after %v: %w", took, left)
		}
		return nil
	}
	if failed, ok := errors.AsType[*ConnError](err); ok {
		replies = replies[:failed.Got]
	} else if err != nil {
		return err
	} else {
		k.Free()
	}
	for i, v := range replies {
		if v.Str != tokens[i] {
			return fmt.Errorf("reply %d is %.20q, want %.20q", i, v.Str, tokens[i])
		}
	}
	return nil
}
