package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/report"
)

func (s *session) presetsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "presets [NAME]",
		Short: "List the workloads with a name, or print one as a file to begin your own with",
		Example: `  evenkeel bench presets
  evenkeel bench presets twitter-storage > mine.yaml`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return workload.Presets(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				text, err := workload.PresetFile(args[0])
				if err != nil {
					return err
				}
				if _, err := s.Stdout.Write(text); err != nil {
					return failed(fmt.Errorf("the workload could not be written: %w", err))
				}
				return nil
			}
			t := report.Table{Columns: []report.Column{{Name: "name", Text: true}, {Name: "what", Text: true}}}
			for _, name := range workload.Presets() {
				w, err := workload.Preset(name)
				if err != nil {
					return failed(err)
				}
				t.Rows = append(t.Rows, []string{name, w.Title})
			}
			page := report.Page{
				Title: "Published workloads", Lead: "Each has its source in its file: evenkeel bench presets NAME.",
				Sections: []report.Section{{Heading: "Presets", Tables: []report.Table{t}}},
			}
			if err := report.WriteText(s.Stdout, page, terminalWidth(s.Stdout)); err != nil {
				return failed(fmt.Errorf("the list could not be written: %w", err))
			}
			return nil
		},
	}
}
