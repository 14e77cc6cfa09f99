package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/report"
)

// versionDocument is the JSON form of the version command.
type versionDocument struct {
	Schema   string `json:"schema"`
	Evenkeel string `json:"evenkeel"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func (s *session) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  evenkeel version\n  evenkeel version --json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionDocument{"evenkeel.version/v1", bench.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			var err error
			if asJSON {
				err = report.WriteJSON(s.Stdout, v)
			} else {
				_, err = fmt.Fprintf(s.Stdout, "evenkeel %s, %s, %s/%s\n", v.Evenkeel, v.Go, v.OS, v.Arch)
			}
			if err != nil {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}
