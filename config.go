package evenkeel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/governor"
)

// Disabled is the zero duration, where a field of Config says that zero switches something off.
const Disabled time.Duration = 0

// The defaults of Config, each with its reason.
const (
	DefaultMaxConns        = 64                     // per process and endpoint: with 100 processes, well below the servers' own limit of 10,000
	DefaultSharedConns     = 2                      // one fills a server's core; the second hides a slow reply of the first
	DefaultSize            = 10                     // pools of 10 to 50 are right for one process; the shared lane takes most of the work
	DefaultMaxBlocking     = 32                     // a worker that waits on the server holds a conn as long
	DefaultOverflowDrain   = 100 * time.Second      // long enough that the next burst finds the conns of this one
	DefaultCreateBurst     = 10                     // overflow conns at once
	DefaultCreateInterval  = 100 * time.Millisecond // and then ten a second
	DefaultMaxConnIdleTime = 4 * time.Minute        // below the server timeout of 300 s and the idle limits of load balancers
	DefaultMaxConnLifetime = 30 * time.Minute       // follows DNS and spreads over new servers
	DefaultValidateAfter   = time.Second            // a peer that has gone shows itself by then
	DefaultPingInterval    = 3 * time.Second        // keeps flows alive in every middle box, finds dead ones early
	DefaultMaxWaiters      = 10_000                 // more than conns can serve within any usual deadline
	DefaultDialTimeout     = 2 * time.Second        // below that, a network's ordinary jitter fails dials
	DefaultDialTimeoutTLS  = 5 * time.Second        // servers queue TLS handshakes in a storm, and a client that gives up makes it worse
	DefaultCommandTimeout  = 2 * time.Second        // outlasts one lost packet, whose repetition alone takes up to a second
	DefaultStallTimeout    = 2 * time.Second        // the same: what is later than that is not the network
	DefaultMaxRetries      = 2                      // what fails three times running is an outage, which the backoff handles
	DefaultLaneThreshold   = 64 << 10               // bytes: what takes longer to send than a small command takes in all
	DefaultUserTimeout     = 20 * time.Second       // several repetitions of a packet, instead of the kernel's quarter of an hour
)

// unwiseTimeout is the limit below which a timeout is warned of: shorter ones turn a network's jitter and a lost packet
// (whose repetition alone takes a second) into errors.
const unwiseTimeout = 2 * time.Second

// maxConnsLimit is far above what any server takes (65,000 on the largest managed ones), and keeps sums from overflowing.
const maxConnsLimit = 1 << 20

// Config is everything a Client can be told. Make it with [DefaultConfig] or [ParseURL] and change what you need: the values
// in it are literal, a zero means none, never "the default", and New refuses a Config made in any other way.
type Config struct {
	// Network is "tcp" or "unix". Addr is host:port, or the path of the socket.
	Network, Addr string

	// Username and Password authenticate; an empty Username is the server's default user. They appear in no error or log.
	Username, Password string
	// Credentials, when set, is asked on every dial in their stead, so that tokens may expire. Its context is the dial's.
	Credentials func(ctx context.Context) (username, password string, err error)

	// DB is the database number, from 0.
	DB int
	// ClientName is shown by CLIENT LIST; no blanks or newlines. Empty: none.
	ClientName string
	// Protocol is 2 or 3, or 0 for 3 with a fall-back to 2 on servers before Redis 6.
	Protocol int

	// TLS switches TLS on when set. An empty ServerName becomes the host of Addr.
	TLS *tls.Config
	// Dialer, when set, opens the socket: for proxies, tunnels and tests.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

	// MaxConns is the most conns that the server sees from this client at any time: all lanes, conns being dialed and being
	// closed included. At least SharedConns + 1 + Size + Overflow + MaxBlocking: the one is for the probe of a stalled endpoint.
	MaxConns int
	// SharedConns is the number of conns that all callers pipeline on, opened as they are needed. 1 to 256.
	SharedConns int
	// Size is how many exclusive conns are kept for good once they were needed, Overflow how many more a burst may open. Both
	// 0: no exclusive lane, and what needs one fails with an error that says so.
	Size, Overflow int
	// MaxBlocking is how many commands may wait on the server at a time. 0: none, and blocking commands are refused.
	MaxBlocking int
	// MinIdleConns exclusive conns are opened beforehand and kept idle, up to Size.
	MinIdleConns int

	// OverflowDrain is the time in which the conns above Size leave, evenly, once they are not needed any more. 0: at MaxConnIdleTime.
	OverflowDrain time.Duration
	// CreateBurst overflow conns may be opened at once, then one per CreateInterval. 0 burst: one per interval from the
	// start; 0 interval: no limit.
	CreateBurst    int
	CreateInterval time.Duration
	// MaxConnIdleTime closes a conn that was not used for so long; background pings do not count. 0: never.
	MaxConnIdleTime time.Duration
	// MaxConnLifetime, less up to 10 % drawn once per conn, is the age at which a conn is replaced. 0: never.
	MaxConnLifetime time.Duration
	// ValidateAfter is the idle time after which a conn is looked at, without waiting, before its next use.
	// More than 0.
	ValidateAfter time.Duration
	// PingInterval is the idle time after which a conn is pinged in the background. 0: never.
	PingInterval time.Duration

	// MaxWaiters bounds the callers that wait for an exclusive conn, and those that wait for one of the blocking lane.
	// At least 1.
	MaxWaiters int
	// AcquireTimeout bounds the wait for an exclusive conn, besides the call's own deadline. 0: the call's deadline alone.
	AcquireTimeout time.Duration
	// Overload says what is done about more callers than the lanes can ever serve. The zero Overload: nothing.
	Overload Overload
	// WaitWhileDown lets calls wait for their deadline while the endpoint refuses conns. Off, they fail at once with the cause
	// and the time of the next attempt.
	WaitWhileDown bool
	// LeakThreshold reports an exclusive conn held for longer, through Hooks.OnConn and with the stack that took it. 0: off.
	LeakThreshold time.Duration

	// DialTimeout bounds resolving, connecting, TLS and handshake together. Must be positive.
	DialTimeout time.Duration
	// CommandTimeout bounds a whole call whose context has no deadline: waiting, retries and all. A command that waits on the
	// server has its own timeout and a second more instead, or only its context when it waits for ever, both from when it has
	// a conn. 0: no bound; a call then waits for as long as its endpoint does not answer.
	CommandTimeout time.Duration
	// StallTimeout is how late the oldest reply of a conn may be before the conn gets no more work, and is replaced as soon as a
	// fresh conn shows that the server answers. A large request or reply is given more time while it passes, at least 64 KiB of
	// it within each such span. 0: never; then only TCP finds a dead peer.
	StallTimeout time.Duration
	// MaxRetries is how often a command is repeated that provably did not run, at once, or that only reads, after a pause of
	// up to 8 ms, then 16, 32 … 512. The latter comes out of a budget of 10, which each success refills by a tenth; beyond it
	// one a second is repeated. 0: never.
	MaxRetries int
	// LaneThreshold is the size in bytes from which a request travels on the exclusive lane, so that small ones need not wait
	// behind it. 0: never.
	LaneThreshold int
	// UserTimeout is how long sent data may stay unacknowledged before the kernel gives the conn up (TCP_USER_TIMEOUT; Linux
	// only). 0: the kernel's own, about 15 minutes.
	UserTimeout time.Duration

	// Governor decides when a dial may start. Nil: the one that all clients of the process share.
	Governor *Governor
	// Hooks are told what happens.
	Hooks Hooks
	// Logger gets the few things worth a line: unwise settings, a reply that came for a caller that had left. Nil: slog.Default().
	Logger *slog.Logger

	// HandshakeSequential sends the commands of the handshake one by one, each in a round trip of its own, as many clients do.
	// For measuring only.
	HandshakeSequential bool

	made bool // by DefaultConfig
}

// Overload switches on what sheds callers of the exclusive and of the blocking lane under lasting overload. All off by
// default: 250 callers on 10 conns are normal use.
type Overload struct {
	// CoDel sheds callers that waited too long while even the shortest wait of an interval is above the target, and serves the
	// newest first meanwhile.
	CoDel bool
	// EarlyReject refuses callers at random from twice as many waiters as conns on, all from four times on.
	EarlyReject bool
}

// DefaultConfig returns the defaults for an address: host:port, or the path of a unix socket.
func DefaultConfig(addr string) Config {
	c := Config{
		Network: "tcp", Addr: addr,
		MaxConns: DefaultMaxConns, SharedConns: DefaultSharedConns, Size: DefaultSize, MaxBlocking: DefaultMaxBlocking,
		Overflow:      DefaultMaxConns - DefaultSharedConns - 1 - DefaultSize - DefaultMaxBlocking, // 19: what the other lanes leave
		OverflowDrain: DefaultOverflowDrain, CreateBurst: DefaultCreateBurst, CreateInterval: DefaultCreateInterval,
		MaxConnIdleTime: DefaultMaxConnIdleTime, MaxConnLifetime: DefaultMaxConnLifetime,
		ValidateAfter: DefaultValidateAfter, PingInterval: DefaultPingInterval, MaxWaiters: DefaultMaxWaiters,
		DialTimeout: DefaultDialTimeout, CommandTimeout: DefaultCommandTimeout, StallTimeout: DefaultStallTimeout,
		MaxRetries: DefaultMaxRetries, LaneThreshold: DefaultLaneThreshold, UserTimeout: DefaultUserTimeout,
		made: true,
	}
	if strings.HasPrefix(addr, "/") {
		c.Network = "unix"
	}
	return c
}

// Validate reports every field that is out of bounds, by name and with what to do. New calls it.
func (c *Config) Validate() error {
	if !c.made {
		return errors.New("evenkeel: make the Config with DefaultConfig or ParseURL: its zero values are literal")
	}
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("evenkeel: %s %s", field, fmt.Sprintf(format, args...)))
	}
	c.validateEndpoint(bad)
	for _, n := range []struct {
		name       string
		value, min int
	}{
		{"SharedConns", c.SharedConns, 1},
		{"Size", c.Size, 0},
		{"Overflow", c.Overflow, 0},
		{"MaxBlocking", c.MaxBlocking, 0},
		{"MinIdleConns", c.MinIdleConns, 0},
		{"CreateBurst", c.CreateBurst, 0},
		{"MaxWaiters", c.MaxWaiters, 1},
		{"MaxRetries", c.MaxRetries, 0},
		{"LaneThreshold", c.LaneThreshold, 0},
	} {
		if n.value < n.min {
			bad(n.name, "is %d, must be at least %d", n.value, n.min)
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"OverflowDrain", c.OverflowDrain},
		{"CreateInterval", c.CreateInterval},
		{"MaxConnIdleTime", c.MaxConnIdleTime},
		{"MaxConnLifetime", c.MaxConnLifetime},
		{"PingInterval", c.PingInterval},
		{"AcquireTimeout", c.AcquireTimeout},
		{"LeakThreshold", c.LeakThreshold},
		{"CommandTimeout", c.CommandTimeout},
		{"StallTimeout", c.StallTimeout},
		{"UserTimeout", c.UserTimeout},
	} {
		if d.value < 0 {
			bad(d.name, "is %v, must not be negative", d.value)
		}
	}
	if c.DialTimeout <= 0 {
		bad("DialTimeout", "is %v, must be positive: a dial without a bound could hold its place for ever", c.DialTimeout)
	}
	if c.ValidateAfter <= 0 {
		bad("ValidateAfter", "is %v, must be positive: to look at a conn before each use costs a system call", c.ValidateAfter)
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"Size", c.Size}, {"Overflow", c.Overflow}, {"MaxBlocking", c.MaxBlocking}, {"MaxConns", c.MaxConns}} {
		if n.value > maxConnsLimit {
			bad(n.name, "is %d, must be at most %d", n.value, maxConnsLimit)
		}
	}
	if c.SharedConns > 256 {
		bad("SharedConns", "is %d, must be at most 256", c.SharedConns)
	}
	if c.MinIdleConns > c.Size {
		bad("MinIdleConns", "is %d, must be at most Size (%d)", c.MinIdleConns, c.Size)
	}
	if need := c.SharedConns + 1 + c.Size + c.Overflow + c.MaxBlocking; c.MaxConns < need {
		bad("MaxConns", "is %d, must be at least SharedConns+1+Size+Overflow+MaxBlocking = %d+1+%d+%d+%d = %d: raise it or lower one of them",
			c.MaxConns, c.SharedConns, c.Size, c.Overflow, c.MaxBlocking, need)
	}
	return errors.Join(errs...)
}

func (c *Config) validateEndpoint(bad func(field, format string, args ...any)) {
	switch c.Network {
	case "unix":
		if c.Addr == "" {
			bad("Addr", "is empty, must be the path of the server's socket")
		}
	case "tcp":
		if _, port, err := net.SplitHostPort(c.Addr); err != nil || port == "" {
			bad("Addr", "is %q, must be host:port, such as localhost:6379", c.Addr)
		}
	default:
		bad("Network", "is %q, must be tcp or unix", c.Network)
	}
	if c.DB < 0 {
		bad("DB", "is %d, must not be negative", c.DB)
	}
	if c.Protocol != 0 && c.Protocol != 2 && c.Protocol != 3 {
		bad("Protocol", "is %d, must be 2, 3 or 0", c.Protocol)
	}
	if strings.ContainsFunc(c.ClientName, func(r rune) bool { return r <= ' ' || r > '~' }) {
		bad("ClientName", "has blanks, control or non-ASCII characters: the server refuses them")
	}
	if c.Username != "" && c.Password == "" && c.Credentials == nil {
		bad("Password", "is empty although Username is set")
	}
}

// fitLanes makes Overflow what the other lanes leave of MaxConns, at most ten times Size.
func (c *Config) fitLanes() {
	c.Overflow = max(0, min(10*c.Size, c.MaxConns-c.SharedConns-1-c.Size-c.MaxBlocking))
}

// warnings are settings that are legal and unwise.
func (c *Config) warnings() []string {
	var w []string
	for _, t := range []struct {
		name  string
		value time.Duration
	}{{"DialTimeout", c.DialTimeout}, {"CommandTimeout", c.CommandTimeout}, {"StallTimeout", c.StallTimeout}} {
		if t.value > 0 && t.value < unwiseTimeout {
			w = append(w, fmt.Sprintf("%s is %v: below 2s the jitter and packet loss of an ordinary cloud network become errors", t.name, t.value))
		}
	}
	return w
}

// A Governor limits the dials of all clients that share it: how many may be under way at a time in the whole process. Safe for
// concurrent use.
type Governor struct{ g *governor.Governor }

// NewGovernor returns a Governor that allows maxPendingDials dials under way; 0 means 16. Clients have a limit of two each
// besides, one while their server fails.
func NewGovernor(maxPendingDials int) *Governor {
	return &Governor{governor.New(governor.Config{MaxPendingDials: maxPendingDials})}
}

// defaultGovernor is what clients share that are not given one of their own: the one package-level state there is, since only
// something that belongs to the process can bound the process.
var defaultGovernor = NewGovernor(0)
