package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
)

const layersLong = `What do a password, a user with restrictions (ACL) and TLS cost: to open a
connection, and for each command over one that is kept? The layers take turns in
many short rounds, so that whatever else the machine does hits all of them alike,
and each is compared with the first in the same round.

A private server has all layers. A given server has those that it speaks with the
credentials given: with TLS, versions 1.2 and 1.3, full and resumed.`

func (s *session) layersCommand() *cobra.Command {
	o := bench.DefaultLayersOptions()
	var server serverFlags
	var out outputFlags
	layers := []string{"all"}
	cmd := &cobra.Command{
		Use:   "layers",
		Short: "Compare what passwords, users and TLS cost",
		Long:  layersLong,
		Example: `  evenkeel bench layers
  evenkeel bench layers --layers plain,tls1.3,tls1.3-resumed --rounds 50
  evenkeel bench layers --url rediss://cache.internal:6379 --html layers.html`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Target, err = s.target(cmd.Context(), &server, cmd.Flags()); err != nil {
				return err
			}
			if len(layers) != 1 || layers[0] != "all" {
				o.Layers = nil
				for _, l := range layers {
					o.Layers = append(o.Layers, bench.SecurityLayer(l))
				}
			}
			return run(cmd.Context(), s, &out, &o, &o.Progress, s.Experiments.Layers)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false // the experiment's own, then the server's, then the output's
	fs.StringSliceVar(&layers, "layers", layers, "`layers` to compare: all, or a list of "+strings.Join(words(bench.SecurityLayers()), ", "))
	fs.IntVar(&o.Rounds, "rounds", o.Rounds, "turns of each layer")
	fs.IntVar(&o.Dials, "dials", o.Dials, "connections that a layer opens in its turn")
	fs.DurationVar(&o.Slot, "slot", o.Slot, "how long commands run in its turn")
	fs.IntVar(&o.ValueSize, "value-size", o.ValueSize, "size of a value in bytes")
	fs.BoolVar(&o.Disturb, "disturb", false, "load a given server even if it is busy, a replica, or near a limit")
	choose(cmd, "layers", append([]string{"all"}, words(bench.SecurityLayers())...))
	server.register(fs)
	out.register(fs)
	return cmd
}
