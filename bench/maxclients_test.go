package bench_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

func smallMaxClients() bench.MaxClientsOptions {
	o := bench.DefaultMaxClientsOptions()
	o.Limit, o.Attempts, o.Callers = 20, 5, 3
	o.Watch, o.Recover = 150*time.Millisecond, 10*time.Second
	return o
}

func TestMaxClients(t *testing.T) {
	noLeaks(t)
	r, err := bench.MaxClients(t.Context(), smallMaxClients())
	if err != nil {
		t.Fatal(err)
	}
	if l := r.Limits; l.Asked == nil || *l.Asked != 20 || l.Effective == nil || *l.Effective != 20 {
		t.Errorf("limits %+v", l)
	}
	if p := r.Ramp; p == nil || p.Before+p.Accepted != 20 || p.Refused != 5 || p.Failed != 0 || p.AcceptP50Us <= 0 || p.RefuseP50Us <= 0 || p.RefuseMaxUs < p.RefuseP50Us ||
		!contains(p.RefuseText, "max number of clients reached") {
		t.Errorf("ramp %+v", p)
	}
	if n := r.Newcomer; n == nil || !n.Connected || n.Said != "-ERR max number of clients reached" || n.Ended == "open" || n.AfterUs <= 0 {
		t.Errorf("newcomer %+v", n)
	}
	if s := r.Reserved; s == nil || s.PingP50Us <= 0 || s.Clients != 20 || s.Listed != 20 || s.Rejected == nil || *s.Rejected != 6 {
		t.Errorf("reserved %+v", s)
	}
	if c := r.Client; c == nil || c.Served != 0 || c.Calls < 10 || c.Dials < 1 || c.Dials >= c.Calls || !contains(c.Error, "max number of clients reached") {
		t.Errorf("client %+v", c)
	}
	if b := r.Recovery; b == nil || b.NewcomerMs == nil || b.ClientMs == nil || *b.NewcomerMs <= 0 || *b.ClientMs <= 0 {
		t.Errorf("recovery %+v", b)
	}
}

func TestMaxClientsGivenServer(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithMaxClients(25))
	o := smallMaxClients()
	o.Target, o.Disturb = bench.Target{Network: "tcp", Address: s.Addr()}, true
	r, err := bench.MaxClients(t.Context(), o)
	if blamed, ok := errors.AsType[*bench.OptionError](err); r != nil || !ok || blamed.Option != "limit" || !contains(blamed.Problem, "--limit 25") {
		t.Errorf("%+v, %v", r, err)
	}
	o.Limit = 30
	r, err = bench.MaxClients(t.Context(), o)
	if err != nil || r.Limits.Asked != nil || *r.Limits.Effective != 25 || r.Ramp.Before+r.Ramp.Accepted != 25 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestMaxClientsCancelled(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := smallMaxClients()
	o.Watch = time.Minute
	o.Progress = func(e bench.Event) {
		if contains(e.Phase, "at a full server") && e.Elapsed > 0 {
			cancel()
		}
	}
	r, err := bench.MaxClients(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || r.Ramp == nil || r.Client == nil || r.Recovery != nil {
		t.Fatalf("%+v, %v", r, err)
	}
}

// maxClients is a result as the field has seen it.
func maxClients() *bench.MaxClientsResult {
	r := bench.NewMaxClientsResult(env(bench.ServerPrivate), bench.DefaultMaxClientsOptions())
	r.Limits = bench.MaxClientsLimits{Asked: new(100), Effective: new(100), Descriptors: new(int64(132))}
	r.Ramp = &bench.MaxClientsRamp{
		Before: 2, Accepted: 98, Refused: 50, AcceptP50Us: 121, AcceptP99Us: 310, RefuseP50Us: 74, RefuseMaxUs: 190,
		RefuseText: "ERR max number of clients reached",
	}
	r.Newcomer = &bench.MaxClientsNewcomer{Connected: true, Said: "-ERR max number of clients reached", Ended: "closed", AfterUs: 61}
	r.Reserved = &bench.MaxClientsReserved{PingP50Us: 22, Clients: 100, Listed: 100, Rejected: new(int64(51))}
	r.Client = &bench.MaxClientsClient{Calls: 24_000, FailP50Us: 4.1, FailMaxUs: 240, Dials: 9, Error: "dial 127.0.0.1:6379: ERR max number of clients reached; next attempt in 1.2 s"}
	r.Recovery = &bench.MaxClientsRecovery{ClosedMs: 2.4, NewcomerMs: new(0.9), ClientMs: new(1_240.0)}
	return r
}

func TestMaxClientsSentences(t *testing.T) {
	r := maxClients()
	r.Limits.Effective, r.Recovery.ClientMs = new(68), nil
	var text strings.Builder
	if err := r.Text(&text, 200); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lowered its maxclients from 100 to 68", "for want of file descriptors", "not in time"} {
		if !contains(text.String(), want) {
			t.Errorf("%q is not in %s", want, text.String())
		}
	}
}
