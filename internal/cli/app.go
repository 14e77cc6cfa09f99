package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
)

// Experiments are the measuring functions behind the commands. A command whose
// function is nil does not exist. Each measuring function returns what it has so far
// together with the context's error when it is cancelled.
type Experiments struct {
	Demo        func(context.Context, bench.DemoOptions) (*bench.DemoResult, error)
	Churn       func(context.Context, bench.ChurnOptions) (*bench.ChurnResult, error)
	Connect     func(context.Context, bench.ConnectOptions) (*bench.ConnectResult, error)
	Storm       func(context.Context, bench.StormOptions) (*bench.StormResult, error)
	Idle        func(context.Context, bench.IdleOptions) (*bench.IdleResult, error)
	MaxClients  func(context.Context, bench.MaxClientsOptions) (*bench.MaxClientsResult, error)
	SlowReaders func(context.Context, bench.SlowReadersOptions) (*bench.SlowReadersResult, error)
	Layers      func(context.Context, bench.LayersOptions) (*bench.LayersResult, error)
	Zones       func(context.Context, bench.ZonesOptions) (*bench.ZonesResult, error)
	Pipeline    func(context.Context, bench.PipelineOptions) (*bench.PipelineResult, error)
	Pool        func(context.Context, bench.PoolOptions) (*bench.PoolResult, error)
	Run         func(context.Context, bench.RunOptions) (*bench.RunResult, error)
	Compare     func(context.Context, bench.CompareOptions) (*bench.CompareResult, error)
	Agent       func(context.Context, bench.AgentOptions) error
	SLO         func(context.Context, bench.SLOOptions) (*bench.SLOResult, error)
	// StartEmbedded starts the server that the demo uses where no real one is
	// installed; nil if there is none.
	StartEmbedded func() (bench.EmbeddedServer, error)
}

// App is the command line with everything that it touches outside of itself.
// All fields are required, except that an experiment may be nil.
type App struct {
	// Stdout takes results, Stderr everything else. Progress is drawn only if
	// Stderr is a terminal, and text is as wide as Stdout if that is one.
	Stdout, Stderr io.Writer
	// Getenv reads the environment; "" means not set.
	Getenv func(name string) string
	// Experiments are the measuring functions.
	Experiments Experiments
}

// Run runs the command line with the arguments after the program's name and
// returns the exit code. Once ctx is cancelled, the experiment stops and its
// results so far are shown.
func (a *App) Run(ctx context.Context, args []string) int {
	s := &session{App: a}
	root := s.rootCommand()
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	// Never nil, for which cobra would read the process's own arguments.
	root.SetArgs(append([]string{}, args...))
	return s.exit(root.ExecuteContext(ctx))
}

// session is one run of the App.
type session struct {
	*App
	// secrets are the passwords in use, to be kept out of messages.
	secrets []string
	// warned are the warnings that were said.
	warned []string
}

const rootLong = `Evenkeel keeps connections to Redis and Valkey few, fast, bounded and visible,
and shows what they cost on a server of yours, or on none.

Exit codes: 0 done; 1 findings or a missed threshold; 2 usage; 3 could not
connect, the run failed, or it was interrupted.`

func (s *session) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "evenkeel",
		Short:         "Keep connections to Redis and Valkey steady",
		Long:          rootLong,
		Args:          subcommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       bench.Version(),
	}
	// Defined here, without a shorthand: -h is the host.
	root.PersistentFlags().Bool("help", false, "help for this command")
	root.Flags().Bool("version", false, "print the version")
	root.SetVersionTemplate("evenkeel {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)

	if s.Experiments.Demo != nil {
		root.AddCommand(s.demoCommand())
	}
	if b := s.benchCommand(); b.HasSubCommands() {
		root.AddCommand(b)
	}
	root.AddCommand(s.versionCommand())
	return root
}

// group makes a command that only holds others.
func group(use, short, long, example string) *cobra.Command {
	return &cobra.Command{
		Use:     use,
		Short:   short,
		Long:    long,
		Example: example,
		Args:    subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fmt.Errorf("%s needs a command: %s; see '%s --help'", cmd.Name(), commandNames(cmd), cmd.CommandPath())
		},
	}
}
