package cli

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
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
			return run(cmd.Context(), s, &out, &o, &o.Progress, s.Experiments.Demo)
		},
	}
	out.register(cmd.Flags())
	if s.Experiments.StartEmbedded != nil {
		cmd.Flags().BoolVar(&o.Embedded, "embedded", false, "use the embedded server even where a real one is installed")
	}
	return cmd
}
