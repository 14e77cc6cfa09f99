package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/report"
)

const demoLong = `Show in about half a minute what connections cost and how to keep them. Needs no
server: if redis-server or valkey-server is on the PATH, a private one is started
on a free loopback port and stopped afterwards; otherwise an embedded one is used,
and counts are shown rather than times.`

func (s *session) demoCommand() *cobra.Command {
	o := bench.DefaultDemoOptions()
	out := outputFlags{html: "evenkeel-demo.html"}
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "See what connections cost, without any set-up",
		Long:    demoLong,
		Example: "  evenkeel demo\n  evenkeel demo --html= --json > demo.json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.StartEmbedded = s.Experiments.StartEmbedded
			if o.StartEmbedded != nil && !bench.CanLaunch() {
				o.Embedded = true // the plan then says what will really run
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return run(cmd.Context(), s, &out, experiment[bench.DemoResult]{
				plan: o.Plan(),
				measure: func(ctx context.Context, p bench.Progress) (*bench.DemoResult, error) {
					o.Progress = p
					return s.Experiments.Demo(ctx, o)
				},
				page: func(r *bench.DemoResult) report.Page { return r.Page() },
			})
		},
	}
	out.register(cmd.Flags())
	if s.Experiments.StartEmbedded != nil {
		cmd.Flags().BoolVar(&o.Embedded, "embedded", false, "use the embedded server even where a real one is installed")
	}
	return cmd
}
