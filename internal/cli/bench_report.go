package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/report"
)

const reportLong = `Show saved results again: the JSON documents of any experiment, and the journals of
runs, also of those that still go on or that a crash has ended. Several are shown one
after the other; - is standard input.`

func (s *session) reportCommand() *cobra.Command {
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "report FILE…",
		Short: "Show saved results again",
		Long:  reportLong,
		Example: `  evenkeel bench report run.json --html run.html
  evenkeel bench report fortnight.jsonl --json > fortnight.json
  evenkeel bench report run.json --csv`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no file is given; give results that were saved with --json or --journal")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if out.json && len(args) > 1 {
				return errors.New("--json prints one document; give one file")
			}
			if out.csv && len(args) > 1 || out.hdr != "" && len(args) > 1 {
				return errors.New("--csv and --hdr are for one run; give one file")
			}
			results := make([]bench.Result, len(args))
			for i, name := range args {
				r, err := readResult(name)
				if err != nil {
					return failed(fmt.Errorf("%s: %w", name, err))
				}
				results[i] = r
			}
			f, err := out.open()
			if err != nil {
				return err
			}
			defer f.discard()
			if len(results) == 1 {
				if err := s.show(&out, f, result{results[0], results[0].Page()}); err != nil {
					return failed(err)
				}
				return nil
			}
			if err := s.show(&out, f, result{nil, together(args, results)}); err != nil {
				return failed(err)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	out.registerRun(fs)
	return cmd
}

func readResult(name string) (bench.Result, error) {
	if name == "-" {
		return bench.ReadResult(os.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, errors.Unwrap(err) // the name stands before it
	}
	r, err := bench.ReadResult(f)
	return r, errors.Join(err, f.Close())
}

// together puts several results on one page.
func together(names []string, results []bench.Result) report.Page {
	all := report.Page{Title: report.Plural(len(results), "result", "results")}
	for i, r := range results {
		p := r.Page()
		first := report.Section{Heading: names[i] + ": " + p.Title, Prose: []string{p.Lead}}
		all.Sections = append(all.Sections, first)
		for _, section := range p.Sections {
			section.Heading = names[i] + ": " + section.Heading
			all.Sections = append(all.Sections, section)
		}
		for _, fact := range p.Facts {
			fact.Name = names[i] + ": " + fact.Name
			all.Facts = append(all.Facts, fact)
		}
	}
	return all
}
