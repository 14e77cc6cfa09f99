package bench_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/bench/workload"
)

// calledRun is a run through a client.
func calledRun(lane bench.Lane, requests int64) bench.RunOptions {
	o := smallRun(requests)
	o.Callers, o.Lane, o.Conns = 20, lane, 3
	return o
}

func TestRunThroughAClient(t *testing.T) {
	noLeaks(t)
	for _, lane := range bench.Lanes() {
		t.Run(string(lane), func(t *testing.T) {
			o := calledRun(lane, 3_000)
			o.RESP3 = lane == bench.LaneShared
			r, err := bench.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if r.OK != 3_000 || r.Failed != 0 || r.Unanswered != 0 || r.Params.Engine != "client" {
				t.Errorf("%d OK, %d failed (%s), %d unanswered by engine %q", r.OK, r.Failed, r.Failures(), r.Unanswered, r.Params.Engine)
			}
			// The values have 100 bytes, with their frame 108; +OK has 5.
			get, set := r.Classes[0], r.Classes[1]
			if get.Misses != 0 || get.BytesIn != 108*get.OK || set.BytesIn != 5*set.OK {
				t.Errorf("%d misses; %d bytes of %d GETs, %d of %d SETs", get.Misses, get.BytesIn, get.OK, set.BytesIn, set.OK)
			}
			c := r.Client
			if c == nil || c.ConnsMax < 1 || c.ConnsMax > 3 || c.DialsFailed != 0 || r.Opened != int64(c.Dials) || r.Lost != 0 {
				t.Fatalf("client %+v, opened %d, lost %d", c, r.Opened, r.Lost)
			}
			// On the exclusive lane at most three of twenty callers have a conn.
			if (c.Waits > 0) != (lane == bench.LaneExclusive) {
				t.Errorf("%d calls waited for a connection", c.Waits)
			}
			var text strings.Builder
			if err := r.Text(&text, 100); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text.String(), "20 goroutines called through one client with 3 connections on its "+string(lane)+" lane") {
				t.Errorf("the page does not say who called:\n%s", text.String())
			}
		})
	}
}

// Replies of every kind: errors by code, nulls as misses, aggregates by their size.
func TestRunThroughAClientTellsReplies(t *testing.T) {
	noLeaks(t)
	o := calledRun(bench.LaneShared, 400)
	o.Workload = workload.Workload{
		Keys: workload.Keys{Count: 1, Prefix: bench.KeyPrefix, Digits: 1},
		Commands: []workload.Command{
			{Command: "LPUSH __key__ x"},
			{Command: "GET " + bench.KeyPrefix + "nothing"},
			{Command: "MGET " + bench.KeyPrefix + "nothing __key__"},
			{Command: "EXISTS __key__"},
		},
		Preload: "SET __key__ text",
	}
	r, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.OK+r.Failed != 400 || r.Failed == 0 || r.Failed != r.Errors["WRONGTYPE"] {
		t.Errorf("%d OK, %d failed: %s", r.OK, r.Failed, r.Failures())
	}
	sizes := map[string]int64{"GET": 5, "MGET": 4 + 5 + 10, "EXISTS": 4}
	for _, c := range r.Classes {
		if size, ok := sizes[c.Name]; ok && c.BytesIn != size*c.OK {
			t.Errorf("%s: %d bytes of %d replies, want %d each", c.Name, c.BytesIn, c.OK, size)
		}
		if c.Name == "GET" && c.Misses != c.OK {
			t.Errorf("GET of nothing: %d misses of %d", c.Misses, c.OK)
		}
	}
}

func TestRunThroughAClientRefuses(t *testing.T) {
	for option, spoil := range map[string]func(*bench.RunOptions){
		"callers":         func(o *bench.RunOptions) { o.Workload.Commands = []workload.Command{{Command: "PING ; PING"}} },
		"depth":           func(o *bench.RunOptions) { o.Depth = 2 },
		"lane":            func(o *bench.RunOptions) { o.Lane = "fast" },
		"timeout":         func(o *bench.RunOptions) { o.Timeout = -time.Second },
		"reconnect-every": func(o *bench.RunOptions) { o.ReconnectEvery = 1 },
		"greeting":        func(o *bench.RunOptions) { o.Greeting = [][]string{{"PING"}} },
		"portable":        func(o *bench.RunOptions) { o.Portable = true },
		"verify":          func(o *bench.RunOptions) { o.Workload.Verify = true },
	} {
		t.Run(option, func(t *testing.T) {
			o := calledRun(bench.LaneShared, 10)
			spoil(&o)
			_, err := bench.Run(t.Context(), o)
			if blamed, ok := errors.AsType[*bench.OptionError](err); !ok || blamed.Option != option {
				t.Errorf("%v, want an OptionError for %s", err, option)
			}
		})
	}
}
