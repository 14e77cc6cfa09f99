package cli

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
)

const poolLong = `How many connections do so many callers need? They share pools of each size by turns,
in many short rounds: calls per second, how long a call takes with its wait for a
connection, what it costs in CPU, and the smallest pool that is within 5 % of the
best. The Universal Scalability Law is fitted to the rates. For comparison the
callers also pipeline together on the shared lane.

It measures the client along with the server, as a program would; for the server
alone see 'bench pipeline' and 'bench run'.`

func (s *session) poolCommand() *cobra.Command {
	o := bench.DefaultPoolOptions()
	var server serverFlags
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "pool",
		Short: "Find the size of a pool beyond which more connections do not pay",
		Long:  poolLong,
		Example: `  evenkeel bench pool
  evenkeel bench pool --callers 200
  evenkeel bench pool --callers 200 --think 5ms --command 'HGETALL __key__' --html pool.html
  evenkeel bench pool --url redis://staging:6379 --sizes 5,10,20,40 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Target, err = s.target(cmd.Context(), &server, cmd.Flags()); err != nil {
				return err
			}
			return run(cmd.Context(), s, &out, &o, &o.Progress, s.Experiments.Pool)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false // the experiment's own, then the server's, then the output's
	fs.IntVar(&o.Callers, "callers", o.Callers, "callers at once, such as the threads of a program")
	fs.IntSliceVar(&o.Sizes, "sizes", o.Sizes, "connections in the pool, in ascending order")
	fs.StringVar(&o.Command, "command", o.Command, "what is called, with the placeholders of 'bench run'")
	fs.DurationVar(&o.Think, "think", o.Think, "how long a caller rests between two calls, on average")
	fs.BoolVar(&o.SkipShared, "skip-shared", false, "leave out the shared lane, which not every command can use")
	fs.IntVar(&o.Rounds, "rounds", o.Rounds, "turns of each size that count")
	fs.DurationVar(&o.Slot, "slot", o.Slot, "length of a turn")
	fs.IntVar(&o.Keys, "keys", o.Keys, "number of keys")
	fs.IntVar(&o.ValueSize, "value-size", o.ValueSize, "bytes of a value")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "begins the random numbers of the requests")
	fs.BoolVar(&o.Disturb, "disturb", false, "load a given server even if it is busy, a replica, near a limit, or has other keys")
	server.register(fs)
	out.register(fs)
	return cmd
}
