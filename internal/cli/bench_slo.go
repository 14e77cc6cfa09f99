package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/report"
)

const sloLong = `Search for the highest rate, or the largest number of connections, at which a
quantile of the response times stays within a limit.

A closed loop says where to begin. Then windows of load at a rate of their own halve
what lies between a rate that held and one that did not, the server has time to become
idle between two of them, and the answer is confirmed by as many windows in a row as
--confirm says. A window holds when the quantile is within --limit, at least 99 % of
what was due was answered, nothing failed, and the generator kept to its schedule. The
answer is an interval: what held, and what did not.

With --search conns the number of connections is raised instead. Each sends its next
request when the reply has come, or all together at --rate.

Exit code 1 says that less held than --at-least.`

func (s *session) sloCommand() *cobra.Command {
	o := bench.DefaultSLOOptions()
	load := newLoadFlags()
	var out outputFlags
	var atLeast float64
	cmd := &cobra.Command{
		Use:   "slo",
		Short: "Find the most load at which a latency goal holds",
		Long:  sloLong,
		Example: `  evenkeel bench slo --limit 2ms
  evenkeel bench slo --url redis://staging:6379/15 --preset twitter-storage --quantile 0.999 --limit 10ms
  evenkeel bench slo --search conns --limit 5ms --at-least 500
  evenkeel bench slo --callers 200 --conns 20 --lane exclusive --limit 20ms`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := load.resolve(cmd.Context(), s, cmd.Flags()); err != nil {
				return err
			}
			rate := o.Load.Rate
			o.Load = load.options
			o.Load.Rate = rate
			if !(atLeast >= 0) {
				return &bench.OptionError{Option: "at-least", Problem: fmt.Sprintf("%g is no number of requests or connections; give 0 or more", atLeast)}
			}
			return run(cmd.Context(), s, &out, &o, &o.Load.Progress, s.Experiments.SLO, func(r *bench.SLOResult) (missed, notes []string) {
				if a := r.Answer; a.Held < atLeast {
					missed = append(missed, fmt.Sprintf("what holds (%s, at least %s)", report.Short(a.Held), report.Short(atLeast)))
				}
				if r.Answer.Ending == bench.EndingGenerator {
					notes = append(notes, bench.GeneratorBound+": the server may do more than what held")
				}
				return missed, notes
			})
		},
	}
	fs := cmd.Flags()
	load.register(cmd)
	fs.StringVar((*string)(&o.Search), "search", string(o.Search), "what is raised: rate or conns")
	choose(cmd, "search", words(bench.Searches()))
	fs.Float64Var(&o.Quantile, "quantile", o.Quantile, "which quantile of the times has to stay within --limit")
	fs.DurationVar(&o.Limit, "limit", o.Limit, "what it may be at most")
	fs.DurationVar(&o.Window, "window", o.Window, "how long each look takes")
	fs.IntVar(&o.Confirm, "confirm", o.Confirm, "windows in a row that have to hold at the answer")
	fs.Float64Var(&o.Precision, "precision", o.Precision, "how wide the answer may be, as a share")
	fs.DurationVar(&o.MaxTime, "max-time", o.MaxTime, "end the search after so long")
	fs.IntVar(&o.MaxConns, "max-conns", o.MaxConns, "with --search conns: open no more than so many")
	fs.Float64Var(&o.Load.Rate, "rate", 0, "with --search conns: requests per second over all of them (0: closed loop)")
	fs.Float64Var(&atLeast, "at-least", 0, "exit with 1 if less than so many requests per second, or connections, hold")
	load.registerServer(fs)
	out.register(fs)
	return cmd
}
