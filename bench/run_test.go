package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// smallRun sends so many requests of the default workload over few keys.
func smallRun(requests int64) bench.RunOptions {
	o := bench.DefaultRunOptions()
	o.Workload.Keys.Count = 500
	o.Conns, o.Workers, o.Requests, o.Duration, o.Warmup = 8, 1, requests, 0, 0
	o.Interval = 50 * time.Millisecond
	return o
}

func given(s *evenkeeltest.Server) bench.Target {
	return bench.Target{Network: "tcp", Address: s.Addr()}
}

// ask runs a command on a server and gives its reply as text.
func ask(t *testing.T, s *evenkeeltest.Server, args ...string) string {
	t.Helper()
	v, err := s.Do(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(v)
}

func TestRunCountsEachRequest(t *testing.T) {
	noLeaks(t)
	for _, portable := range []bool{false, true} {
		o := smallRun(5_000)
		o.Portable, o.Depth = portable, 4
		r, err := bench.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.OK != 5_000 || r.Failed != 0 || r.Total.OK != 5_000 || len(r.Classes) != 2 || r.Classes[0].OK+r.Classes[1].OK != 5_000 {
			t.Errorf("%d OK, %d failed, classes %+v", r.OK, r.Failed, r.Classes)
		}
		if get := r.Classes[0]; get.Name != "GET" || get.Misses != 0 || get.Hits != get.OK {
			t.Errorf("after the preload all keys are there: %+v", get)
		}
		if r.Preload == nil || r.Preload.Keys != 500 || r.Loop != bench.LoopClosed || r.Total.Response != nil || r.Total.Service.Count != 5_000 {
			t.Errorf("preload %+v, loop %s", r.Preload, r.Loop)
		}
		if r.Server == nil || r.Server.Commands < 5_000 || r.Server.Connections != 8 {
			t.Errorf("the server counted %+v", r.Server)
		}
		var seconds int64
		for _, s := range r.Seconds {
			seconds += s.OK
		}
		if seconds != 5_000 {
			t.Errorf("the time series has %d", seconds)
		}
	}
}

func TestRunOpenLoopHasTwoClocks(t *testing.T) {
	noLeaks(t)
	o := smallRun(0)
	o.Rate, o.Duration = 1_000, 300*time.Millisecond
	r, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Loop != bench.LoopOpen || r.Scheduled != 300 || r.Total.Response == nil || r.Total.Response.Count != r.OK || r.Busy == nil || r.Late == nil {
		t.Errorf("%+v", r)
	}
	if r.Total.Response.MeanUs < r.Total.Service.MeanUs {
		t.Errorf("a response of %v µs on average, which the service of %v µs is a part of", r.Total.Response.MeanUs, r.Total.Service.MeanUs)
	}
}

// Error replies are no successes: they are counted by what they say, and in no time.
func TestRunErrorsAreNoSuccesses(t *testing.T) {
	noLeaks(t)
	o := smallRun(2_000)
	o.Workload = workload.Workload{
		Keys:     workload.Keys{Count: 10, Prefix: bench.KeyPrefix, Digits: 2},
		Commands: []workload.Command{{Command: "SET __key__ text"}, {Command: "LPUSH __key__ x"}},
		Preload:  "SET __key__ text",
	}
	r, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed == 0 || r.Failed != r.Errors["WRONGTYPE"] || r.OK+r.Failed != 2_000 || r.Total.Service.Count != r.OK {
		t.Errorf("%d OK with %d times, %d failed: %v", r.OK, r.Total.Service.Count, r.Failed, r.Errors)
	}
	var text strings.Builder
	if err := r.Text(&text, 100); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "WRONGTYPE") {
		t.Errorf("the page does not say what failed:\n%s", text.String())
	}
}

func TestRunLeavesNoKeys(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	o := smallRun(1_000)
	o.Target, o.Disturb = given(s), true // the machine may be busy with other tests
	if _, err := bench.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if n := ask(t, s, "DBSIZE"); n != "0" {
		t.Errorf("%s keys are left", n)
	}
	o.Keep = true
	if _, err := bench.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if n := ask(t, s, "DBSIZE"); n != "500" {
		t.Errorf("%s keys of 500 were kept", n)
	}
}

// A database with keys of others is left alone, and with --disturb nothing is removed from it.
func TestRunAmongOthersKeys(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	ask(t, s, "SET", "user:1", "precious")
	o := smallRun(100)
	o.Target = given(s)
	o.Workload.Keys.Prefix = "user:"
	o.Workload.Keys.Digits = 0
	_, err := bench.Run(t.Context(), o)
	if refused, ok := errors.AsType[*bench.RefusedError](err); !ok || !strings.Contains(refused.Error(), "1 key") {
		t.Fatalf("%v", err)
	}
	o.Workload.Commands = []workload.Command{{Command: "GET __key__"}}
	o.SkipPreload, o.Disturb = true, true
	if _, err := bench.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if v := ask(t, s, "GET", "user:1"); v != "precious" {
		t.Errorf("user:1 is %q", v)
	}
}

func TestRunInterrupted(t *testing.T) {
	noLeaks(t)
	o := smallRun(0)
	o.Duration = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Observe = func(i *raw.Interval) {
		if i.OK() > 0 {
			cancel()
		}
	}
	r, err := bench.Run(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || r.OK == 0 {
		t.Fatalf("%v, %+v", err, r)
	}
}

func TestRunPrivateThings(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithPassword("a-secret"), evenkeeltest.WithTLS())
	o := smallRun(200)
	o.Target = bench.Target{Network: "tcp", Address: s.TLSAddr(), Password: "a-secret", DB: 3, TLS: s.TLSConfig()}
	o.Disturb, o.RESP3 = true, true
	r, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if r.OK != 200 || !r.Params.TLS || strings.Contains(string(doc), "a-secret") {
		t.Errorf("%d OK; the password in the result: %v", r.OK, strings.Contains(string(doc), "a-secret"))
	}
	o.Target.Password = "wrong"
	if _, err := bench.Run(t.Context(), o); err == nil || strings.Contains(err.Error(), "wrong\"") {
		t.Errorf("with a wrong password: %v", err)
	}
}

func TestRunOptions(t *testing.T) {
	for name, change := range map[string]func(*bench.RunOptions){
		"conns":       func(o *bench.RunOptions) { o.Conns = 0 },
		"workers":     func(o *bench.RunOptions) { o.Workers = o.Conns + 1 },
		"depth":       func(o *bench.RunOptions) { o.Depth = 1 << 20 },
		"duration":    func(o *bench.RunOptions) { o.Duration = 0 },
		"rate":        func(o *bench.RunOptions) { o.Rate = -1 },
		"poisson":     func(o *bench.RunOptions) { o.Poisson = true },
		"scale-at":    func(o *bench.RunOptions) { o.Scale = &bench.Schedule{Steps: []bench.ScheduleStep{{Factor: 2}}} },
		"interval":    func(o *bench.RunOptions) { o.Interval = 0 },
		"requests":    func(o *bench.RunOptions) { o.Requests = -1 },
		"commands[0]": func(o *bench.RunOptions) { o.Workload.Commands[0].Command = "" },
	} {
		o := bench.DefaultRunOptions()
		change(&o)
		if err := o.Validate(); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := bench.DefaultRunOptions().Validate(); err != nil {
		t.Error(err)
	}
}

func TestSchedule(t *testing.T) {
	s, err := bench.ParseSchedule("8h=1.5, 20h=0.4", 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[time.Duration]float64{
		0: 1, 8*time.Hour - 1: 1, 8 * time.Hour: 1.5, 19 * time.Hour: 1.5, 20 * time.Hour: 0.4,
		24 * time.Hour: 0.4, 31 * time.Hour: 0.4, 32 * time.Hour: 1.5, 24*13*time.Hour + 21*time.Hour: 0.4,
	} {
		if got := s.Factor(at); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
	for _, bad := range []string{"8h", "8h=x", "9=2", "8h=1,7h=2", "25h=1", "1h=0", "1h=1e9", ","} {
		if _, err := bench.ParseSchedule(bad, 24*time.Hour); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if _, err := bench.ParseSchedule("", time.Hour); err == nil {
		t.Error("a season without steps was taken")
	}
}
