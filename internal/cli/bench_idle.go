package cli

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
)

const idleLong = `Open many connections that then do nothing: how fast they open, what each takes of
the server's memory (by its own count, and of its process) and of its CPU, and what
a PING beside them takes.

Both sides need a file descriptor for each connection. That is checked beforehand.`

func (s *session) idleCommand() *cobra.Command {
	o := bench.DefaultIdleOptions()
	var server serverFlags
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "idle",
		Short: "Weigh connections that do nothing",
		Long:  idleLong,
		Example: `  evenkeel bench idle
  evenkeel bench idle --conns 10000 --html idle.html
  evenkeel bench idle --url redis://staging:6379 --conns 1000 --dialers 4`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Target, err = s.target(cmd.Context(), &server, cmd.Flags()); err != nil {
				return err
			}
			return run(cmd.Context(), s, &out, &o, &o.Progress, s.Experiments.Idle)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false // the experiment's own, then the server's, then the output's
	fs.IntVar(&o.Conns, "conns", o.Conns, "connections to open")
	fs.IntVar(&o.Step, "step", o.Step, "look at the server after each so many")
	fs.IntVar(&o.Dialers, "dialers", o.Dialers, "connections being opened at once")
	fs.IntVar(&o.Pings, "pings", o.Pings, "PINGs to time at each look")
	fs.DurationVar(&o.Settle, "settle", o.Settle, "longest wait for the server's buffers to shrink")
	fs.DurationVar(&o.Hold, "hold", o.Hold, "how long to watch the server at rest, without and with them")
	fs.BoolVar(&o.Disturb, "disturb", false, "load a given server even if it is busy, a replica, or near a limit")
	server.register(fs)
	out.register(fs)
	return cmd
}
