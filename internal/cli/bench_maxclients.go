package cli

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
)

const maxClientsLong = `Fill a server up to its limit of clients (maxclients). What do those see who come
later, a new redis-cli among them; what can be seen over a connection opened
beforehand; what does an Evenkeel client do; and how soon is each served again once
there is room?

A private server is started with a small limit. A given server, which nobody else
can enter meanwhile, needs --disturb.`

func (s *session) maxClientsCommand() *cobra.Command {
	o := bench.DefaultMaxClientsOptions()
	var server serverFlags
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "maxclients",
		Short: "See what a full server does to its clients",
		Long:  maxClientsLong,
		Example: `  evenkeel bench maxclients
  evenkeel bench maxclients --limit 10000 --callers 250
  evenkeel bench maxclients --url redis://staging:6379 --limit 10000 --disturb`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Target, err = s.target(cmd.Context(), &server, cmd.Flags()); err != nil {
				return err
			}
			return run(cmd.Context(), s, &out, &o, &o.Progress, s.Experiments.MaxClients)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false // the experiment's own, then the server's, then the output's
	fs.IntVar(&o.Limit, "limit", o.Limit, "maxclients of a private server; the most that a given one may have")
	fs.IntVar(&o.Attempts, "attempts", o.Attempts, "connections to try once it is full")
	fs.IntVar(&o.Callers, "callers", o.Callers, "callers of the Evenkeel client")
	fs.DurationVar(&o.Watch, "watch", o.Watch, "how long they call while it is full")
	fs.DurationVar(&o.Recover, "recover", o.Recover, "longest wait for the client to be served again")
	fs.BoolVar(&o.Disturb, "disturb", false, "allow a given server, whose other clients cannot enter meanwhile")
	server.register(fs)
	out.register(fs)
	return cmd
}
