package bench_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
)

// options is what every experiment's options can do.
type options interface {
	Validate() error
	Plan() bench.Plan
}

func with[T options](o T, change func(*T)) options {
	change(&o)
	return o
}

func TestDefaultsAreValid(t *testing.T) {
	for _, o := range []options{
		bench.DefaultChurnOptions(), bench.DefaultConnectOptions(), bench.DefaultStormOptions(),
		bench.DefaultIdleOptions(), bench.DefaultLayersOptions(), bench.DefaultSlowReadersOptions(), bench.DefaultMaxClientsOptions(),
		bench.DefaultDepthOptions(), bench.DefaultPoolSizeOptions(), bench.DefaultDemoOptions(),
	} {
		if err := o.Validate(); err != nil {
			t.Errorf("%T: %v", o, err)
		}
		if p := o.Plan(); len(p.Steps) == 0 || p.Length <= 0 || p.Conns < 2 || p.Memory <= 0 {
			t.Errorf("%T: plan %+v", o, p)
		}
	}
	if demo := bench.DefaultDemoOptions().Plan().Length; demo < 15*time.Second || demo > 45*time.Second {
		t.Errorf("the demo takes %v, want about half a minute", demo)
	}
}

func TestBounds(t *testing.T) {
	type (
		churn   = bench.ChurnOptions
		connect = bench.ConnectOptions
		storm   = bench.StormOptions
		depth   = bench.DepthOptions
		size    = bench.PoolSizeOptions
	)
	for _, c := range []struct {
		o      options
		option string // the one to blame; "" if legal
	}{
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.Size = 0 }), ""},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.Overflow = 0 }), ""},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.CreateBurst = 0 }), ""},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.Interval = 0 }), ""},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.Size, o.Overflow = 0, 0 }), "overflow"},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.Size = -1 }), "size"},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.Parallel = 0 }), "parallel"},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.Interval = -1 }), "interval"},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.CreateInterval = 0 }), "create-interval"},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.OverflowDrain = 0 }), "overflow-drain"},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.Duration = 100 * time.Millisecond }), ""},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.Duration = 99 * time.Millisecond }), "duration"},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.Modes = nil }), "mode"},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.Target.Password = "x" }), "url"},
		{with(bench.DefaultChurnOptions(), func(o *churn) { o.Target = bench.Target{Network: "udp", Address: "x:1"} }), "url"},
		{with(bench.DefaultConnectOptions(), func(o *connect) { o.Requests = 99 }), "requests"},
		{with(bench.DefaultConnectOptions(), func(o *connect) { o.Callers, o.Requests = 500, 400 }), "callers"},
		{with(bench.DefaultConnectOptions(), func(o *connect) { o.Handshake = "" }), "handshake"},
		{with(bench.DefaultConnectOptions(), func(o *connect) { o.MaxRowTime = 0 }), "max-row-time"},
		{with(bench.DefaultStormOptions(), func(o *storm) { o.Timeout = 0 }), "timeout"},
		{with(bench.DefaultStormOptions(), func(o *storm) { o.Fault = "" }), "fault"},
		{with(bench.DefaultStormOptions(), func(o *storm) { o.Lane = "" }), "lane"},
		{with(bench.DefaultStormOptions(), func(o *storm) { o.Target = bench.Target{Network: "tcp", Address: "x:1"} }), "disturb"},
		{with(bench.DefaultIdleOptions(), func(o *bench.IdleOptions) { o.Conns = 0 }), "conns"},
		{with(bench.DefaultIdleOptions(), func(o *bench.IdleOptions) { o.Step = 4 }), "step"},
		{with(bench.DefaultIdleOptions(), func(o *bench.IdleOptions) { o.Settle = 0 }), ""},
		{with(bench.DefaultIdleOptions(), func(o *bench.IdleOptions) { o.Hold = 0 }), "hold"},
		{with(bench.DefaultMaxClientsOptions(), func(o *bench.MaxClientsOptions) { o.Target = bench.Target{Network: "tcp", Address: "x:1"} }), "disturb"},
		{with(bench.DefaultMaxClientsOptions(), func(o *bench.MaxClientsOptions) { o.Limit = 9 }), "limit"},
		{with(bench.DefaultSlowReadersOptions(), func(o *bench.SlowReadersOptions) { o.Rate = 0 }), ""},
		{with(bench.DefaultSlowReadersOptions(), func(o *bench.SlowReadersOptions) { o.Limit = 200 << 20 }), "limit"},
		{with(bench.DefaultLayersOptions(), func(o *bench.LayersOptions) { o.Layers = append(o.Layers, bench.LayerPlain) }), "layers"},
		{with(bench.DefaultLayersOptions(), func(o *bench.LayersOptions) { o.Layers = nil }), "layers"},
		{with(bench.DefaultLayersOptions(), func(o *bench.LayersOptions) { o.Rounds = 2 }), "rounds"},
		{with(bench.DefaultDepthOptions(), func(o *depth) { o.Depths = nil }), "depths"},
		{with(bench.DefaultDepthOptions(), func(o *depth) { o.Depths = []int{4, 4} }), "depths"},
		{with(bench.DefaultPoolSizeOptions(), func(o *size) { o.Sizes = []int{8, 0} }), "sizes"},
		{with(bench.DefaultDemoOptions(), func(o *bench.DemoOptions) { o.Embedded = true }), "embedded"},
	} {
		err := c.o.Validate()
		blamed, ok := errors.AsType[*bench.OptionError](err)
		switch {
		case c.option == "" && err != nil:
			t.Errorf("%+v: %v, want none", c.o, err)
		case c.option != "" && !ok:
			t.Errorf("%+v: %v, want an OptionError for %s", c.o, err, c.option)
		case c.option != "" && blamed.Option != c.option:
			t.Errorf("%+v: %v blamed, want %s", c.o, err, c.option)
		case c.option != "" && !strings.Contains(blamed.Problem, "give") && !strings.Contains(blamed.Problem, "add") && !strings.Contains(blamed.Problem, "host:port") && !strings.Contains(blamed.Problem, "leave"):
			t.Errorf("%v does not say what to do", err)
		}
	}
}

func TestTargetNeverShowsItsPassword(t *testing.T) {
	target := bench.Target{Network: "tcp", Address: "c:6379", Username: "u", Password: "s3cret", DB: 2, TLS: &tls.Config{}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, target) + fmt.Sprintf(verb, bench.ChurnOptions{Target: target}); strings.Contains(s, "s3cret") {
			t.Errorf("%s: %s", verb, s)
		}
	}
	if got := target.String(); got != "rediss://c:6379/2" {
		t.Errorf("String: %s", got)
	}
}

func TestChurnPlanKnowsTheModes(t *testing.T) {
	conns := func(m bench.ChurnMode) int {
		o := bench.DefaultChurnOptions()
		o.Modes = []bench.ChurnMode{m}
		return o.Plan().Conns
	}
	for mode, want := range map[bench.ChurnMode]int{
		bench.ChurnCloseSurplus: 501,
		bench.ChurnOverflow:     251,
		bench.ChurnLimited:      81,
		bench.ChurnShared:       3,
	} {
		if got := conns(mode); got != want {
			t.Errorf("%s: %d connections planned, want %d", mode, got, want)
		}
	}
}
