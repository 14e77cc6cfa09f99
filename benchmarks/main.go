package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/clients"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/pools"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/verdict"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// Exit codes.
const (
	exitDone   = 0
	exitFails  = 1 // something that must hold does not
	exitUsage  = 2
	exitFailed = 3 // the run itself failed
)

const usageHead = `usage: benchmarks <command> [flags]

commands:
  closed     GET and SET by many callers, with and without a deadline
  pipeline   explicit pipelines on one conn
  pool       taking a conn out of a pool and putting it back, no network
  allocs     heap allocations per GET and per SET
  memory     heap, stacks and goroutines of idle conns
  all        all of these, into one file
  raw        the load generator beside redis-benchmark: raw [-rounds N] [-peer PROGRAM]
  report     judge a file written by a run again: report [-verdicts] FILE

flags of a run:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with its surroundings as arguments.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	name, rest := "", []string{}
	if len(args) > 0 {
		name, rest = args[0], args[1:]
	}
	var code int
	var err error
	switch name {
	case "report":
		code, err = report(rest, stdout, stderr)
	case "raw":
		code, err = compareRaw(ctx, rest, stdout, stderr)
	default:
		code, err = measure(ctx, name, rest, stdout, stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintln(stderr, "benchmarks:", err) // nobody is left to tell if this fails
	}
	return code
}

// measure runs one experiment or all, and reports what was measured, also when it was
// interrupted.
func measure(ctx context.Context, name string, args []string, stdout, stderr io.Writer) (code int, err error) {
	s, err := parseSettings(name, args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone, err
	case err != nil:
		return exitUsage, err
	}
	server, err := evenkeeltest.Launch(ctx, s.serverOptions()...)
	if err != nil {
		return exitFailed, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()

	env := record.Here(ctx, append([]string{name}, args...), modules())
	env.Server = filepath.Base(server.Binary()) + " " + server.Version()
	env.Setup = clients.Setups()
	env.Seed = s.seed
	file, err := os.Create(s.out)
	if err != nil {
		return exitFailed, fmt.Errorf("raw results: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	writer, err := record.NewWriter(file, env)
	if err != nil {
		return exitFailed, err
	}

	measured := record.Run{Environment: env}
	sink := func(slot record.Slot) error {
		measured.Slots = append(measured.Slots, slot)
		return writer.Slot(slot)
	}
	runErr := s.runAll(ctx, server, sink, stderr)
	failed, reportErr := verdict.Report(stdout, measured, true)
	if _, err := fmt.Fprintf(stdout, "\nraw results: %s\n", s.out); err != nil {
		reportErr = errors.Join(reportErr, err)
	}
	if err := errors.Join(runErr, reportErr); err != nil {
		return exitFailed, err
	}
	return exitFor(failed), nil
}

func exitFor(failed int) int {
	if failed > 0 {
		return exitFails
	}
	return exitDone
}

// report judges a file again.
func report(args []string, stdout, stderr io.Writer) (int, error) {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(stderr)
	short := flags.Bool("verdicts", false, "print only what must hold, not the tables of each case")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitDone, err
		}
		return exitUsage, err
	}
	if flags.NArg() != 1 {
		return exitUsage, errors.New("report needs one FILE")
	}
	file, err := os.Open(flags.Arg(0))
	if err != nil {
		return exitFailed, err
	}
	run, readErr := record.Read(file)
	if err := file.Close(); err != nil {
		return exitFailed, err
	}
	if readErr != nil && len(run.Slots) == 0 {
		return exitFailed, readErr
	}
	failed, err := verdict.Report(stdout, run, !*short)
	if err := errors.Join(readErr, err); err != nil {
		return exitFailed, err
	}
	return exitFor(failed), nil
}

// modules lists the modules of all clients and pools, each once.
func modules() []string {
	names := clients.Modules()
	for _, spec := range pools.All() {
		if spec.Module != "" {
			names = append(names, spec.Module)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// defaultOut names a file by the command and the time.
func defaultOut(name string) string {
	return strings.Join([]string{name, time.Now().UTC().Format("20060102-150405")}, "-") + ".jsonl"
}
