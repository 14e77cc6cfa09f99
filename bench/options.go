package bench

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// KeyPrefix begins every key that the experiments write. The keys are removed at
// the end of a run; those of Run, Pipeline and Pool have no TTL besides.
const KeyPrefix = "evenkeel:bench:"

// OptionError says which option is out of bounds and what to do about it.
type OptionError struct {
	// Option is the option's name as the command line spells it, such as
	// "parallel".
	Option string
	// Problem says what is wrong and what would be right.
	Problem string
}

// Error implements error.
func (e *OptionError) Error() string { return e.Option + ": " + e.Problem }

// Event is one thing that a run says while it goes on.
type Event struct {
	// Phase names what is running, such as "overflow" or "during".
	Phase string
	// Elapsed and Total are the time since the phase began and the time it is
	// meant to take; both are 0 in an event that only carries a Note.
	Elapsed, Total time.Duration
	// Status is a few words on how it goes right now; may be empty.
	Status string
	// Note is one line for a person; may be empty.
	Note string
}

// Progress receives the events of a run. It is called by one goroutine at a
// time, has to return quickly, and may be nil.
type Progress func(Event)

// Send calls p unless it is nil.
func (p Progress) Send(e Event) {
	if p != nil {
		p(e)
	}
}

// Plan is what a run will do to a server, said before it is done.
type Plan struct {
	// Steps say what will run, one line each.
	Steps []string
	// Length is about how long it takes.
	Length time.Duration
	// Conns is the most connections that will be open at once.
	Conns int
	// Memory is an upper estimate of what the run adds to the server, in
	// bytes, connections included.
	Memory int64
}

// Lines yields the plan as lines for a person.
func (p Plan) Lines() iter.Seq[string] {
	total := fmt.Sprintf("in all about %s, at most %s, and at most %s of the server's memory",
		report.Duration(p.Length), report.Plural(p.Conns, "connection", "connections"), report.Bytes(p.Memory))
	return slices.Values(append(slices.Clone(p.Steps), total))
}

// connMemory estimates what a connection takes on the server: fresh from its
// handshake about 38 KB for its buffers, of which 2 KB are left when it has rested
// for some seconds.
const connMemory = 40 << 10

// check collects the first broken bound, so that Validate reads as a list.
type check struct{ err error }

func (c *check) that(ok bool, option, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = &OptionError{Option: option, Problem: fmt.Sprintf(format, args...)}
	}
}

func (c *check) between(n, low, high int, option string) {
	c.that(n >= low && n <= high, option, "%d is out of bounds; give %s to %s", n, report.Int(low), report.Int(high))
}

func (c *check) lasts(d, low, high time.Duration, option string) {
	c.that(d >= low && d <= high, option, "%v is out of bounds; give %v to %v", d, low, high)
}

// oneOf refuses a value that is not in the list.
func oneOf[T ~string](c *check, got T, option string, list []T) {
	names := make([]string, len(list))
	for i, v := range list {
		if v == got {
			return
		}
		names[i] = string(v)
	}
	c.that(false, option, "%q is unknown; give %s", string(got), strings.Join(names, ", "))
}
