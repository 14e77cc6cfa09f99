package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors of this package; test for them with errors.Is. Those of Acquire come
// wrapped in an [*AcquireError].
var (
	// ErrAcquireTimeout: no conn came free within the context's deadline or
	// AcquireTimeout.
	ErrAcquireTimeout = errors.New("pool: timed out waiting for a connection")
	// ErrDeadlineTooShort: the context's deadline had passed before the wait began.
	ErrDeadlineTooShort = errors.New("pool: deadline had passed before acquiring")
	// ErrQueueFull: MaxWaiters callers were waiting, or EarlyReject chose this one.
	ErrQueueFull = errors.New("pool: too many callers waiting")
	// ErrShed: CoDel gave the caller up because the pool is overloaded.
	ErrShed = errors.New("pool: shed under overload")
	// ErrClosed: the pool is closed or being closed.
	ErrClosed = errors.New("pool: closed")
	// ErrEndpointDown: the endpoint refuses conns and none is open. The error is an
	// [*EndpointDownError].
	ErrEndpointDown = errors.New("pool: endpoint down")
	// ErrReleased: the lease was given back, discarded or taken away before.
	ErrReleased = errors.New("pool: lease already released")
)

// EndpointDownError says why the endpoint refuses and when a dial may be tried again.
// errors.Is finds ErrEndpointDown and the cause.
type EndpointDownError struct {
	// Cause is the last dial error.
	Cause error
	// NextAttempt is when the next dial may start. Zero: one is under way now.
	NextAttempt time.Time
}

// Error implements error.
func (e *EndpointDownError) Error() string {
	if e.NextAttempt.IsZero() {
		return fmt.Sprintf("%v (a new attempt is under way): %v", ErrEndpointDown, e.Cause)
	}
	return fmt.Sprintf("%v (next attempt at %s): %v", ErrEndpointDown, e.NextAttempt.Format("15:04:05.000"), e.Cause)
}

// Unwrap returns ErrEndpointDown and the cause.
func (e *EndpointDownError) Unwrap() []error { return []error{ErrEndpointDown, e.Cause} }

// AcquireError is why an Acquire failed, with the pool's state at that moment.
// errors.Is finds Err, the context's error when the context ended the wait, and Cause.
type AcquireError struct {
	// Err is one of this package's errors, an *EndpointDownError, or
	// context.Canceled.
	Err error
	// Context is the context's error if that ended the wait, else nil.
	Context error
	// Cause is the last dial error if no dial has succeeded since, else nil.
	Cause error
	// Stat is the pool's state when the wait ended.
	Stat Stat
	// Waited is the time spent in the queue.
	Waited time.Duration
}

// Error implements error. It holds the figures one needs to see whether the pool is
// too small, the server slow, or the server unreachable.
func (e *AcquireError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v (waited %v; %d of %d open, %d in use, %d dialing, %d closing, %d waiting)",
		e.Err, e.Waited.Round(time.Microsecond), e.Stat.Open, e.Stat.Max, e.Stat.InUse, e.Stat.Dialing, e.Stat.Closing, e.Stat.Waiting)
	if e.Context != nil && e.Context.Error() != e.Err.Error() {
		fmt.Fprintf(&b, ": %v", e.Context)
	}
	if e.Cause != nil && !errors.Is(e.Err, e.Cause) {
		fmt.Fprintf(&b, "; last dial error: %v", e.Cause)
	}
	return b.String()
}

// Unwrap returns what is known: Err, Context and Cause.
func (e *AcquireError) Unwrap() []error {
	out := []error{e.Err}
	if e.Context != nil {
		out = append(out, e.Context)
	}
	if e.Cause != nil {
		out = append(out, e.Cause)
	}
	return out
}

// Timeout reports whether time ran out, as net.Error has it.
func (e *AcquireError) Timeout() bool {
	return errors.Is(e.Err, ErrAcquireTimeout) || errors.Is(e.Err, ErrDeadlineTooShort)
}

// refusal turns the end of a context into this package's error.
func refusal(ctxErr, onDeadline error) error {
	if errors.Is(ctxErr, context.DeadlineExceeded) {
		return onDeadline
	}
	return context.Canceled
}

// contextError returns why ctx has ended, with its cause if it was given one.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
