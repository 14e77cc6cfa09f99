package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/report"
)

const runLong = `Send a workload to a server and measure every reply.

Without --rate it runs in closed loop: each connection sends its next request when
the reply has come. That finds the throughput; its times leave out what users wait
while the server stalls. With --rate it runs in open loop: requests are due at that
rate, and their times count from when they were due.

Keys are written once before the run and removed after it, unless the database had
other keys. A server of yours is only loaded if its database is empty or the keys
begin with ` + bench.KeyPrefix + `; --disturb overrides.

Error replies are counted and shown, never timed. Exit code 1 says that more than
--max-errors requests failed.`

func (s *session) runCommand() *cobra.Command {
	load := newLoadFlags()
	o := &load.options
	var out outputFlags
	var scaleAt string
	var scaleEvery time.Duration
	maxErrors := int64(0)
	metricsAt, via := "", ""
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Send a workload and measure every reply",
		Long:  runLong,
		Example: `  evenkeel bench run
  evenkeel bench run --preset twitter-storage --rate 20000 --duration 1m --html run.html
  evenkeel bench run --url redis://staging:6379/15 --command 'INCR __key__' --keys 1000 --conns 200
  evenkeel bench run --callers 200 --conns 20 --lane exclusive --rate 10000
  evenkeel bench run --workload checkout.yaml --depth 16 --requests 1000000 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			fs := cmd.Flags()
			if err = load.resolve(cmd.Context(), s, fs); err != nil {
				return err
			}
			if o.Scale, err = bench.ParseSchedule(scaleAt, scaleEvery); err != nil {
				return err
			}
			if via != "" {
				if o.Agents == 0 {
					return errors.New("--via is for the messages of agents; give --agents as well")
				}
				if o.Via, err = s.otherServer(cmd.Context(), &load.server, fs, "--via", via); err != nil {
					return err
				}
			}
			// A number of requests is a whole run by itself.
			if fs.Changed("requests") && !fs.Changed("duration") {
				o.Duration = 0
			}
			if maxErrors < 0 {
				return &bench.OptionError{Option: "max-errors", Problem: fmt.Sprintf("%d is negative; give 0 to allow none", maxErrors)}
			}
			if metricsAt != "" && o.Agents > 0 {
				return &bench.OptionError{Option: "metrics", Problem: "agents have none; leave it out"}
			}
			if metricsAt != "" {
				if err := o.Validate(); err != nil {
					return err // before anything listens
				}
				m := newRunMetrics()
				where, stop, err := m.serve(cmd.Context(), metricsAt)
				if err != nil {
					return err
				}
				defer stop()
				o.Observe = m.observe
				s.say("note: metrics are at http://" + where + "/metrics while it runs")
			}
			return run(cmd.Context(), s, &out, o, &o.Progress, s.Experiments.Run, func(r *bench.RunResult) (missed, notes []string) {
				if r.Failed > maxErrors {
					missed = append(missed, fmt.Sprintf("failed requests (%s, at most %s)", report.Int(r.Failed), report.Int(maxErrors)))
				}
				if lost := r.LostAgents(); len(lost) > 0 {
					missed = append(missed, "agents ("+report.List(lost)+")")
				}
				if r.Verdict.GeneratorBound {
					notes = append(notes, bench.GeneratorBound+": "+r.Verdict.Reason)
				}
				return missed, notes
			})
		},
	}
	load.register(cmd)
	fs := cmd.Flags()
	fs.Int64Var(&o.Requests, "requests", o.Requests, "end after so many requests (0: after --duration)")
	fs.DurationVar(&o.Duration, "duration", o.Duration, "how long to measure (0: until --requests)")
	fs.DurationVar(&o.Warmup, "warmup", o.Warmup, "load before it is measured")
	fs.Float64Var(&o.Rate, "rate", o.Rate, "requests per second, in open loop (0: closed loop)")
	fs.StringVar(&scaleAt, "scale-at", "", "with --rate: `times=factors` that change it, such as 8h=1.5,20h=0.4")
	fs.DurationVar(&scaleEvery, "scale-every", 0, "begin --scale-at anew after so long, such as 24h (0: never)")
	fs.DurationVar(&o.Interval, "interval", o.Interval, "length of one point of the time series")
	fs.StringVar(&o.Journal, "journal", "", "append each interval to `FILE` as it ends: a crash loses no more than the last")
	fs.BoolVar(&o.Resume, "resume", false, "go on with the run of --journal that a crash or an interrupt ended")
	fs.StringVar(&metricsAt, "metrics", "", "show Prometheus the run at this `address`, such as 127.0.0.1:9099, while it goes on")
	fs.IntVar(&o.Agents, "agents", 0, "have so many agents ('evenkeel bench agent') make the load, each a share (0: this process)")
	fs.StringVar(&via, "via", "", "with --agents: server for the messages, as `URL` (default: the server that is loaded)")
	fs.Int64Var(&maxErrors, "max-errors", 0, "failed requests up to which the exit code is 0")
	load.registerServer(fs)
	out.registerRun(fs)
	return cmd
}
