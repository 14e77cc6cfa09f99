package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
)

const benchLong = `Measure what connections cost on a server of yours (--url, or -h and -p), or on
a private one, which is started for the run and stopped afterwards. The plan is
printed before any load. Keys have a prefix, and are removed at the end.

With redis-benchmark's flags instead of a command it does what redis-benchmark does,
and prints what it prints: on 127.0.0.1:6379 unless told otherwise, and without the
manners above.`

func (s *session) benchCommand() *cobra.Command {
	var redis redisFlags
	cmd := group("bench", "Measure what connections cost", benchLong, `  evenkeel bench connect
  evenkeel bench churn --url redis://cache.internal:6379
  evenkeel bench storm --fault kill --html storm.html
  evenkeel bench -t set,get -n 100000 -P 16 -q`)
	if s.Experiments.Run != nil {
		alone := cmd.RunE
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if isRedisBenchmark(cmd.Flags(), args) {
				return nil
			}
			return subcommand(cmd, args)
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if isRedisBenchmark(cmd.Flags(), args) {
				return s.redisBenchmark(cmd, &redis, args)
			}
			return alone(cmd, args)
		}
		cmd.Flags().SortFlags = false
		redis.register(cmd.Flags())
		cmd.AddCommand(s.runCommand(), s.presetsCommand())
	}
	if s.Experiments.Agent != nil {
		cmd.AddCommand(s.agentCommand())
	}
	if s.Experiments.Compare != nil {
		cmd.AddCommand(s.compareCommand())
	}
	if s.Experiments.SLO != nil {
		cmd.AddCommand(s.sloCommand())
	}
	cmd.AddCommand(s.reportCommand())
	if s.Experiments.Churn != nil {
		cmd.AddCommand(s.churnCommand())
	}
	if s.Experiments.Connect != nil {
		cmd.AddCommand(s.connectCommand())
	}
	if s.Experiments.Storm != nil {
		cmd.AddCommand(s.stormCommand())
	}
	if s.Experiments.Idle != nil {
		cmd.AddCommand(s.idleCommand())
	}
	if s.Experiments.MaxClients != nil {
		cmd.AddCommand(s.maxClientsCommand())
	}
	if s.Experiments.SlowReaders != nil {
		cmd.AddCommand(s.slowReadersCommand())
	}
	if s.Experiments.Layers != nil {
		cmd.AddCommand(s.layersCommand())
	}
	if s.Experiments.Zones != nil {
		cmd.AddCommand(s.zonesCommand())
	}
	if s.Experiments.Pipeline != nil {
		cmd.AddCommand(s.pipelineCommand())
	}
	if s.Experiments.Pool != nil {
		cmd.AddCommand(s.poolCommand())
	}
	return cmd
}

func words[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// choose completes a flag with its few legal values.
func choose(cmd *cobra.Command, flag string, values []string) {
	// The only error is a flag that does not exist, and then completing it is
	// moot.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

const churnLong = `Many callers ping through a pool that is too small for them: how many connections
does the server have to accept? One mode after the other:

  close-surplus  open when none is idle, close when the pool is full
  overflow       keep burst connections for a while and drain them slowly
  limited        as overflow, with a limit on how fast connections are made
  shared         pipeline all callers on a few connections`

func (s *session) churnCommand() *cobra.Command {
	o := bench.DefaultChurnOptions()
	var server serverFlags
	var out outputFlags
	modes := []string{"all"}
	cmd := &cobra.Command{
		Use:   "churn",
		Short: "Count the connections that a pool opens under load",
		Long:  churnLong,
		Example: `  evenkeel bench churn
  evenkeel bench churn --parallel 500 --size 20 --mode close-surplus,overflow
  evenkeel bench churn -h cache.internal --user app --password-file ~/.redis-password --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Target, err = s.target(cmd.Context(), &server, cmd.Flags()); err != nil {
				return err
			}
			if len(modes) != 1 || modes[0] != "all" {
				o.Modes = nil
				for _, m := range modes {
					o.Modes = append(o.Modes, bench.ChurnMode(m))
				}
			}
			return run(cmd.Context(), s, &out, &o, &o.Progress, s.Experiments.Churn)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false // the experiment's own, then the server's, then the output's
	fs.StringSliceVar(&modes, "mode", modes, "`modes` to compare: all, or a list of "+strings.Join(words(bench.AllChurnModes()), ", "))
	fs.IntVar(&o.Size, "size", o.Size, "connections kept for good")
	fs.IntVar(&o.Overflow, "overflow", o.Overflow, "connections kept for a while after a burst")
	fs.DurationVar(&o.OverflowDrain, "overflow-drain", o.OverflowDrain, "how long a full overflow takes to drain")
	fs.IntVar(&o.Parallel, "parallel", o.Parallel, "callers at once")
	fs.DurationVar(&o.Interval, "interval", o.Interval, "rest of a caller between two pings")
	fs.DurationVar(&o.Duration, "duration", o.Duration, "length of each mode's load")
	fs.DurationVar(&o.DrainWatch, "drain-watch", o.DrainWatch, "how long to watch the overflow drain after the load")
	fs.IntVar(&o.CreateBurst, "create-burst", o.CreateBurst, "mode limited: connections made at once beyond --size")
	fs.DurationVar(&o.CreateInterval, "create-interval", o.CreateInterval, "mode limited: time until one more may be made")
	fs.BoolVar(&o.Disturb, "disturb", false, "load a given server even if it is busy, a replica, or near a limit")
	choose(cmd, "mode", append([]string{"all"}, words(bench.AllChurnModes())...))
	server.register(fs)
	out.register(fs)
	return cmd
}

const connectLong = `Run the same commands over connections that are reused, and with a new connection
for each, without and with a password and TLS; and measure what each layer of
opening a connection costs.`

func (s *session) connectCommand() *cobra.Command {
	o := bench.DefaultConnectOptions()
	var server serverFlags
	var out outputFlags
	var skipAuth, skipTLS bool
	cmd := &cobra.Command{
		Use:   "connect",
		Short: "Compare reuse with a new connection for each command",
		Long:  connectLong,
		Example: `  evenkeel bench connect
  evenkeel bench connect --requests 100000 --callers 50
  evenkeel bench connect --url rediss://cache.internal:6379 --handshake sequential`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Target, err = s.target(cmd.Context(), &server, cmd.Flags()); err != nil {
				return err
			}
			o.Auth, o.TLS = !skipAuth, !skipTLS
			return run(cmd.Context(), s, &out, &o, &o.Progress, s.Experiments.Connect)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false // the experiment's own, then the server's, then the output's
	fs.IntVar(&o.Requests, "requests", o.Requests, "commands in each row")
	fs.IntVar(&o.Callers, "callers", o.Callers, "callers at once")
	fs.DurationVar(&o.MaxRowTime, "max-row-time", o.MaxRowTime, "end a slow row after this time")
	fs.StringVar((*string)(&o.Handshake), "handshake", string(o.Handshake), "how new connections set up: "+strings.Join(words(bench.Handshakes()), " or "))
	fs.BoolVar(&skipAuth, "skip-auth", false, "private server: no rows with a password")
	fs.BoolVar(&skipTLS, "skip-tls", false, "private server: no rows with TLS")
	fs.BoolVar(&o.Disturb, "disturb", false, "load a given server even if it is busy, a replica, or near a limit")
	choose(cmd, "handshake", words(bench.Handshakes()))
	server.register(fs)
	out.register(fs)
	return cmd
}

const stormLong = `Callers with short deadlines meet a server that fails for a while. How many
connections does the client ask for before, during and after; do calls return on
time; and how soon is the throughput back?

  pause   the server holds all replies (CLIENT PAUSE)
  kill    the server closes all connections
  refuse  the server is gone and refuses connections
  stop    the server's process is frozen (SIGSTOP)

The results are held against what Evenkeel promises; exit code 1 says that a
promise was missed.`

func (s *session) stormCommand() *cobra.Command {
	o := bench.DefaultStormOptions()
	var server serverFlags
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "storm",
		Short: "See what a fault does to callers and to the server",
		Long:  stormLong,
		Example: `  evenkeel bench storm
  evenkeel bench storm --fault stop --lane shared --html storm.html
  evenkeel bench storm --url redis://staging:6379 --fault kill --disturb`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Target, err = s.target(cmd.Context(), &server, cmd.Flags()); err != nil {
				return err
			}
			return run(cmd.Context(), s, &out, &o, &o.Progress, s.Experiments.Storm, func(r *bench.StormResult) (missed, _ []string) {
				for _, v := range r.Missed() {
					missed = append(missed, v.Name+" ("+v.Measured+", at most "+v.Limit+")")
				}
				return missed, nil
			})
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false // the experiment's own, then the server's, then the output's
	fs.StringVar((*string)(&o.Fault), "fault", string(o.Fault), "what happens: "+strings.Join(words(bench.Faults()), ", "))
	fs.StringVar((*string)(&o.Lane), "lane", string(o.Lane), "what the callers use: "+strings.Join(words(bench.Lanes()), " or "))
	fs.IntVar(&o.Callers, "callers", o.Callers, "callers at once")
	fs.IntVar(&o.Size, "size", o.Size, "connections of the exclusive lane")
	fs.DurationVar(&o.Timeout, "timeout", o.Timeout, "deadline of each call")
	fs.DurationVar(&o.Before, "before", o.Before, "load before the fault")
	fs.DurationVar(&o.During, "during", o.During, "length of the fault")
	fs.DurationVar(&o.After, "after", o.After, "load after the fault")
	fs.BoolVar(&o.Disturb, "disturb", false, "allow a given server, whose other clients suffer too")
	choose(cmd, "fault", words(bench.Faults()))
	choose(cmd, "lane", words(bench.Lanes()))
	server.register(fs)
	out.register(fs)
	return cmd
}
