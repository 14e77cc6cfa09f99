package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/report"
)

// options are an experiment's.
type options interface {
	Validate() error
	Plan() bench.Plan
}

// resultOf is a result that is handed around by its address.
type resultOf[T any] interface {
	*T
	bench.Result
}

// run checks the options, shows the plan, runs the experiment and shows its result, in part
// if the run was cut short. progress is the field of the options for it. check, if there is
// one, names the thresholds that a result missed, and what to note about it.
func run[O options, T any, R resultOf[T]](
	ctx context.Context, s *session, out *outputFlags, o *O, progress *bench.Progress,
	measure func(context.Context, O) (R, error), check ...func(R) (missed, notes []string),
) error {
	if err := (*o).Validate(); err != nil {
		return err
	}
	f, err := out.open()
	if err != nil {
		return err
	}
	defer f.discard()
	if !out.quiet {
		s.say("what will run:")
		for line := range (*o).Plan().Lines() {
			s.say("  " + line)
		}
	}
	p := s.newProgress(out.quiet)
	unwatch := context.AfterFunc(ctx, func() {
		p.event(bench.Event{Note: "interrupted: cleaning up; once more to stop at once"})
	})
	*progress = p.event
	found, err := measure(ctx, *o)
	unwatch()
	p.close()

	var missed []string
	if found != nil {
		if err := s.show(out, f, result{found, found.Page()}); err != nil {
			return failed(err)
		}
		for _, look := range check {
			var notes []string
			missed, notes = look(found)
			for _, note := range notes {
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
	if len(missed) > 0 {
		return &failure{ExitFindings, fmt.Errorf("missed: %s", report.List(missed))}
	}
	return nil
}

// hideDefault keeps the default of a number out of the help: it differs from machine to
// machine, and the flag's text says what it is.
func hideDefault(fs *pflag.FlagSet, name string) { fs.Lookup(name).DefValue = "0" }
