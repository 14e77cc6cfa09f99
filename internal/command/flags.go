package command

import "strings"

// Flags is a set of the flags that a server gives a command. Their meaning is the server's.
type Flags uint32

// The flags, by the server's names.
const (
	FlagReadOnly        Flags = 1 << iota // reads the data set, never changes it
	FlagWrite                             // may change the data set
	FlagDenyOOM                           // refused while the server is out of memory
	FlagAdmin                             // operates the server
	FlagPubSub                            // concerns publish and subscribe
	FlagNoScript                          // refused in scripts
	FlagBlocking                          // may wait on the server
	FlagLoading                           // allowed while the server loads its data
	FlagStale                             // allowed on a replica with stale data
	FlagSkipMonitor                       // not shown by MONITOR
	FlagSkipSlowLog                       // not noted in the slow log
	FlagAsking                            // runs as if ASKING had been said
	FlagFast                              // constant or logarithmic time
	FlagNoAuth                            // allowed before authentication
	FlagMayReplicate                      // may be sent to replicas without being a write
	FlagMovableKeys                       // keys do not stand at fixed places
	FlagNoAsyncLoading                    // refused during asynchronous loading
	FlagNoMandatoryKeys                   // legal without a key
	FlagAllowBusy                         // allowed while a script keeps the server busy
	FlagNoMulti                           // refused in a transaction
)

var flagNames = [...]string{
	"readonly", "write", "denyoom", "admin", "pubsub", "noscript", "blocking", "loading", "stale", "skip_monitor", "skip_slowlog", "asking", "fast", "no_auth",
	"may_replicate", "movablekeys", "no_async_loading", "no_mandatory_keys", "allow_busy", "no_multi",
}

// Has reports whether f contains every flag of want.
func (f Flags) Has(want Flags) bool { return f&want == want }

// String lists the flags by the server's names, separated by spaces, in the order of the constants.
func (f Flags) String() string {
	var names []string
	for i, flag := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, flag)
		}
	}
	return strings.Join(names, " ")
}
