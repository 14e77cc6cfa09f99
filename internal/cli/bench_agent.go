package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evenkeel-go/evenkeel/bench"
)

const agentLong = `Take part in runs that 'evenkeel bench run --agents' coordinates: one process cannot
always make the load that twenty application servers make.

Agents and their coordinator exchange messages through streams of the Redis or Valkey
server at --join, which both reach; keys begin with evenkeel:agents: and expire. An
agent loads only the server that its own flags name (default: the one at --join), with
the password that it has itself, whatever a coordinator asks for.

It waits for runs until it is interrupted.`

func (s *session) agentCommand() *cobra.Command {
	var o bench.AgentOptions
	var server serverFlags
	join := ""
	quiet := false
	cmd := &cobra.Command{
		Use:   "agent --join URL",
		Short: "Make a share of the load of runs that another process coordinates",
		Long:  agentLong,
		Example: `  evenkeel bench agent --join redis://staging:6379                   # on each machine, then on one of them:
  evenkeel bench run --url redis://staging:6379/15 --agents 3 --rate 300000
  evenkeel bench agent --join redis://tools:6379 --url rediss://cache:6379 --password-file cache.password`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx, fs := cmd.Context(), cmd.Flags()
			if join == "" {
				return errors.New("--join is missing; give the URL of a server that the coordinator reaches too")
			}
			if o.Join, err = s.otherServer(ctx, &server, fs, "--join", join); err != nil {
				return err
			}
			o.Target = o.Join
			for _, name := range serverNames() {
				if fs.Changed(name) {
					if o.Target, err = s.target(ctx, &server, fs); err != nil {
						return err
					}
					break
				}
			}
			if o.Name == "" {
				if o.Name, err = os.Hostname(); err != nil {
					return fmt.Errorf("this machine has no name; give --name: %w", err)
				}
			}
			if err := o.Validate(); err != nil {
				return err
			}
			p := s.newProgress(quiet)
			o.Progress = p.event
			err = s.Experiments.Agent(ctx, o)
			p.close()
			if err != nil && ctx.Err() == nil {
				return failed(err)
			}
			return nil // it was told to go
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&join, "join", "", "server that messages go through, as `URL`")
	fs.StringVar(&o.Name, "name", "", "what to call this agent (default: the machine's name)")
	fs.BoolVar(&o.Once, "once", false, "end after one run")
	fs.BoolVar(&quiet, "quiet", false, "no progress or notes on standard error")
	server.register(fs)
	return cmd
}

// otherServer is a server besides the one that is measured, by its URL or HOST:PORT. The
// flags for the password and TLS hold for it too, unless its URL says otherwise.
func (s *session) otherServer(ctx context.Context, f *serverFlags, fs *pflag.FlagSet, name, raw string) (bench.Target, error) {
	if !strings.Contains(raw, "://") {
		raw = "redis://" + raw
	}
	t, err := s.fromURL(name, raw)
	if err != nil {
		return bench.Target{}, err
	}
	return s.login(ctx, f, fs, t)
}
