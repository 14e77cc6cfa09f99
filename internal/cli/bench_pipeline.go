package cli

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
)

const pipelineLong = `How deep should a pipeline be? Each command is sent at each depth by turns, in many
short rounds: how many replies per second, how long each takes, what the server's CPU
does, and the knee: the smallest depth that gets 90 % of the best rate.

The engine sends raw requests and spends little on itself, so that the server is
measured and not a client; where it was the limit all the same, that is said.
Placeholders in --command are those of 'bench run': __key__, __data__ and others.`

func (s *session) pipelineCommand() *cobra.Command {
	o := bench.DefaultPipelineOptions()
	var server serverFlags
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "pipeline",
		Short: "Find the depth at which pipelining stops to pay",
		Long:  pipelineLong,
		Example: `  evenkeel bench pipeline
  evenkeel bench pipeline --conns 50 --depths 1,8,16,32,64,128 --value-size 1000
  evenkeel bench pipeline --command 'HSET __key__ f __data__' --command 'HGETALL __key__' --html pipeline.html
  evenkeel bench pipeline --url redis://staging:6379 --rounds 20 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			fs := cmd.Flags()
			if o.Target, err = s.target(cmd.Context(), &server, fs); err != nil {
				return err
			}
			if !fs.Changed("workers") { // fewer connections need fewer threads
				o.Workers = max(min(o.Workers, o.Conns), 1)
			}
			return run(cmd.Context(), s, &out, &o, &o.Progress, s.Experiments.Pipeline)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false // the experiment's own, then the server's, then the output's
	fs.StringArrayVar(&o.Commands, "command", o.Commands, "what to send; may be repeated, and each is measured by itself")
	fs.IntSliceVar(&o.Depths, "depths", o.Depths, "requests in flight on each connection, in ascending order")
	fs.IntVar(&o.Conns, "conns", o.Conns, "connections")
	fs.IntVar(&o.Workers, "workers", o.Workers, "threads that serve them (default: half of the processors)")
	hideDefault(fs, "workers")
	fs.BoolVar(&o.Sliding, "sliding", false, "send one more for each reply, instead of a batch at once and then waiting for all")
	fs.IntVar(&o.Rounds, "rounds", o.Rounds, "turns of each depth that count")
	fs.DurationVar(&o.Slot, "slot", o.Slot, "length of a turn")
	fs.IntVar(&o.Keys, "keys", o.Keys, "number of keys")
	fs.IntVar(&o.ValueSize, "value-size", o.ValueSize, "bytes of a value")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "begins all random numbers: the same seed, the same requests")
	fs.BoolVar(&o.Portable, "portable", false, "use the engine that runs on every system, also where there is a faster one")
	fs.BoolVar(&o.Disturb, "disturb", false, "load a given server even if it is busy, a replica, near a limit, or has other keys")
	server.register(fs)
	out.register(fs)
	return cmd
}
