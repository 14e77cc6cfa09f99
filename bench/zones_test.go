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

// gone is an address where nobody listens.
func gone(t *testing.T) string {
	t.Helper()
	ln, err := evenkeeltest.ListenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}

func endpoints(addresses ...string) []bench.Target {
	var out []bench.Target
	for _, a := range addresses {
		out = append(out, bench.Target{Network: "tcp", Address: a})
	}
	return out
}

func TestZones(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithReplicas(1))
	relay := evenkeeltest.StartRelay(t, s.Addr())
	relay.Delay(evenkeeltest.ToClient, 20*time.Millisecond)
	o := bench.DefaultZonesOptions()
	o.Targets = endpoints(relay.Addr(), s.Addr(), gone(t), s.Replicas()[0].Addr())
	o.Duration, o.Interval, o.ConnectEvery = time.Second, 5*time.Millisecond, 2
	r, err := bench.Zones(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Endpoints) != 4 || len(r.Seconds) == 0 || r.Nearest == nil || (*r.Nearest != 1 && *r.Nearest != 3) {
		t.Fatalf("%+v", r)
	}
	for i, e := range r.Endpoints {
		if i == 2 {
			if e.Pings != 0 || e.Errors == 0 || e.Error == "" || e.Distance != bench.DistanceUnknown || e.Farther != nil || e.PingP50Us != 0 {
				t.Errorf("nobody listens: %+v", e)
			}
			continue
		}
		if e.Pings == 0 || e.Errors != 0 || e.Server == "" || e.Connects == 0 || e.TCPP50Us <= 0 || e.ConnectP50Us < e.TCPP50Us ||
			e.PingMinUs > e.PingP50Us || e.PingP50Us > e.PingP99Us || e.PingP99Us > e.PingMaxUs || e.Over3Ms > e.Over1Ms {
			t.Errorf("%+v", e)
		}
	}
	far := r.Endpoints[0]
	if far.Distance != bench.DistanceFar || far.PingMinUs < 20_000 || far.Over3Ms != 1 || far.Farther == nil || far.Farther.Median < 10_000 {
		t.Errorf("behind 20 ms: %+v", far)
	}
	if r.Endpoints[1].Role != "master" || r.Endpoints[3].Role != "slave" {
		t.Errorf("roles %q and %q", r.Endpoints[1].Role, r.Endpoints[3].Role)
	}
	if lead := r.Page().Lead; !contains(lead, far.Address+" takes") || !contains(lead, "Without any answer: "+r.Endpoints[2].Address) {
		t.Error(lead)
	}
}

// An endpoint that lets its callers run into their timeouts takes no time from the others.
func TestZonesSilentEndpoint(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	relay := evenkeeltest.StartRelay(t, s.Addr())
	relay.Hold(evenkeeltest.ToClient)
	o := bench.DefaultZonesOptions()
	o.Targets = endpoints(relay.Addr(), s.Addr())
	o.Duration, o.Interval, o.Timeout = time.Second, time.Millisecond, 200*time.Millisecond
	r, err := bench.Zones(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// One dial before the time counts, and no more than five in it.
	if silent := r.Endpoints[0]; silent.Errors < 1 || silent.Errors > 6 || silent.Pings != 0 || !contains(silent.Error, "handshake") {
		t.Errorf("%+v", silent)
	}
	// Had each of its dials been waited for, there would be one ping between two of them.
	if r.Nearest == nil || *r.Nearest != 1 || r.Endpoints[1].Pings < 20 {
		t.Errorf("%+v", r.Endpoints[1])
	}
}

func TestZonesNobodyAnswers(t *testing.T) {
	noLeaks(t)
	o := bench.DefaultZonesOptions()
	o.Targets, o.Duration = endpoints(gone(t)), 100*time.Millisecond
	r, err := bench.Zones(t.Context(), o)
	if err == nil || !contains(err.Error(), "no endpoint answered") || r == nil || r.Nearest != nil || !contains(r.Page().Lead, "No endpoint answered") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestZonesCancelled(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := bench.DefaultZonesOptions()
	o.Targets, o.Duration = endpoints(s.Addr()), time.Hour
	o.Progress = func(e bench.Event) {
		if e.Elapsed > 0 {
			cancel()
		}
	}
	r, err := bench.Zones(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || r.Endpoints[0].Pings == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestZonesOptions(t *testing.T) {
	for want, change := range map[string]func(*bench.ZonesOptions){
		"no endpoint is given":       func(o *bench.ZonesOptions) { o.Targets = nil },
		"without an address is none": func(o *bench.ZonesOptions) { o.Targets = append(o.Targets, bench.Target{}) },
		"are too many":               func(o *bench.ZonesOptions) { o.Targets = make([]bench.Target, 101) },
		"connect-every: 0":           func(o *bench.ZonesOptions) { o.ConnectEvery = 0 },
	} {
		o := bench.DefaultZonesOptions()
		o.Targets = endpoints("a:6379")
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&o)
		if r, err := bench.Zones(t.Context(), o); err == nil || r != nil || !contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// zones is a result as two zones of a cloud give it.
func zones() *bench.ZonesResult {
	o := bench.DefaultZonesOptions()
	o.Targets = endpoints("primary.internal:6379", "replica-a.internal:6379", "replica-b.internal:6379", "old.internal:6379")
	e := env(bench.ServerGiven)
	e.Address = "redis://primary.internal:6379"
	r := bench.NewZonesResult(e, o)
	add := func(role string, us, farther float64, distance bench.Distance) {
		one := bench.ZonesEndpoint{Address: "redis://" + o.Targets[len(r.Endpoints)].Address, Distance: distance}
		if us == 0 {
			one.Errors, one.Error = 3, "connection refused"
		} else {
			one.Server, one.Version, one.Role, one.Pings, one.Connects = "redis", "7.0.15", role, 500, 25
			one.PingMinUs, one.PingP50Us, one.PingP95Us, one.PingP99Us, one.PingMaxUs = us*0.8, us, us*1.2, us*1.6, us*4
			one.ConnectP50Us, one.ConnectP99Us, one.TCPP50Us = us*2.2, us*3, us*1.1
			one.Over1Ms, one.Over3Ms = min(us/4_000, 1), min(us/40_000, 1)
		}
		if farther != 0 {
			one.Farther = &bench.Estimate{Median: farther, Low: farther - 30, High: farther + 30, Rounds: 500}
		}
		r.Endpoints = append(r.Endpoints, one)
	}
	add("master", 2_400, 1_900, bench.DistanceZone)
	add("slave", 500, 0, bench.DistanceNear)
	add("slave", 510, 10, bench.DistanceNear)
	add("", 0, 0, bench.DistanceUnknown)
	r.Nearest, r.Tied = new(1), []int{2}
	for n := range 5 {
		t := float64(n+1) * 2
		p := []*float64{new(2_400 + 10*t), new(500 + t), new(510 - t), nil}
		r.Seconds = append(r.Seconds, bench.ZonesSecond{T: t, P50Us: p})
	}
	return r
}

func TestZonesSentences(t *testing.T) {
	r := zones()
	for _, want := range []string{
		"redis://replica-a.internal:6379 answers a PING in 500 µs (p50); redis://replica-b.internal:6379 cannot be told from it.",
		"redis://primary.internal:6379 takes 1.9 ms more (1.87 ms to 1.93 ms): a caller who waits for each reply gets 417 a second there and 2,000 here. Prefer",
		"Without any answer: redis://old.internal:6379.",
	} {
		if lead := r.Page().Lead; !strings.Contains(lead, want) {
			t.Errorf("%q is not in %q", want, lead)
		}
	}
	r.Endpoints, r.Nearest, r.Tied = r.Endpoints[:1], new(0), []int{}
	r.Endpoints[0].Farther = nil
	if lead := r.Page().Lead; !contains(lead, "not this zone's distance") {
		t.Error(lead)
	}
}
