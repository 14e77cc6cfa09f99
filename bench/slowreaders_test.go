package bench_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// smallReaders ask for more than the kernel's buffers hold, in little.
func smallReaders() bench.SlowReadersOptions {
	o := bench.DefaultSlowReadersOptions()
	o.Readers, o.ValueSize, o.Rate, o.Limit = 4, 16<<20, 16<<10, 24<<20
	o.Watch = 500 * time.Millisecond
	return o
}

func TestSlowReaders(t *testing.T) {
	noLeaks(t)
	r, err := bench.SlowReaders(t.Context(), smallReaders())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Phases) != 2 {
		t.Fatalf("%d phases", len(r.Phases))
	}
	free, held := r.Phases[0], r.Phases[1]
	if *free.LimitBytes != 0 || *free.Evicted != 0 || free.Lost != 0 || *held.LimitBytes != 24<<20 {
		t.Errorf("without a limit %+v, with one %+v", free, held)
	}
	if free.UsedGrowth < 32<<20 || free.UsedGrowth > 128<<20 || *free.OutputMax < 8<<20 || *free.ClientsMax < 16<<20 {
		t.Errorf("without a limit: grown by %d, output %d, clients %d", free.UsedGrowth, *free.OutputMax, *free.ClientsMax)
	}
	if *held.Evicted < 1 || held.Lost != int(*held.Evicted) {
		t.Errorf("with a limit: %d evicted, %d lost", *held.Evicted, held.Lost)
	}
	for _, p := range r.Phases {
		if len(p.Points) < 2 || p.PingBeforeP50Us <= 0 || p.PingP50Us <= 0 || p.PingMaxUs < p.PingP99Us || p.PingErrors != 0 || p.Finished != 0 || p.ReleasedMs == nil {
			t.Errorf("%+v", p)
		}
		for _, at := range p.Points {
			if at.Used <= p.Before.Used || at.Output == nil || at.Clients == nil || at.Readers < 0 || at.Readers > 4 {
				t.Errorf("%+v", at)
			}
		}
	}
	if last := held.Points[len(held.Points)-1]; *last.Output > 24<<20 {
		t.Errorf("the limit is not kept: %+v", last)
	}
}

func TestSlowReadersGivenServer(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithConfig("maxmemory-clients", "1gb"))
	o := smallReaders()
	o.Target, o.Watch, o.Rate = bench.Target{Network: "tcp", Address: s.Addr()}, 200*time.Millisecond, 0
	r, err := bench.SlowReaders(t.Context(), o)
	if err != nil || len(r.Phases) != 1 || *r.Phases[0].LimitBytes != 1<<30 || r.Phases[0].UsedGrowth < 16<<20 {
		t.Errorf("%+v, %v", r, err)
	}
	o.Disturb = true
	r, err = bench.SlowReaders(t.Context(), o)
	if err != nil || len(r.Phases) != 2 || *r.Phases[0].LimitBytes != 0 || r.Phases[1].Lost == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if got, err := s.Do(t.Context(), "CONFIG", "GET", "maxmemory-clients"); err != nil || fmt.Sprint(got) != "[maxmemory-clients 1073741824]" {
		t.Errorf("the server's own limit is now %v, %v", got, err)
	}
	noKeys(t, s)
}

func TestSlowReadersCancelled(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := smallReaders()
	o.Target, o.Disturb, o.Watch = bench.Target{Network: "tcp", Address: s.Addr()}, true, time.Minute
	o.Progress = func(e bench.Event) {
		if contains(e.Phase, "no limit") && !contains(e.Phase, "before") && e.Elapsed > 300*time.Millisecond {
			cancel()
		}
	}
	r, err := bench.SlowReaders(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || len(r.Phases) != 1 || len(r.Phases[0].Points) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got, err := s.Do(t.Context(), "CONFIG", "GET", "maxmemory-clients"); err != nil || fmt.Sprint(got) != "[maxmemory-clients 0]" {
		t.Errorf("the server's own limit is now %v, %v", got, err)
	}
	noKeys(t, s)
}

// slowReaders is a result as the field has seen it.
func slowReaders() *bench.SlowReadersResult {
	r := bench.NewSlowReadersResult(env(bench.ServerPrivate), bench.DefaultSlowReadersOptions())
	phase := func(limit, grown, evicted int64) bench.SlowReadersPhase {
		p := bench.SlowReadersPhase{
			LimitBytes: new(limit), Before: bench.SlowReadersPoint{Used: 12 << 20, Clients: new(int64(40_000))},
			UsedGrowth: grown, ClientsMax: new(grown), OutputMax: new(int64(9_800_000)), Evicted: new(evicted), Lost: int(evicted),
			PingBeforeP50Us: 41, PingBeforeP99Us: 120, PingP50Us: 48, PingP99Us: 2_300, PingMaxUs: 61_000, ReleasedMs: new(3.4),
		}
		for i := range 40 {
			p.Points = append(p.Points, bench.SlowReadersPoint{
				T: float64(i+1) / 10, Used: 12<<20 + grown - int64(i)*100_000, Clients: new(grown - int64(i)*100_000),
				Output: new(grown - int64(i)*110_000), Readers: 20 - int(evicted), PingMaxUs: 300,
			})
		}
		return p
	}
	r.Phases = append(r.Phases, phase(0, 200<<20, 0), phase(64<<20, 64<<20, 14))
	return r
}

func TestSlowReadersSentences(t *testing.T) {
	r := slowReaders()
	if lead := r.Page().Lead; !contains(lead, "grew by 200 MiB") || !contains(lead, "closed 14 clients") || !contains(lead, "kept 136 MiB from the readers") {
		t.Error(lead)
	}
	r.Phases = r.Phases[:1]
	if lead := r.Page().Lead; !contains(lead, "Set maxmemory-clients") {
		t.Error(lead)
	}
	r.Phases[0].UsedGrowth, r.Phases[0].LimitBytes = 1<<20, nil
	if lead := r.Page().Lead; !contains(lead, "That is little") || contains(lead, "Without a limit") {
		t.Error(lead)
	}
}
