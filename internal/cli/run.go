package cli

import (
	"context"
	"errors"
	"fmt"

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
	html, err := out.open()
	if err != nil {
		return err
	}
	defer html.discard()
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
	result, err := e.measure(ctx, p.event)
	unwatch()
	p.close()

	if result != nil {
		if err := s.show(out, html, result, e.page(result)); err != nil {
			return failed(err)
		}
		if e.notes != nil {
			for _, note := range e.notes(result) {
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
	if e.missed == nil || result == nil {
		return nil
	}
	if missed := e.missed(result); len(missed) > 0 {
		return &failure{ExitFindings, fmt.Errorf("missed: %s", report.List(missed))}
	}
	return nil
}

// show writes the result in the forms that were asked for.
func (s *session) show(out *outputFlags, html *htmlFile, doc any, page report.Page) error {
	var err error
	if out.json {
		err = report.WriteJSON(s.Stdout, doc)
	} else {
		err = report.WriteText(s.Stdout, page, terminalWidth(s.Stdout))
	}
	if err != nil {
		return fmt.Errorf("the result could not be written: %w", err)
	}
	if html == nil {
		return nil
	}
	if err := html.write(page); err != nil {
		return err
	}
	if !out.quiet {
		s.say("the page is in " + out.html)
	}
	return nil
}
