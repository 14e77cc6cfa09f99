package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/report"
)

// experiment is one run: its plan, and what to call.
type experiment[T any] struct {
	plan    bench.Plan
	measure func(context.Context, bench.Progress) (*T, error)
	page    func(*T) report.Page
	// missed names the thresholds that were not met; may be nil.
	missed func(*T) []string
	// notes are said on standard error after the result; may be nil.
	notes func(*T) []string
}

// run shows the plan, runs the experiment and shows its result, in part if the
// run was cut short.
func run[T any](ctx context.Context, s *session, out *outputFlags, e experiment[T]) error {
	f, err := out.open()
	if err != nil {
		return err
	}
	defer f.discard()
	if !out.quiet {
		s.say("what will run:")
		for line := range e.plan.Lines() {
			s.say("  " + line)
		}
	}
	p := s.newProgress(out.quiet)
	unwatch := context.AfterFunc(ctx, func() {
		p.event(bench.Event{Note: "interrupted: cleaning up; once more to stop at once"})
	})
	found, err := e.measure(ctx, p.event)
	unwatch()
	p.close()

	if found != nil {
		if err := s.show(out, f, result{found, e.page(found)}); err != nil {
			return failed(err)
		}
		if e.notes != nil {
			for _, note := range e.notes(found) {
				s.say("note: " + note)
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return failed(errors.New("interrupted; what is shown is what there was until then"))
	case err != nil:
		return failed(err)
	}
	if e.missed == nil || found == nil {
		return nil
	}
	if missed := e.missed(found); len(missed) > 0 {
		return &failure{ExitFindings, fmt.Errorf("missed: %s", report.List(missed))}
	}
	return nil
}

// hideDefault keeps the default of a number out of the help: it differs from machine to
// machine, and the flag's text says what it is.
func hideDefault(fs *pflag.FlagSet, name string) { fs.Lookup(name).DefValue = "0" }
