package evenkeel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/evenkeel-go/evenkeel/internal/wire"
	"github.com/evenkeel-go/evenkeel/pool"
)

// Errors to test for with errors.Is. What Do and its like return is an [*Error] that wraps them, or a [*ServerError].
var (
	// ErrNil: the reply is nil (no such key, an empty list, an aborted transaction) and was asked for a value.
	ErrNil = errors.New("evenkeel: nil reply")
	// ErrClosed: the client is closed, or the conn was closed under the call.
	ErrClosed = errors.New("client closed")
	// ErrTimeout: CommandTimeout has passed. It is also a context.DeadlineExceeded.
	ErrTimeout = wire.ErrTimeout
	// ErrStalled: the conn was given up because its oldest reply was overdue.
	ErrStalled = wire.ErrStalled
	// ErrEndpointDown: the endpoint refuses conns and none is open. errors.As finds the pool.EndpointDownError with the time
	// of the next attempt.
	ErrEndpointDown = pool.ErrEndpointDown
	// ErrAcquireTimeout: no conn of the lane came free in time.
	ErrAcquireTimeout = pool.ErrAcquireTimeout
	// ErrQueueFull: too many callers wait for an exclusive conn already.
	ErrQueueFull = pool.ErrQueueFull
	// ErrAuth: the server refused the credentials, or wants some. It is found in what a call returns when no conn could be had.
	ErrAuth = wire.ErrAuth
	// ErrMaxClients: the server's maxclients is reached. It is found in what a call returns when no conn could be had.
	ErrMaxClients = wire.ErrMaxClients
	// ErrUsage: the call can never work as it is made, and nothing was sent; its text says what to do.
	ErrUsage = errors.New("wrong use")
)

// Error is why a call failed without the server's word on it: what this side knows.
type Error struct {
	// Op is the command's name, or "pipeline"; never its arguments.
	Op string
	// Endpoint is the server's address, Lane the lane the call was on.
	Endpoint string
	Lane     Lane
	// MayHaveRun reports whether the server may have run the command: its bytes may have arrived whole.
	MayHaveRun bool
	// Attempts is how often it was sent or tried.
	Attempts int
	// Pool is the state of the lane's pool when a conn could not be had; nil otherwise.
	Pool *pool.Stat
	// Err is the cause.
	Err error
}

// Error says what happened, to what, and whether the command may have run.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "evenkeel: %s on %s", e.Op, e.Endpoint)
	if e.Lane != 0 {
		fmt.Fprintf(&b, " (%s lane)", e.Lane)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " after %d attempts", e.Attempts)
	}
	if e.MayHaveRun {
		b.WriteString("; the command may have run")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes a passed CommandTimeout a context.DeadlineExceeded too: to the caller it is the same.
func (e *Error) Is(target error) bool {
	return target == context.DeadlineExceeded && errors.Is(e.Err, ErrTimeout)
}

// Timeout reports whether time ran out, as net.Error has it.
func (e *Error) Timeout() bool { return errors.Is(e, context.DeadlineExceeded) }

// MayHaveRun reports whether the command behind err may have run on the server. False is certain: it did not, or the server
// itself refused it. True means that nobody knows.
func MayHaveRun(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.MayHaveRun
}

// ServerSaid reports whether err is the server's own answer to the command, rather than this side's conclusion.
func ServerSaid(err error) bool {
	_, ok := errors.AsType[*ServerError](err)
	return ok
}

// ServerError is an error reply: the server's own word.
type ServerError struct {
	// Code is the first word when it is in upper case, such as WRONGTYPE; else ERR.
	Code string
	// Message is the rest of the line.
	Message string
}

// Error is the server's line.
func (e *ServerError) Error() string { return e.Code + " " + e.Message }

func newServerError(line string) *ServerError {
	code, rest, ok := strings.Cut(line, " ")
	if !ok || code == "" || strings.ContainsFunc(code, func(r rune) bool { return (r < 'A' || r > 'Z') && r != '_' && (r < '0' || r > '9') }) {
		return &ServerError{Code: "ERR", Message: line}
	}
	return &ServerError{Code: code, Message: rest}
}

// usage is an error about the call itself.
func usage(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUsage, fmt.Sprintf(format, args...))
}

// closedError makes the layers' own words for it ErrClosed.
type closedError struct{ err error }

func (e closedError) Error() string   { return ErrClosed.Error() }
func (e closedError) Unwrap() []error { return []error{ErrClosed, e.err} }

func (c *Client) wrap(op string, lane Lane, attempts int, err error) error {
	return wrapError(c.cfg.Addr, op, lane, attempts, err)
}

// wrapError makes the Error of a failed call.
func wrapError(endpoint, op string, lane Lane, attempts int, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	e := &Error{Op: op, Endpoint: endpoint, Lane: lane, Attempts: attempts, Err: err}
	if left, ok := errors.AsType[*wire.LeftError](err); ok {
		e.MayHaveRun = left.Sent
	}
	if failed, ok := errors.AsType[*wire.ConnError](err); ok {
		e.MayHaveRun = failed.MayHaveRun
	}
	if errors.Is(err, pool.ErrClosed) || errors.Is(err, wire.ErrClosed) {
		e.Err = closedError{err}
	}
	if acquire, ok := errors.AsType[*pool.AcquireError](err); ok {
		e.Pool = &acquire.Stat
	}
	return e
}
