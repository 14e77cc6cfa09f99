package raw

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/workload"
)

// Stream gives the requests of one worker; *workload.Stream is one. It is used by one
// goroutine at a time.
type Stream interface {
	// Batch returns the next n requests, encoded back to back, and one tag for each,
	// both valid until the next call. None at all means that the stream has ended. It
	// may return fewer or more than n where requests belong together.
	Batch(n int) (requests []byte, tags []workload.Tag)
	// Verify checks one whole encoded reply. It is only called with Config.Verify.
	Verify(t workload.Tag, reply []byte) error
}

// Bounds of a Config.
const (
	MaxWorkers = 1024
	MaxConns   = 1 << 20
	MaxDepth   = 1 << 16
	MaxRate    = 1e9
)

// Config says what to run. All fields are taken literally; where zero has a meaning it
// is documented.
type Config struct {
	// Dial opens one conn: TCP, a unix socket, or TLS after its handshake. It is called
	// from many goroutines, also during the run to replace conns that were lost. It has to
	// obey its context.
	Dial func(ctx context.Context) (net.Conn, error)
	// Hello are requests sent on each new conn, encoded (AUTH, SELECT, HELLO …), and
	// HelloReplies is how many replies they have. They are not counted as requests. An
	// error reply to them ends the run (a HelloError), but for those that pass by
	// themselves (LOADING, maxclients …), which count as a conn lost.
	Hello        []byte
	HelloReplies int
	// Caller gets the requests instead of conns that Dial opens; may be nil. Conns is then
	// how many goroutines call it, one request at a time: streams must keep none together.
	// Depth has to be 1, and what begins or ends a conn (Dial, Hello, ReconnectEvery) or
	// needs the bytes of replies (Verify) must be left out.
	Caller Caller
	// Classes are what the streams' tags mean, 1 to 256.
	Classes []workload.Class
	// Streams makes the stream of one worker.
	Streams func(worker, workers int) Stream

	// Workers is the number of threads, 1 to MaxWorkers and no more than Conns. More
	// than the processors that the server leaves free only get into each other's way.
	Workers int
	// Conns is the number of conns over all workers, 1 to MaxConns.
	Conns int
	// Depth is how many requests may be in flight on one conn, 1 to MaxDepth.
	Depth int
	// Sliding keeps the window of Depth full: each reply makes room for the next request.
	// Otherwise a conn sends Depth requests at once and waits for all of the replies. In
	// open loop the window always slides.
	Sliding bool

	// Requests is how many requests are sent and answered, over all workers, after the
	// warm-up. 0: until Duration, or until the streams end.
	Requests int64
	// Duration bounds the measured part. When it is over nothing more is sent, replies
	// under way get a second to come, and what has not come counts as Unanswered. 0:
	// until Requests, or until the streams end.
	Duration time.Duration
	// Warmup runs before the measured part. What is sent during it is not in the result.
	Warmup time.Duration
	// Rate is the number of requests per second over all workers, in open loop; 0 means
	// closed loop.
	Rate float64
	// Poisson draws exponential gaps, from Seed, instead of constant ones.
	Poisson bool
	Seed    uint64
	// Scale multiplies Rate by a factor that changes with the time since the beginning of
	// the run, warm-up included. Workers call it for each arrival: it has to be quick and
	// to depend on nothing else. Factors are held to 1e-6 to 1e6. Nil: constant.
	Scale func(time.Duration) float64
	// ReconnectEvery closes a conn and opens a new one after so many requests; 0 never.
	// The clock of the first request on such a conn starts before its dial.
	ReconnectEvery int
	// Verify gives every reply to Stream.Verify. A reply that fails counts as the error
	// "VERIFY".
	Verify bool
	// GiveUp ends a run that has had no conn at all for so long, with a GoneError; with a
	// Caller, one in which all goroutines' last calls have been lost for so long. 0:
	// such a run goes on trying until its Duration or its context ends it.
	GiveUp time.Duration

	// Ready is called when all conns are open, and the run begins when it returns, so that
	// several can begin together. Its error ends the run before it began. May be nil.
	Ready func(context.Context) error
	// OnInterval gets a snapshot about every Interval, warm-up included. It is called by
	// one goroutine, which is no worker, and may keep what it gets. The last call comes
	// before Run returns. Nil, or Interval 0: no snapshots.
	Interval   time.Duration
	OnInterval func(*Interval)

	// Portable uses the engine over net.Conn also where there is a faster one.
	Portable bool
}

// ConfigError says which field of a Config is wrong and what would be right.
type ConfigError struct {
	Field, Problem string
}

// Error implements error.
func (e *ConfigError) Error() string { return "raw: " + e.Field + ": " + e.Problem }

// Validate returns a *ConfigError for the first field that is out of bounds.
func (c *Config) Validate() error {
	bad := func(field, format string, args ...any) error {
		return &ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)}
	}
	switch {
	case c.Dial == nil && c.Caller == nil:
		return bad("Dial", "is nil; give a function that opens a conn")
	case c.Caller != nil && (c.Dial != nil || len(c.Hello) > 0 || c.Depth != 1 || c.ReconnectEvery != 0 || c.Verify):
		return bad("Caller", "leaves conns and the bytes of replies to a client; leave out Dial, Hello, ReconnectEvery and Verify, and set Depth to 1")
	case c.Streams == nil:
		return bad("Streams", "is nil; give a function that makes a worker's stream")
	case len(c.Classes) < 1 || len(c.Classes) > 256:
		return bad("Classes", "there are %d; give 1 to 256", len(c.Classes))
	case c.HelloReplies < 0 || (len(c.Hello) == 0) != (c.HelloReplies == 0):
		return bad("HelloReplies", "%d replies do not go with %d bytes of Hello", c.HelloReplies, len(c.Hello))
	case c.Workers < 1 || c.Workers > MaxWorkers:
		return bad("Workers", "%d is out of bounds; give 1 to %d", c.Workers, MaxWorkers)
	case c.Conns < c.Workers || c.Conns > MaxConns:
		return bad("Conns", "%d is out of bounds; give at least one per worker (%d) and at most %d", c.Conns, c.Workers, MaxConns)
	case c.Depth < 1 || c.Depth > MaxDepth:
		return bad("Depth", "%d is out of bounds; give 1 to %d", c.Depth, MaxDepth)
	case c.Requests < 0:
		return bad("Requests", "%d is negative; give 0 for no bound", c.Requests)
	case c.Duration < 0 || c.Warmup < 0 || c.GiveUp < 0 || c.Interval < 0:
		return bad("Duration", "Duration, Warmup, GiveUp and Interval cannot be negative")
	case !(c.Rate >= 0 && c.Rate <= MaxRate):
		return bad("Rate", "%g is out of bounds; give requests per second up to %g, or 0 for closed loop", c.Rate, float64(MaxRate))
	case c.ReconnectEvery < 0:
		return bad("ReconnectEvery", "%d is negative; give 0 for never", c.ReconnectEvery)
	}
	return nil
}

// HelloError says that the server refused what begins each conn, such as a password.
type HelloError struct {
	// Reply is the server's error line, without its type byte. It is cut at 128 bytes.
	Reply string
}

// Error implements error.
func (e *HelloError) Error() string {
	return "the server refused what begins a conn: " + e.Reply
}

// OpenError says that a run could not open its conns, and so did not begin.
type OpenError struct {
	// Opened of Wanted conns were open when one failed.
	Opened, Wanted int
	// Err is why.
	Err error
}

// Error implements error.
func (e *OpenError) Error() string {
	return fmt.Sprintf("opened %d of %d conns: %s", e.Opened, e.Wanted, explain(e.Err))
}

// Unwrap gives the cause.
func (e *OpenError) Unwrap() error { return e.Err }

// GoneError says that a run had no conn for Config.GiveUp.
type GoneError struct {
	// For is how long there was none.
	For time.Duration
	// Last is how the last attempt to open one failed; may be nil.
	Last error
}

// Error implements error.
func (e *GoneError) Error() string {
	text := fmt.Sprintf("no conn for %s", e.For.Round(time.Millisecond))
	if e.Last != nil {
		text += ": " + explain(e.Last)
	}
	return text
}

// Unwrap gives the cause.
func (e *GoneError) Unwrap() error { return e.Last }
