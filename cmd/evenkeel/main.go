// Command evenkeel shows what connections to Redis and Valkey cost, on a server
// of yours or on none, and how Evenkeel handles them. It is flags and wiring
// only: the command line is package internal/cli, the measuring is package
// bench. Run evenkeel --help, or go run ./cmd/evenkeel demo.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/internal/cli"
	"github.com/evenkeel-go/evenkeel/internal/cli/embedded"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an orderly end, the second kills as usual.
	context.AfterFunc(ctx, stop)
	app := cli.App{
		Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Experiments: cli.Experiments{
			Demo: bench.Demo, Churn: bench.Churn, Connect: bench.Connect, Storm: bench.Storm,
			Idle:          bench.Idle,
			MaxClients:    bench.MaxClients,
			SlowReaders:   bench.SlowReaders,
			Layers:        bench.Layers,
			Zones:         bench.Zones,
			Pipeline:      bench.Pipeline,
			Pool:          bench.Pool,
			Run:           bench.Run,
			SLO:           bench.SLO,
			Agent:         bench.Agent,
			Compare:       bench.Compare,
			StartEmbedded: embedded.Start,
		},
	}
	return app.Run(ctx, os.Args[1:])
}
