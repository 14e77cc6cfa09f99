package command

// Info is what is known of one command or subcommand.
type Info struct {
	// Name is in upper case: "GET", or "CLIENT KILL" for a subcommand.
	Name string
	// Arity counts the words of a call, the name included (both words of a subcommand): exactly so many, or at least -Arity when negative. It is 0 for a command
	// that the captured server does not have; its key positions are then unknown, too.
	Arity int
	// Flags are the server's own, and FlagBlocking also where the server leaves it out (WAIT). For a command that the captured server does not have they are
	// FlagReadOnly, FlagWrite (also where that is not known), or none.
	Flags Flags
	// FirstKey, LastKey and KeyStep give the words that are keys, counted from 0 for the name. LastKey counts from the end when negative (-1 is the last word). All
	// are 0 when there is no key at a fixed place; see FlagMovableKeys.
	FirstKey, LastKey, KeyStep int
	// Class says what the command means for the conn it runs on.
	Class Class
	// Retry says whether the client may repeat the command by itself.
	Retry Retry
	// Timeout says where a command that waits on the server has its timeout.
	Timeout TimeoutArg

	container bool // has subcommands in the table
	open      bool // a container whose other first arguments are legal, too (DEBUG)
}

// MayBlock reports whether some call of this command can wait on the server; BlockTimeout tells for one call. It is false for a nil Info.
func (i *Info) MayBlock() bool { return i != nil && i.Timeout != TimeoutNone }

// Class says what a command means for the conn it runs on. Each command has exactly one; the zero Class means none and is in no entry.
type Class uint8

// The classes.
const (
	// ClassMux is for commands without effect on the conn: they may share it with other callers.
	ClassMux Class = iota + 1
	// ClassHeavy is ClassMux for commands whose reply or running time can be large: they hold up whatever shares their conn.
	ClassHeavy
	// ClassLocal is for what concerns the session rather than the server (CLIENT SETNAME, CLIENT REPLY, QUIT, RESET): on a shared conn it would change or end
	// everybody's session, or answer about the wrong one.
	ClassLocal
	// ClassTx is for MULTI, EXEC, DISCARD, WATCH and UNWATCH: they need a conn of their own from the first to the last.
	ClassTx
	// ClassSub is for commands that turn a conn into a subscriber, or back.
	ClassSub
	// ClassBlock is for commands that wait on the server for an element, and hold up all that follows on their conn.
	ClassBlock
	// ClassMaybeBlock is ClassBlock only with a BLOCK option (XREAD, XREADGROUP); without it ClassMux.
	ClassMaybeBlock
	// ClassQuarantine is for WAIT and WAITAOF: they wait, and mean the writes of their own conn. On another conn they answer at once, which is a false promise.
	ClassQuarantine
	// ClassPin is for commands that set a lasting mode of the conn (CLIENT TRACKING, CLIENT NO-EVICT): the conn must stay with its caller until the mode ends.
	ClassPin
	// ClassPoolKey is for commands that make a conn another kind of conn (SELECT, AUTH, HELLO, READONLY): legal in the handshake, never on a shared conn after it.
	ClassPoolKey
	// ClassControl is for commands that must reach a busy server (SCRIPT KILL, FUNCTION KILL): never on the conn whose script is running.
	ClassControl
	// ClassTopology is for commands that ask a cluster about itself.
	ClassTopology
	// ClassClusterOnly is for what a client says of its own accord while it follows a cluster (ASKING).
	ClassClusterOnly
	// ClassAdmin is for commands that operate the server: they may change it for all, or hold it up.
	ClassAdmin
	// ClassDeny is for commands that turn the conn into something that is not RESP any more (SYNC, PSYNC): a client must refuse them.
	ClassDeny
	// ClassSentinel is for the commands of a sentinel, which other servers do not have.
	ClassSentinel
	// ClassContainer is for a container command without its subcommand (CLIENT alone): the server refuses it.
	ClassContainer
)

// Retry says whether the client may repeat a command by itself after a failure. The zero value is the careful one.
type Retry uint8

// The answers. A caller who knows that a command is idempotent may say so and repeat more.
const (
	// RetryNever: not repeated, whatever became of the first try.
	RetryNever Retry = iota
	// RetryUnsentOnly: repeated only when provably not one byte of it was sent.
	RetryUnsentOnly
	// RetrySafe: may be repeated also when it may have run: it changes nothing.
	RetrySafe
	// RetryLocal: concerns the session of one conn (AUTH, SELECT, QUIT …): repeating it on another conn means something else.
	RetryLocal
)

// TimeoutArg says where a blocking command's timeout stands, and in which unit.
type TimeoutArg uint8

// The places.
const (
	// TimeoutNone: the command does not wait on the server.
	TimeoutNone TimeoutArg = iota
	// TimeoutLastSeconds: the last argument, in seconds, fractions allowed (BLPOP, BRPOP, BRPOPLPUSH, BLMOVE, BZPOPMIN, BZPOPMAX).
	TimeoutLastSeconds
	// TimeoutFirstSeconds: the first argument, in seconds, fractions allowed (BLMPOP, BZMPOP).
	TimeoutFirstSeconds
	// TimeoutBlockOption: the argument after the word BLOCK, in milliseconds (XREAD, XREADGROUP); without that word the command does not wait.
	TimeoutBlockOption
	// TimeoutLastMillis: the last argument, in milliseconds (WAIT, WAITAOF).
	TimeoutLastMillis
)

// String gives the class as gen/classes.tsv writes it.
func (c Class) String() string { return name(classNames[:], int(c)) }

// String gives the answer as gen/classes.tsv writes it.
func (r Retry) String() string { return name(retryNames[:], int(r)) }

// String says the place in words.
func (t TimeoutArg) String() string { return name(timeoutNames[:], int(t)) }

var (
	classNames = [...]string{
		ClassMux: "MUX", ClassHeavy: "HEAVY", ClassLocal: "LOCAL", ClassTx: "TX", ClassSub: "SUB", ClassBlock: "BLOCK", ClassMaybeBlock: "BLOCK?",
		ClassQuarantine: "QUAR", ClassPin: "PIN", ClassPoolKey: "POOLKEY", ClassControl: "CTRL", ClassTopology: "TOPO",
		ClassClusterOnly: "CLUSTERONLY", ClassAdmin: "ADMIN", ClassDeny: "DENY", ClassSentinel: "N/A", ClassContainer: "CONTAINER",
	}
	retryNames   = [...]string{RetryNever: "never", RetryUnsentOnly: "unsent-only", RetrySafe: "safe", RetryLocal: "local"}
	timeoutNames = [...]string{
		TimeoutNone: "none", TimeoutLastSeconds: "last argument, seconds", TimeoutFirstSeconds: "first argument, seconds",
		TimeoutBlockOption: "BLOCK option, milliseconds", TimeoutLastMillis: "last argument, milliseconds",
	}
)

// name looks a value up, and has a word for one that is out of range, too.
func name(names []string, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return "invalid"
}
