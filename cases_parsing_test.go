package evenkeel_test

import (
	"context"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// sameNaN compares floats so that NaN equals NaN, and big integers by their text.
func sameNaN() cmp.Options {
	return cmp.Options{
		cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }),
		cmp.Comparer(func(a, b *big.Int) bool { return a.String() == b.String() }),
	}
}

// TestM1_DoublesNilsAndNesting: what a real server says, read typed and untyped under both protocols, and what only a scripted
// one can be made to say. After each, the conn is still in step.
func TestM1_DoublesNilsAndNesting(t *testing.T) {
	server := evenkeeltest.StartServer(t)
	for protocol := 2; protocol <= 3; protocol++ {
		t.Run("RESP"+strconv.Itoa(protocol), func(t *testing.T) {
			r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) { cfg.Protocol, cfg.SharedConns = protocol, 1 })
			ctx := t.Context()
			for _, args := range [][]any{{"FLUSHALL"}, {"ZADD", "z", "inf", "plus", "-inf", "minus", "1.5", "some"}, {"SET", "present", "v"}} {
				if err := r.Do(ctx, args...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			inStep := func() {
				t.Helper()
				if got, err := r.Do(ctx, "PING").Text(); err != nil || got != "PONG" {
					t.Fatalf("PING: %q, %v", got, err)
				}
			}
			for member, want := range map[string]float64{"plus": math.Inf(1), "minus": math.Inf(-1), "some": 1.5} {
				if got, err := r.Do(ctx, "ZSCORE", "z", member).Float(); err != nil || got != want {
					t.Errorf("score of %s: %v, %v", member, got, err)
				}
				inStep()
			}
			var scores map[string]float64
			if err := r.Do(ctx, "ZRANGE", "z", 0, -1, "WITHSCORES").Scan(&scores); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(map[string]float64{"plus": math.Inf(1), "minus": math.Inf(-1), "some": 1.5}, scores); diff != "" {
				t.Error(diff)
			}
			if protocol == 3 {
				reply := r.Do(ctx, "EVAL", "redis.setresp(3); return {double=0/0}", 0)
				if got, err := reply.Float(); err != nil || !math.IsNaN(got) {
					t.Errorf("0/0: %v, %v", got, err)
				}
				inStep()
			}
			if reply := r.Do(ctx, "GET", "missing"); !reply.IsNil() || reply.Err() != nil {
				t.Errorf("GET missing: %v", reply)
			}
			if reply := r.Do(ctx, "XREAD", "BLOCK", 20, "STREAMS", "nothing", "$"); !reply.IsNil() {
				t.Errorf("XREAD whose time is up: %v", reply)
			}
			mget, err := r.Do(ctx, "MGET", "present", "missing").Any()
			if diff := cmp.Diff([]any{"v", nil}, mget); diff != "" || err != nil {
				t.Errorf("MGET: %v %s", err, diff)
			}
			for command, want := range map[string]any{"HGETALL": map[string]string{}, "SMEMBERS": []string{}} {
				reply := r.Do(ctx, command, "missing")
				if reply.IsNil() {
					t.Errorf("%s of nothing is nil", command)
				}
				var (
					got any
					err error
				)
				if command == "HGETALL" {
					got, err = reply.Map()
				} else {
					got, err = reply.Strings()
				}
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%s of nothing: %v %s", command, err, diff)
				}
			}
			err = r.WithConn(ctx, func(c *evenkeel.Conn) error {
				if err := c.Do(ctx, "WATCH", "present").Err(); err != nil {
					return err
				}
				if err := r.Do(ctx, "SET", "present", "changed").Err(); err != nil {
					return err
				}
				for _, args := range [][]any{{"MULTI"}, {"GET", "present"}} {
					if err := c.Do(ctx, args...).Err(); err != nil {
						return err
					}
				}
				if reply := c.Do(ctx, "EXEC"); !reply.IsNil() {
					t.Errorf("an aborted EXEC: %v", reply)
				}
				for _, args := range [][]any{{"MULTI"}, {"GET", "missing"}, {"GET", "present"}} {
					if err := c.Do(ctx, args...).Err(); err != nil {
						return err
					}
				}
				got, err := c.Do(ctx, "EXEC").Any()
				if diff := cmp.Diff([]any{nil, "changed"}, got); diff != "" {
					t.Error(diff)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			inStep()
		})
	}
	t.Run("scripted", func(t *testing.T) {
		fake := evenkeeltest.StartFake(t, nil)
		replies := map[string]struct {
			raw  string
			want any
		}{
			"nan":             {",nan\r\n", math.NaN()},
			"minus nan":       {",-nan\r\n", math.NaN()},
			"NAN":             {",NAN\r\n", math.NaN()},
			"minus inf":       {",-inf\r\n", math.Inf(-1)},
			"null":            {"_\r\n", nil},
			"null array":      {"*-1\r\n", nil},
			"null bulk":       {"$-1\r\n", nil},
			"empty array":     {"*0\r\n", []any{}},
			"big number":      {"(3492890328409238509324850943850943825024385\r\n", bigInt("3492890328409238509324850943850943825024385")},
			"verbatim":        {"=8\r\ntxt:Some\r\n", "Some"},
			"true":            {"#t\r\n", true},
			"attribute":       {"|1\r\n+ttl\r\n:3600\r\n+value\r\n", "value"},
			"nested nulls":    {"*3\r\n_\r\n*-1\r\n*2\r\n$-1\r\n*0\r\n", []any{nil, nil, []any{nil, []any{}}}},
			"streamed string": {"$?\r\n;4\r\nSome\r\n;0\r\n", "Some"},
			"streamed array":  {"*?\r\n:1\r\n#f\r\n.\r\n", []any{int64(1), false}},
		}
		fake.Handle("SAY", func(req *evenkeeltest.Request) evenkeeltest.Reply { return evenkeeltest.Raw(replies[req.Arg(1)].raw) })
		r := newRig(t, fake.Addr(), func(cfg *evenkeel.Config) { cfg.Protocol, cfg.SharedConns = 3, 1 })
		for name, test := range replies {
			reply := r.Do(t.Context(), "SAY", name)
			got, err := reply.Any()
			if test.want == nil {
				if !reply.IsNil() {
					t.Errorf("%s: %v is not nil", name, reply)
				}
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if diff := cmp.Diff(test.want, got, sameNaN()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if pong, err := r.Do(t.Context(), "PING").Text(); err != nil || pong != "PONG" {
				t.Errorf("PING after %s: %q, %v", name, pong, err)
			}
		}
		if n := r.relay.Stats().Accepted; n != 1 {
			t.Errorf("%d conns: a reply made the client give one up", n)
		}
	})
}

func bigInt(s string) *big.Int {
	n, _ := new(big.Int).SetString(s, 10)
	return n
}

// TestM3_FragmentsLongLinesTrickle: however a reply is cut it is read whole, and one that drips in does not hold its caller.
func TestM3_FragmentsLongLinesTrickle(t *testing.T) {
	t.Parallel()
	server := evenkeeltest.StartServer(t)
	t.Run("every byte alone", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, server.Addr(), nil)
		r.relay.Split(evenkeeltest.Both, 1)
		if err := r.Do(t.Context(), "SET", "k", "a value\r\nwith a line end").Err(); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			got, err := r.Do(t.Context(), "MGET", "k", "missing", "k").Any()
			if diff := cmp.Diff([]any{"a value\r\nwith a line end", nil, "a value\r\nwith a line end"}, got); diff != "" || err != nil {
				t.Fatalf("%v %s", err, diff)
			}
		}
	})
	t.Run("long", func(t *testing.T) {
		t.Parallel()
		const line = 600_000
		r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) { cfg.CommandTimeout = 20 * time.Second })
		for kind, script := range map[string]string{
			"status": "return redis.status_reply(string.rep('s', ARGV[1]))",
			"error":  "return redis.error_reply('ERR ' .. string.rep('s', ARGV[1]))",
		} {
			reply := r.Do(t.Context(), "EVAL", script, 0, line)
			text, err := reply.Text()
			if kind == "error" {
				said, ok := errors.AsType[*evenkeel.ServerError](err)
				if !ok {
					t.Errorf("%s line: %v", kind, err)
					continue
				}
				text = said.Message
			}
			if strings.Count(text, "s") < line {
				t.Errorf("%s line: %d bytes", kind, len(text))
			}
		}
		const bulk = 64 << 20
		if err := r.Do(t.Context(), "SETRANGE", "bulk", bulk-1, "x").Err(); err != nil {
			t.Fatal(err)
		}
		got, err := r.Do(t.Context(), "GET", "bulk").Bytes()
		if err != nil || len(got) != bulk || got[bulk-1] != 'x' || got[0] != 0 {
			t.Errorf("a bulk string of 64 MiB: %d bytes, %v", len(got), err)
		}
	})
	t.Run("trickle", func(t *testing.T) {
		t.Parallel()
		const timeout = time.Second
		r := newRig(t, server.Addr(), func(cfg *evenkeel.Config) { cfg.StallTimeout, cfg.DialTimeout = timeout, timeout/2 })
		if err := r.Do(t.Context(), "SET", "trickled", strings.Repeat("v", 1000)).Err(); err != nil {
			t.Fatal(err)
		}
		before := closedFlows(r.relay)
		r.relay.Trickle(evenkeeltest.ToClient, 1, 100*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		y := startYardstick()
		start := time.Now()
		err := r.Do(ctx, "GET", "trickled").Err()
		took := time.Since(start)
		if !errors.Is(err, context.DeadlineExceeded) || took < timeout || took > timeout+2*y.allowance() {
			t.Errorf("a reply that drips in: %v after %v", err, took)
		}
		// New conns come through; the one whose reply is overdue is then given up, however much still drips in.
		r.relay.Trickle(evenkeeltest.ToClient, 0, 0)
		for _, f := range r.relay.Flows() {
			f.Swallow(evenkeeltest.ToClient)
		}
		eventually(t, 5*time.Second, "the conn is closed", func() bool { return len(closedFlows(r.relay)) > len(before) })
		if err := ownValue(strings.Repeat("v", 1000), r.Do(t.Context(), "GET", "trickled")); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
