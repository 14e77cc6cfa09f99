package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench"
)

// loadFlags say what is sent to which server and how, without when it ends. The commands
// that load a server share them.
type loadFlags struct {
	server   serverFlags
	workload workloadFlags
	options  bench.RunOptions
}

func newLoadFlags() *loadFlags { return &loadFlags{options: bench.DefaultRunOptions()} }

// register adds the flags for what is sent and how. The server's come last, by
// registerServer, behind the command's own.
func (l *loadFlags) register(cmd *cobra.Command) {
	fs, o := cmd.Flags(), &l.options
	fs.SortFlags = false // what is sent, how, the server's, then the output's
	l.workload.register(cmd)
	fs.IntVar(&o.Conns, "conns", o.Conns, "connections; with --callers 2 shared or 10 exclusive unless given")
	fs.IntVar(&o.Workers, "workers", o.Workers, "threads that serve them (default: half of the processors)")
	hideDefault(fs, "workers")
	fs.IntVar(&o.Depth, "depth", o.Depth, "requests in flight on each connection")
	fs.IntVar(&o.Callers, "callers", 0, "measure an application: so many goroutines call through one client (0: raw connections)")
	fs.StringVar((*string)(&o.Lane), "lane", string(o.Lane), "with --callers: what they use, "+strings.Join(words(bench.Lanes()), " or "))
	fs.DurationVar(&o.Timeout, "timeout", o.Timeout, "with --callers: bound of each call (0: none)")
	choose(cmd, "lane", words(bench.Lanes()))
	fs.BoolVar(&o.Cluster, "cluster", false, "the server is a node of a cluster: load all of its primaries")
	fs.BoolVar(&o.Sliding, "sliding", false, "send one more for each reply, instead of --depth at once and then waiting for all")
	fs.BoolVar(&o.Poisson, "poisson", false, "with a rate: random gaps between requests instead of constant ones")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "begins all random numbers: the same seed, the same requests")
	fs.IntVar(&o.ReconnectEvery, "reconnect-every", 0, "a new connection after so many requests (0: never)")
	fs.BoolVar(&o.RESP3, "resp3", false, "speak RESP3")
	fs.BoolVar(&o.SkipPreload, "skip-preload", false, "the keys are there already: do not write them beforehand")
	fs.Int64Var(&o.PreloadFrom, "preload-from", 0, "go on with a preload that was interrupted after so many keys")
	fs.BoolVar(&o.Keep, "keep", false, "leave the keys in the server at the end")
}

// registerServer adds the flags for whose server it is.
func (l *loadFlags) registerServer(fs *pflag.FlagSet) {
	o := &l.options
	fs.BoolVar(&o.Portable, "portable", false, "use the engine that runs on every system, also where there is a faster one")
	fs.BoolVar(&o.Disturb, "disturb", false, "load a given server even if it is busy, a replica, near a limit, or has other keys")
	fs.StringVar(&o.ServerProgram, "server-program", "", "start this `program` as the private server (default: redis-server, else valkey-server)")
	fs.StringArrayVar(&o.ServerConfig, "server-config", nil, "a `line` of the private server's configuration, such as 'io-threads 4'; may be repeated")
	l.server.register(fs)
}

// resolve puts together what the flags say.
func (l *loadFlags) resolve(ctx context.Context, s *session, fs *pflag.FlagSet) (err error) {
	o := &l.options
	if o.Target, err = s.target(ctx, &l.server, fs); err != nil {
		return err
	}
	w, err := l.workload.workload(ctx, fs)
	if err != nil {
		return err
	}
	o.Workload = *w
	if o.Callers > 0 && !fs.Changed("conns") {
		o.Conns = evenkeel.DefaultSharedConns
		if o.Lane == bench.LaneExclusive {
			o.Conns = evenkeel.DefaultSize
		}
	}
	for _, name := range []string{"lane", "timeout"} {
		if o.Callers == 0 && fs.Changed(name) {
			return fmt.Errorf("--%s is the client's; give --callers as well", name)
		}
	}
	// Fewer connections need fewer threads.
	if !fs.Changed("workers") {
		o.Workers = max(min(o.Workers, o.Conns), 1)
	}
	return nil
}
