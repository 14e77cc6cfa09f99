package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/clients"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/experiment"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/pools"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/verdict"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// pace is how often and how long an experiment measures.
type pace struct {
	rounds       int
	slot, warmup time.Duration
}

// plan is an experiment and its own pace. Fewer than 6 rounds would give no 95 %
// interval; the memory and the allocations of a client hardly vary, its speed does.
type plan struct {
	name string
	pace pace
	run  func(ctx context.Context, s *settings, o experiment.Options) error
}

func plans() []plan {
	return []plan{
		{"pool", pace{20, 50 * time.Millisecond, 10 * time.Millisecond}, func(ctx context.Context, _ *settings, o experiment.Options) error {
			return experiment.Pool(ctx, o)
		}},
		{"allocs", pace{6, 0, 0}, func(ctx context.Context, s *settings, o experiment.Options) error {
			return experiment.Allocs(ctx, experiment.AllocsOptions{Options: o, ValueSize: s.valueSize, Calls: s.calls})
		}},
		{"memory", pace{6, 500 * time.Millisecond, 200 * time.Millisecond}, func(ctx context.Context, s *settings, o experiment.Options) error {
			return experiment.Memory(ctx, experiment.MemoryOptions{Options: o, Conns: s.conns, OpenTimeout: openTimeout})
		}},
		{"pipeline", pace{20, 150 * time.Millisecond, 30 * time.Millisecond}, func(ctx context.Context, s *settings, o experiment.Options) error {
			return experiment.Pipeline(ctx, experiment.PipelineOptions{Options: o, Keys: s.keys, ValueSize: s.valueSize, Depths: s.depths})
		}},
		{"closed", pace{20, 400 * time.Millisecond, 100 * time.Millisecond}, func(ctx context.Context, s *settings, o experiment.Options) error {
			return experiment.Closed(ctx, experiment.ClosedOptions{Options: o, Keys: s.keys, ValueSize: s.valueSize, Callers: s.callers, Contexts: s.contexts})
		}},
	}
}

// openTimeout bounds the opening of all idle conns of one client.
const openTimeout = time.Minute

// serverConns is the server's limit of conns: its usual default, or more where needed.
const serverConns = 10_000

// settings are the parsed flags.
type settings struct {
	plans           []plan
	pace            pace // zero fields: each experiment's own
	clients         []string
	callers, depths []int
	contexts        []string
	keys, valueSize int
	calls, conns    int
	seed            uint64
	out, server     string
}

func parseSettings(name string, args []string, stderr io.Writer) (*settings, error) {
	s := &settings{callers: verdict.Callers(), depths: verdict.Depths(), contexts: []string{experiment.WithDeadline, experiment.WithoutDeadline}}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = io.WriteString(stderr, usageHead)
		flags.PrintDefaults()
	}
	flags.IntVar(&s.pace.rounds, "rounds", 0, "how often each client is measured in each case; 0: 20, but 6 for allocs and memory; fewer than 6 give no interval")
	flags.DurationVar(&s.pace.slot, "slot", 0, "how long a client is measured at a time; 0: 400ms closed, 150ms pipeline, 50ms pool, 500ms memory")
	flags.DurationVar(&s.pace.warmup, "warmup", 0, "how long a client runs before it is measured; 0: 100ms closed, 30ms pipeline, 10ms pool, 200ms memory")
	flags.Func("clients", "measure only these, separated by commas: "+strings.Join(clientNames(), ", "), func(text string) error {
		var err error
		s.clients, err = chosen(text, clientNames())
		return err
	})
	flags.Func("callers", "closed: numbers of callers, separated by commas; default 1,8,64,250,1000", numbers(&s.callers, 100_000))
	flags.Func("contexts", "closed: timeout (a fresh deadline per call), background, or both; default both", func(text string) error {
		var err error
		s.contexts, err = chosen(text, []string{experiment.WithDeadline, experiment.WithoutDeadline})
		return err
	})
	flags.Func("depths", "pipeline: depths, separated by commas; default 16,256,4096", numbers(&s.depths, 1_000_000))
	flags.IntVar(&s.keys, "keys", 100_000, "closed, pipeline: keys loaded beforehand")
	flags.IntVar(&s.valueSize, "value", 100, "bytes of a value")
	flags.IntVar(&s.calls, "calls", 2000, "allocs: calls counted in a slot")
	flags.IntVar(&s.conns, "conns", verdict.MemoryConns, "memory: idle conns per client")
	flags.Uint64Var(&s.seed, "seed", 0, "determines keys and turns; 0: a random one, which is recorded")
	flags.StringVar(&s.out, "out", "", "file for the raw results, one JSON line a slot; default named by command and time")
	flags.StringVar(&s.server, "server", "", "server program; default redis-server, else valkey-server, on the PATH")
	if name == "" || name == "help" || name == "-h" || name == "--help" || name == "-help" {
		flags.Usage()
		if name == "" {
			return nil, errors.New("no command given")
		}
		return nil, flag.ErrHelp
	}
	for _, p := range plans() {
		if name == p.name || name == "all" {
			s.plans = append(s.plans, p)
		}
	}
	if len(s.plans) == 0 {
		return nil, fmt.Errorf("no command %q; run without one for help", name)
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if s.seed == 0 {
		s.seed = rand.Uint64()
	}
	if s.out == "" {
		s.out = defaultOut(name)
	}
	return s, s.validate(flags.Args())
}

func (s *settings) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case s.pace.rounds < 0 || s.pace.slot < 0 || s.pace.warmup < 0:
		return errors.New("-rounds, -slot and -warmup must not be negative")
	case s.keys < 1 || s.valueSize < 1 || s.calls < 10 || s.conns < 1:
		return errors.New("-keys, -value and -conns must be at least 1, -calls at least 10")
	}
	return nil
}

func (s *settings) serverOptions() []evenkeeltest.Option {
	options := []evenkeeltest.Option{evenkeeltest.WithMaxClients(max(serverConns, 2*s.conns))}
	if s.server != "" {
		options = append(options, evenkeeltest.WithBinary(s.server))
	}
	return options
}

// runAll runs the experiments in turn.
func (s *settings) runAll(ctx context.Context, server *evenkeeltest.Server, sink func(record.Slot) error, progress io.Writer) error {
	for _, p := range s.plans {
		o := experiment.Options{
			Server: server, Clients: s.clients, Seed: s.seed, Sink: sink, Progress: progress,
			Rounds: orElse(s.pace.rounds, p.pace.rounds),
			Slot:   orElse(s.pace.slot, p.pace.slot),
			Warmup: orElse(s.pace.warmup, p.pace.warmup),
		}
		if err := p.run(ctx, s, o); err != nil {
			return err
		}
	}
	return nil
}

func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// clientNames lists the names of all clients, pools and pseudo-clients, each once.
func clientNames() []string {
	names := []string{experiment.ContextAlone, experiment.ContextAwaited}
	for _, spec := range clients.All() {
		names = append(names, spec.Name)
	}
	for _, spec := range pools.All() {
		names = append(names, spec.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// chosen splits a list and checks each name.
func chosen(text string, known []string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%q is none of %s", name, strings.Join(known, ", "))
		}
		names = append(names, name)
	}
	return names, nil
}

// numbers parses a list of numbers from 1 to most.
func numbers(to *[]int, most int) func(string) error {
	return func(text string) error {
		var list []int
		for field := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(field))
			if err != nil || n < 1 || n > most {
				return fmt.Errorf("%q is no number from 1 to %d", field, most)
			}
			list = append(list, n)
		}
		*to = list
		return nil
	}
}
