package pool

import "time"

// EventKind tells what an [Event] is about.
type EventKind uint8

// The kinds of events.
const (
	EventOpened     EventKind = iota + 1 // a dial gave a conn; Elapsed is its time
	EventDialFailed                      // a dial failed; Err and Elapsed
	EventClosed                          // a conn is being closed; Reason, and Elapsed is its age
	EventWaited                          // an Acquire got its conn after a wait of Elapsed
	EventRefused                         // an Acquire failed; Err, and Elapsed is its wait
	EventLeak                            // leak detection reports a lease held for Elapsed
	EventCleared                         // Clear was called
)

var eventNames = [...]string{"unknown", "opened", "dial-failed", "closed", "waited", "refused", "leak", "cleared"}

// String returns a stable label.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return eventNames[0]
}

// Event is something that happened in a pool. See the kinds for the fields that are set.
type Event struct {
	Kind    EventKind
	Reason  Reason
	Err     error
	Elapsed time.Duration
}

// note queues an event; unlock delivers it.
func (p *Pool[T]) note(ev Event) {
	if p.cfg.OnEvent != nil {
		p.events = append(p.events, ev)
	}
}
