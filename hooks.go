package evenkeel

import (
	"time"

	"github.com/evenkeel-go/evenkeel/pool"
)

// Lane is a kind of use that conns are kept apart for.
type Lane uint8

// The lanes.
const (
	LaneShared    Lane = iota + 1 // the few conns that all callers pipeline on
	LaneExclusive                 // conns leased to one caller
	LaneBlocking                  // conns for commands that wait on the server
)

// String is a stable metrics label.
func (l Lane) String() string {
	switch l {
	case LaneShared:
		return "shared"
	case LaneExclusive:
		return "exclusive"
	case LaneBlocking:
		return "blocking"
	default:
		return "none"
	}
}

// Hooks are told what happens, each if set. They are called concurrently, on goroutines that have work to do: they must be
// quick, must not block, and must not call the client.
type Hooks struct {
	// OnDial is called when a dial has ended.
	OnDial func(DialEvent)
	// OnCommand is called when a call has ended, be it on a Client, a Conn or a Pipeline. It costs each call two clock readings.
	OnCommand func(CommandEvent)
	// OnConn is called when a conn was opened or closed, stalled or recovered, when a lease seems lost, and when a reply came
	// for a caller that had left a blocking command.
	OnConn func(ConnEvent)
}

// DialEvent is one dial.
type DialEvent struct {
	Endpoint string
	Lane     Lane
	Start    time.Time
	Duration time.Duration
	Timings  Timings
	Err      error // nil when a conn came of it
}

// start is when a call begins, for a listener to its end; zero when there is none.
func (h *Hooks) start() time.Time {
	if h.OnCommand == nil {
		return time.Time{}
	}
	return time.Now()
}

// ended tells the listener that there was at the start of a call.
func (h *Hooks) ended(e CommandEvent) {
	e.Duration = time.Since(e.Start)
	h.OnCommand(e)
}

// Timings are how long the phases of a dial took; 0 for one that did not happen. Resolve is the name's lookup, Connect TCP's or the
// socket's connect, TLS its handshake, Handshake the round trip of HELLO, AUTH, SELECT and CLIENT.
type Timings struct {
	Resolve, Connect, TLS, Handshake time.Duration
	Resumed                          bool // the TLS session was resumed
}

// CommandEvent is one call. It names the command and never its arguments.
type CommandEvent struct {
	Name     string // of the command, or "pipeline"
	Lane     Lane   // 0 for a conn from Dial, and when no lane was chosen
	Commands int    // 1, or the length of the pipeline
	Start    time.Time
	Duration time.Duration
	Attempts int
	Err      error // the *Error or *ServerError, nil on success
}

// ConnEventKind tells what a ConnEvent is about.
type ConnEventKind uint8

// The kinds of ConnEvent.
const (
	ConnOpened    ConnEventKind = iota + 1
	ConnClosed                  // Reason says why
	ConnStalled                 // its oldest reply is overdue
	ConnRecovered               // its replies came after all
	ConnLeak                    // a lease was held beyond LeakThreshold; Stack took it
	ConnLostReply               // an element came for a blocking command whose caller had left: nobody got it
)

// String is a stable label.
func (k ConnEventKind) String() string {
	names := [...]string{"unknown", "opened", "closed", "stalled", "recovered", "leak", "lost-reply"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}

// ConnEvent is something that happened to a conn.
type ConnEvent struct {
	Kind     ConnEventKind
	Endpoint string
	Lane     Lane
	Reason   pool.Reason   // of ConnClosed
	Elapsed  time.Duration // of ConnClosed its age, of ConnOpened its dial, of ConnLeak how long it has been held
	Err      error         // of ConnClosed, when an error was the reason
	Stack    string        // of ConnLeak
	Command  string        // of ConnLostReply
}
