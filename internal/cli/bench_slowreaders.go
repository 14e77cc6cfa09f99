package cli

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
)

const slowReadersLong = `Clients ask for a large value and read it slowly. What they do not read the server
keeps: how much memory does it take, what does a limit (maxmemory-clients, since
version 7.0) do about it, and what does a PING beside them take?

A given server keeps its own limit; with --disturb it is measured without and with
one, and gets its own back.`

func (s *session) slowReadersCommand() *cobra.Command {
	o := bench.DefaultSlowReadersOptions()
	var server serverFlags
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "slow-readers",
		Short: "See what clients that read slowly do to the server",
		Long:  slowReadersLong,
		Example: `  evenkeel bench slow-readers
  evenkeel bench slow-readers --readers 50 --value-size 1048576 --limit 16777216
  evenkeel bench slow-readers --url redis://staging:6379 --readers 5`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Target, err = s.target(cmd.Context(), &server, cmd.Flags()); err != nil {
				return err
			}
			return run(cmd.Context(), s, &out, &o, &o.Progress, s.Experiments.SlowReaders)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false // the experiment's own, then the server's, then the output's
	fs.IntVar(&o.Readers, "readers", o.Readers, "clients that read slowly")
	fs.IntVar(&o.ValueSize, "value-size", o.ValueSize, "size of the value they ask for, in bytes")
	fs.IntVar(&o.Rate, "rate", o.Rate, "bytes a second that each of them reads; 0: none")
	fs.Int64Var(&o.Limit, "limit", o.Limit, "maxmemory-clients of the second phase, in bytes")
	fs.DurationVar(&o.Watch, "watch", o.Watch, "how long to watch each phase")
	fs.BoolVar(&o.Disturb, "disturb", false, "load a given server even if it is busy, a replica, or near a limit, and set its limit for a while")
	server.register(fs)
	out.register(fs)
	return cmd
}
