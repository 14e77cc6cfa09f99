package cli

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evenkeel-go/evenkeel/bench"
)

const zonesLong = `How far is each of these endpoints from here, and which is the nearest? In every
round each gets a PING over a connection that is kept, one after the other, and now
and then a new connection is opened to each. Differences are taken within a round,
so that what slows this machine or the network slows no endpoint against another.

URLs are as for --url: redis, rediss, valkey, valkeys, unix, or HOST:PORT. Flags for
the password, the user and TLS hold for all endpoints; a URL's own password comes
before EVENKEEL_PASSWORD and REDISCLI_AUTH. It is light enough for servers in use.`

func (s *session) zonesCommand() *cobra.Command {
	o := bench.DefaultZonesOptions()
	var server serverFlags
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "zones URL…",
		Short: "Compare how far several endpoints are",
		Long:  zonesLong,
		Example: `  evenkeel bench zones primary.internal:6379 replica-a.internal:6379 replica-b.internal:6379
  evenkeel bench zones rediss://a.cache:6379 rediss://b.cache:6379 --duration 1m --html zones.html
  evenkeel bench zones redis://10.0.1.5:6379 redis://10.0.2.5:6379 --password-file ~/.redis-password --json`,
		Args: cobra.ArbitraryArgs, // Validate says it better
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Targets, err = s.endpoints(cmd.Context(), &server, cmd.Flags(), args); err != nil {
				return err
			}
			return run(cmd.Context(), s, &out, &o, &o.Progress, s.Experiments.Zones)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false // the experiment's own, then the servers', then the output's
	fs.DurationVar(&o.Duration, "duration", o.Duration, "how long to look")
	fs.DurationVar(&o.Interval, "interval", o.Interval, "time between two rounds")
	fs.IntVar(&o.ConnectEvery, "connect-every", o.ConnectEvery, "open a new connection to each after so many rounds")
	fs.DurationVar(&o.Timeout, "timeout", o.Timeout, "how long one PING or dial may take")
	server.registerLogin(fs)
	out.register(fs)
	return cmd
}

// endpoints reads several servers from the arguments.
func (s *session) endpoints(ctx context.Context, f *serverFlags, fs *pflag.FlagSet, args []string) ([]bench.Target, error) {
	var targets []bench.Target
	for i, raw := range args {
		name := "endpoint " + strconv.Itoa(i+1) // not the argument itself: it may have a password
		if raw == "" {
			return nil, errors.New(name + ": it is empty; give a URL or HOST:PORT")
		}
		t, err := s.otherServer(ctx, f, fs, name, raw)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}
