package bench

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

func onCluster(c *evenkeeltest.Cluster, node int) RunOptions {
	o := DefaultRunOptions()
	o.Target = Target{Network: "tcp", Address: c.Nodes()[node].Addr()}
	o.Workload.Keys.Count = 900
	o.Cluster, o.Disturb = true, true
	o.Conns, o.Workers, o.Requests, o.Duration, o.Warmup, o.Interval = 7, 1, 3_000, 0, 0, 20*time.Millisecond
	return o
}

// keysOn counts the keys of each node.
func keysOn(t *testing.T, c *evenkeeltest.Cluster) (each []int64, sum int64) {
	t.Helper()
	for _, s := range c.Nodes() {
		v, err := s.Do(t.Context(), "DBSIZE")
		if err != nil {
			t.Fatal(err)
		}
		n, _ := v.(int64)
		each, sum = append(each, n), sum+n
	}
	return each, sum
}

func TestRunOnACluster(t *testing.T) {
	c := evenkeeltest.StartCluster(t, 3)
	t.Run("closed loop", func(t *testing.T) {
		o := onCluster(c, 1)
		o.Keep = true
		var seen int64
		o.Observe = func(i *raw.Interval) { seen += i.OK() }
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.OK != 3_000 || r.Failed != 0 || r.Classes[0].Misses != 0 || r.Preload.Keys != 900 || seen != 3_000 || r.Opened != 7 {
			t.Errorf("%d OK, %d failed (%s), %d misses, preload %+v, %d observed, %d opened", r.OK, r.Failed, r.Failures(), r.Classes[0].Misses, r.Preload, seen, r.Opened)
		}
		each, sum := keysOn(t, c)
		if sum != 900 || each[0] < 200 || each[1] < 200 || each[2] < 200 {
			t.Errorf("keys %v: each of 900 once, and all nodes have about a third", each)
		}
		if len(r.Nodes) != 3 || r.Nodes[0].OK+r.Nodes[1].OK+r.Nodes[2].OK != 3_000 || len(r.Verdict.Workers) != 3 {
			t.Errorf("%+v", r.Nodes)
		}
		for _, n := range r.Nodes {
			if n.OK < 999 || n.OK > 1001 || n.Slots < 5461 || n.Slots > 5462 || n.P50Us <= 0 {
				t.Errorf("%+v", n)
			}
		}
		if r.Server == nil || r.Server.Commands < 3_000 || r.Server.Connections != 7 {
			t.Errorf("the servers counted %+v", r.Server)
		}
		var text strings.Builder
		if err := r.Text(&text, 120); err != nil || !strings.Contains(text.String(), "over a cluster") || !strings.Contains(text.String(), "Nodes\n") {
			t.Errorf("%v\n%s", err, text.String())
		}
	})
	t.Run("open loop, from another node", func(t *testing.T) {
		o := onCluster(c, 2)
		o.Requests, o.Duration, o.Warmup, o.Rate = 0, 300*time.Millisecond, 50*time.Millisecond, 3_000
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		// Each node's arrivals are rounded up by themselves.
		if r.Scheduled < 898 || r.Scheduled > 903 || r.OK+r.Failed+r.Unanswered+r.Backlog != r.Scheduled || r.Failed != 0 {
			t.Errorf("%d scheduled, %d OK, %d failed, %d unanswered, %d never sent", r.Scheduled, r.OK, r.Failed, r.Unanswered, r.Backlog)
		}
		if _, sum := keysOn(t, c); sum != 0 {
			t.Errorf("%d keys were left", sum)
		}
	})
	t.Run("fewer requests than nodes", func(t *testing.T) {
		o := onCluster(c, 0)
		o.Requests = 2
		r, err := Run(t.Context(), o)
		if err != nil || r.OK != 2 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		o := onCluster(c, 0)
		o.Requests, o.Duration = 0, time.Minute
		o.Observe = func(i *raw.Interval) {
			if i.OK() > 0 {
				cancel()
			}
		}
		r, err := Run(ctx, o)
		if !errors.Is(err, context.Canceled) || r == nil || r.OK == 0 || !r.Interrupted {
			t.Errorf("%v", err)
		}
		if _, sum := keysOn(t, c); sum != 0 {
			t.Errorf("%d keys were left", sum)
		}
	})
	t.Run("too few connections", func(t *testing.T) {
		o := onCluster(c, 0)
		o.Conns = 2
		_, err := Run(t.Context(), o)
		if blamed, ok := errors.AsType[*OptionError](err); !ok || blamed.Option != "conns" {
			t.Errorf("%v", err)
		}
	})
	t.Run("keys of several slots", func(t *testing.T) {
		o := onCluster(c, 0)
		o.Workload.Commands = []workload.Command{{Command: "MGET __key__ __key__"}}
		_, err := Run(t.Context(), o)
		if bad, ok := errors.AsType[*workload.FieldError](err); !ok || !strings.Contains(bad.Problem, "put {tag} into each") {
			t.Errorf("%v", err)
		}
	})
	t.Run("without --cluster", func(t *testing.T) {
		o := onCluster(c, 0)
		o.Cluster = false
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--cluster loads all of them") {
			t.Errorf("%v", err)
		}
	})
	t.Run("slo", func(t *testing.T) {
		o := DefaultSLOOptions()
		o.Load = onCluster(c, 0)
		o.Search, o.MaxConns, o.Window, o.Confirm, o.Limit = SearchConns, 7, 100*time.Millisecond, 1, time.Minute
		r, err := SLO(t.Context(), o)
		if err != nil || r.Answer.Held != 7 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestRunOnWhatIsNoCluster(t *testing.T) {
	s := evenkeeltest.StartServer(t)
	o := DefaultRunOptions()
	o.Target, o.Cluster, o.Disturb = Target{Network: "tcp", Address: s.Addr()}, true, true
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "leave out --cluster") {
		t.Errorf("%v", err)
	}
}

func TestParseSlots(t *testing.T) {
	node := func(host string, port int64) evenkeeltest.Reply {
		h := evenkeeltest.Bulk(host)
		if host == "null" {
			h = evenkeeltest.Null()
		}
		return evenkeeltest.Array(h, evenkeeltest.Int(port), evenkeeltest.Bulk("id"))
	}
	slots := func(first, last int64, nodes ...evenkeeltest.Reply) evenkeeltest.Reply {
		return evenkeeltest.Array(append([]evenkeeltest.Reply{evenkeeltest.Int(first), evenkeeltest.Int(last)}, nodes...)...)
	}
	for name, c := range map[string]struct {
		reply evenkeeltest.Reply
		want  string // addresses with their counts, or a part of the error
	}{
		"two nodes, one twice": {
			evenkeeltest.Array(slots(0, 99, node("10.0.0.1", 1)), slots(100, 16382, node("10.0.0.2", 2), node("10.0.0.9", 9)), slots(16383, 16383, node("10.0.0.1", 1))),
			"10.0.0.1:1=101 10.0.0.2:2=16283",
		},
		"who does not know itself": {evenkeeltest.Array(slots(0, 16383, node("", 7))), "me:7=16384"},
		"null":                     {evenkeeltest.Array(slots(0, 16383, node("null", 7))), "me:7=16384"},
		"IPv6":                     {evenkeeltest.Array(slots(0, 16383, node("::1", 7))), "[::1]:7=16384"},
		"holes":                    {evenkeeltest.Array(slots(0, 16380, node("a", 1))), "3 slots of the cluster have no node"},
		"nothing":                  {evenkeeltest.Array(), "16,384 slots of the cluster have no node"},
		"two owners":               {evenkeeltest.Array(slots(0, 16383, node("a", 1)), slots(5, 5, node("b", 1))), "gives some slots to two nodes"},
		"out of bounds":            {evenkeeltest.Array(slots(0, 16384, node("a", 1))), "no range of slots"},
		"negative":                 {evenkeeltest.Array(slots(-1, 5, node("a", 1))), "no range of slots"},
		"backwards":                {evenkeeltest.Array(slots(5, 4, node("a", 1))), "no range of slots"},
		"no node":                  {evenkeeltest.Array(slots(0, 16383)), "no range of slots"},
		"no array":                 {evenkeeltest.Bulk("x"), "CLUSTER SLOTS"},
		"words":                    {evenkeeltest.Array(evenkeeltest.Array(evenkeeltest.Bulk("a"), evenkeeltest.Bulk("b"), node("a", 1))), "no range of slots"},
	} {
		t.Run(name, func(t *testing.T) {
			f := evenkeeltest.StartFake(t, nil)
			f.Handle("CLUSTER", func(*evenkeeltest.Request) evenkeeltest.Reply { return c.reply })
			conn, err := evenkeel.Dial(t.Context(), evenkeel.DefaultConfig(f.Addr()))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			owners, err := parseSlots(conn.Do(t.Context(), "CLUSTER", "SLOTS"), "me")
			var got []string
			for _, o := range owners {
				got = append(got, o.addr+"="+strconv.Itoa(o.count))
			}
			if text := strings.Join(got, " "); err == nil && text != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %v; want %s", text, err, c.want)
			}
		})
	}
}

// An announced address that cannot be reached is named.
func TestUnreachableNodeIsNamed(t *testing.T) {
	s := evenkeeltest.StartServer(t)
	ln, err := evenkeeltest.ListenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	closed := ln.Addr().String()
	_ = ln.Close()
	_, port, _ := net.SplitHostPort(closed)
	n, _ := strconv.ParseInt(port, 10, 64)
	f := evenkeeltest.StartFake(t, nil)
	f.Handle("CLUSTER", func(*evenkeeltest.Request) evenkeeltest.Reply {
		return evenkeeltest.Array(evenkeeltest.Array(evenkeeltest.Int(0), evenkeeltest.Int(16383),
			evenkeeltest.Array(evenkeeltest.Bulk("127.0.0.1"), evenkeeltest.Int(n), evenkeeltest.Bulk("id"))))
	})
	o := DefaultRunOptions()
	o.Target, o.Cluster, o.Disturb = Target{Network: "tcp", Address: f.Addr()}, true, true
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the node at "+closed+", as the cluster announces it") {
		t.Errorf("%v (a server at %s)", err, s.Addr())
	}
}

func TestSharesAddUp(t *testing.T) {
	for _, counts := range [][]int{{16384}, {8192, 8192}, {5461, 5462, 5461}, {1, 16383}, {1, 1, 16382}} {
		var r runRun
		for _, n := range counts {
			r.nodes = append(r.nodes, &clusterNode{count: n})
		}
		for _, total := range []int64{0, 1, 2, 3, 7, 50, 1000} {
			for _, least := range []int64{0, 1} {
				var sum int64
				for i, n := range r.shares(total, least) {
					sum += n
					if n < least {
						t.Errorf("%v: node %d gets %d of %d", counts, i, n, total)
					}
				}
				if enough := int64(len(counts))*least <= total; enough && sum != total {
					t.Errorf("%v: %d of %d, at least %d each", counts, sum, total, least)
				}
			}
		}
	}
}
