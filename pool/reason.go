package pool

// Reason says why a conn was closed. Its String is a stable metrics label.
type Reason uint8

// The reasons. A caller that discards a lease gives ReasonError, ReasonCanceled,
// ReasonStall or any other that fits; the rest are the pool's own.
const (
	ReasonUnknown    Reason = iota
	ReasonIdle              // not leased for MaxConnIdleTime
	ReasonLifetime          // older than MaxConnLifetime
	ReasonDrain             // above Size and no longer needed
	ReasonError             // broke while in use
	ReasonCanceled          // its caller left with bytes under way
	ReasonStall             // a reply is overdue
	ReasonGeneration        // made before the last Clear
	ReasonLeak              // its lease was lost
	ReasonValidation        // found dead by Check or Ping
	ReasonShutdown          // the pool was closed
	ReasonResize            // above the size set by Resize
	ReasonDialLate          // its dial ended after the pool was closed
	ReasonState             // its caller changed what the conn is
	ReasonYield             // its place in the budget was needed by another lane
	reasonCount
)

var reasonNames = [reasonCount]string{
	"unknown", "idle", "lifetime", "overflow-drain", "error", "canceled", "stall",
	"generation", "leak", "validation", "shutdown", "resize", "dial-late", "state", "yielded",
}

// String returns the label, for example "overflow-drain".
func (r Reason) String() string {
	if r < reasonCount {
		return reasonNames[r]
	}
	return reasonNames[ReasonUnknown]
}

// Reasons returns all reasons, for those who export a counter for each.
func Reasons() []Reason {
	all := make([]Reason, reasonCount)
	for i := range all {
		all[i] = Reason(i)
	}
	return all
}

// lost tells the reasons that mean the other side, or the way to it, failed.
func (r Reason) lost() bool {
	return r == ReasonError || r == ReasonStall || r == ReasonValidation
}
