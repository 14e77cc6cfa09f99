package evenkeel_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// TestOnCommandHearsOfEveryCall: whichever way a command takes, the hook is told of it once, with its lane and its error.
func TestOnCommandHearsOfEveryCall(t *testing.T) {
	server := evenkeeltest.StartServer(t)
	var heard []evenkeel.CommandEvent
	cfg := evenkeel.DefaultConfig(server.Addr())
	cfg.Hooks.OnCommand = func(e evenkeel.CommandEvent) { heard = append(heard, e) } // one caller only: nothing to lock
	client, err := evenkeel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	dialed, err := evenkeel.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()

	pipeline := func(p *evenkeel.Pipeline) {
		p.Do("PING")
		p.Do("PING")
		if _, err := p.Exec(t.Context()); err != nil {
			t.Error(err)
		}
	}
	ctx := t.Context()
	client.Do(ctx, "SET", "key", "text")
	client.Do(ctx, "INCR", "key")
	client.Do(ctx, "SELECT", 1)
	client.Do(ctx, "BLPOP", "none", 0.01)
	client.DoExclusive(ctx, "GET", "key")
	client.DoExclusive(ctx, "WATCH", "key")
	pipeline(client.Pipeline())
	if err := client.WithConn(ctx, func(c *evenkeel.Conn) error {
		c.Do(ctx, "WATCH", "key")
		pipeline(c.Pipeline())
		return nil
	}); err != nil {
		t.Error(err)
	}
	dialed.Do(ctx, "PING")
	pipeline(dialed.Pipeline())

	type call struct {
		Name               string
		Lane               evenkeel.Lane
		Commands, Attempts int
		Failed             bool
	}
	var got []call
	for _, e := range heard {
		got = append(got, call{e.Name, e.Lane, e.Commands, e.Attempts, e.Err != nil})
		if e.Start.IsZero() || e.Duration <= 0 && e.Attempts > 0 {
			t.Errorf("%s: start %v, duration %v", e.Name, e.Start, e.Duration)
		}
	}
	want := []call{
		{"SET", evenkeel.LaneShared, 1, 1, false},
		{"INCR", evenkeel.LaneShared, 1, 1, true},
		{"SELECT", 0, 1, 0, true},
		{"BLPOP", evenkeel.LaneBlocking, 1, 1, false},
		{"GET", evenkeel.LaneExclusive, 1, 1, false},
		{"WATCH", evenkeel.LaneExclusive, 1, 0, true},
		{"pipeline", evenkeel.LaneShared, 2, 1, false},
		{"WATCH", evenkeel.LaneExclusive, 1, 1, false},
		{"pipeline", evenkeel.LaneExclusive, 2, 1, false},
		{"PING", 0, 1, 1, false},
		{"pipeline", 0, 2, 1, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls heard of (-want +got):\n%s", diff)
	}
}
