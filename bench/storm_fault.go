package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// stormFaultGrace is how long a fault may take to come or to go on top of its
// own time: servers look at the end of a pause ten times a second.
const stormFaultGrace = 5 * time.Second

// stormFault does something to the server and undoes it.
type stormFault struct {
	run     *stormRun
	control *evenkeel.Conn // opened beforehand; nil for faults that need none
}

func newStormFault(ctx context.Context, run *stormRun) (*stormFault, error) {
	f := &stormFault{run: run}
	if run.o.Fault == FaultPause || run.o.Fault == FaultKill {
		control, err := run.control(ctx)
		if err != nil {
			return nil, fmt.Errorf("the conn for the fault: %w", err)
		}
		f.control = control
	}
	return f, nil
}

func (f *stormFault) begin(ctx context.Context) error {
	switch r := f.run; r.o.Fault {
	case FaultPause:
		return f.do(ctx, "CLIENT", "PAUSE", strconv.FormatInt(r.o.During.Milliseconds(), 10), "ALL")
	case FaultKill:
		return f.do(ctx, "CLIENT", "KILL", "TYPE", "normal")
	case FaultRefuse:
		err := r.relay.Refuse()
		r.relay.ResetAll()
		return err
	case FaultStop:
		return r.server.Stop()
	default:
		return fmt.Errorf("unknown fault %q", r.o.Fault)
	}
}

// end undoes the fault, also when ctx has ended, and returns when the server
// answers again.
func (f *stormFault) end(ctx context.Context) error {
	switch r := f.run; r.o.Fault {
	case FaultPause:
		// A pause ends by itself. The reply to this says when: the server held it, too.
		return f.do(ctx, "PING")
	case FaultRefuse:
		return r.relay.Accept()
	case FaultStop:
		return r.server.Cont()
	default:
		return nil
	}
}

func (f *stormFault) do(ctx context.Context, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, stormFaultGrace)
	defer cancel()
	if err := f.control.Do(ctx, args...).Err(); err != nil {
		return fmt.Errorf("%v: %w", args[:min(2, len(args))], err)
	}
	return nil
}

func (f *stormFault) close() {
	if f.control != nil {
		_ = f.control.Close()
	}
}
