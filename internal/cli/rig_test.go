package cli_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/internal/cli"
)

// fake stands in for the measuring functions: it records the options that the
// command line made, says something, and returns a small result.
type fake struct {
	demo     *bench.DemoOptions
	churn    *bench.ChurnOptions
	connect  *bench.ConnectOptions
	load     *bench.RunOptions
	storm    *bench.StormOptions
	slo      *bench.SLOOptions
	agent    *bench.AgentOptions
	compare  *bench.CompareOptions
	zones    *bench.ZonesOptions
	pipeline *bench.PipelineOptions
	pool     *bench.PoolOptions

	err    error  // returned beside the result
	none   bool   // no result
	during func() // called while it runs
	missed bool   // storm misses a promise
}

func env() bench.Environment {
	return bench.Environment{Time: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), ServerKind: bench.ServerPrivate, Server: "redis"}
}

func (f *fake) run(ctx context.Context, p bench.Progress) (interrupted bool, err error) {
	p.Send(bench.Event{Phase: "warm up", Total: time.Second})
	p.Send(bench.Event{Phase: "warm up", Elapsed: time.Second / 2, Total: time.Second})
	p.Send(bench.Event{Phase: "warm up", Note: "a note \x1b[2J"})
	if f.during != nil {
		f.during()
	}
	if ctx.Err() != nil {
		return true, ctx.Err()
	}
	return false, f.err
}

func (f *fake) experiments() cli.Experiments {
	return cli.Experiments{
		StartEmbedded: func() (bench.EmbeddedServer, error) { return nil, errors.New("not in this test") },
		Demo: func(ctx context.Context, o bench.DemoOptions) (*bench.DemoResult, error) {
			f.demo = &o
			r := bench.NewDemoResult(env())
			var err error
			r.Interrupted, err = f.run(ctx, o.Progress)
			return r, err
		},
		Churn: func(ctx context.Context, o bench.ChurnOptions) (*bench.ChurnResult, error) {
			f.churn = &o
			r := bench.NewChurnResult(env(), o)
			var err error
			r.Interrupted, err = f.run(ctx, o.Progress)
			if f.none {
				return nil, err
			}
			return r, err
		},
		Connect: func(ctx context.Context, o bench.ConnectOptions) (*bench.ConnectResult, error) {
			f.connect = &o
			_, err := f.run(ctx, o.Progress)
			return bench.NewConnectResult(env(), o), err
		},
		Idle: func(ctx context.Context, o bench.IdleOptions) (*bench.IdleResult, error) {
			_, err := f.run(ctx, o.Progress)
			return bench.NewIdleResult(env(), o), err
		},
		MaxClients: func(ctx context.Context, o bench.MaxClientsOptions) (*bench.MaxClientsResult, error) {
			_, err := f.run(ctx, o.Progress)
			return bench.NewMaxClientsResult(env(), o), err
		},
		SlowReaders: func(ctx context.Context, o bench.SlowReadersOptions) (*bench.SlowReadersResult, error) {
			_, err := f.run(ctx, o.Progress)
			return bench.NewSlowReadersResult(env(), o), err
		},
		Layers: func(ctx context.Context, o bench.LayersOptions) (*bench.LayersResult, error) {
			_, err := f.run(ctx, o.Progress)
			return bench.NewLayersResult(env(), o), err
		},
		Zones: func(ctx context.Context, o bench.ZonesOptions) (*bench.ZonesResult, error) {
			f.zones = &o
			_, err := f.run(ctx, o.Progress)
			return bench.NewZonesResult(env(), o), err
		},
		Pipeline: func(ctx context.Context, o bench.PipelineOptions) (*bench.PipelineResult, error) {
			f.pipeline = &o
			_, err := f.run(ctx, o.Progress)
			return bench.NewPipelineResult(env(), o), err
		},
		Pool: func(ctx context.Context, o bench.PoolOptions) (*bench.PoolResult, error) {
			f.pool = &o
			_, err := f.run(ctx, o.Progress)
			return bench.NewPoolResult(env(), o), err
		},
		Run: func(ctx context.Context, o bench.RunOptions) (*bench.RunResult, error) {
			f.load = &o
			_, err := f.run(ctx, o.Progress)
			r := bench.NewRunResult(env(), o)
			if f.missed {
				r.Failed, r.Errors["OOM"] = 12, 12
			}
			return r, err
		},
		Compare: func(ctx context.Context, o bench.CompareOptions) (*bench.CompareResult, error) {
			f.compare = &o
			_, err := f.run(ctx, o.Progress)
			return &bench.CompareResult{Schema: bench.CompareSchema, Paired: true}, err
		},
		Agent: func(ctx context.Context, o bench.AgentOptions) error {
			f.agent = &o
			_, err := f.run(ctx, o.Progress)
			return err
		},
		SLO: func(ctx context.Context, o bench.SLOOptions) (*bench.SLOResult, error) {
			f.slo = &o
			_, err := f.run(ctx, o.Load.Progress)
			r := bench.NewSLOResult(env(), o)
			r.Answer = bench.SLOAnswer{Held: 1_000, Confirmed: o.Confirm, Ending: bench.EndingEverything}
			return r, err
		},
		Storm: func(ctx context.Context, o bench.StormOptions) (*bench.StormResult, error) {
			f.storm = &o
			_, err := f.run(ctx, o.Progress)
			r := bench.NewStormResult(env(), o)
			if f.missed {
				r.Verdicts = []bench.Verdict{{Name: "open connections", Measured: "101", Limit: "100"}}
			}
			return r, err
		},
	}
}

type outcome struct {
	code           int
	stdout, stderr string
}

func runWith(ctx context.Context, f *fake, environ map[string]string, args ...string) outcome {
	var out, errs bytes.Buffer
	app := cli.App{
		Stdout: &out, Stderr: &errs,
		Getenv:      func(name string) string { return environ[name] },
		Experiments: f.experiments(),
	}
	code := app.Run(ctx, args)
	return outcome{code, out.String(), errs.String()}
}

func run(t *testing.T, f *fake, args ...string) outcome {
	t.Helper()
	return runWith(t.Context(), f, nil, args...)
}
