package pool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/governor"
)

// Defaults where a zero in [Config] does not mean "off".
const (
	DefaultMaxWaiters    = 10_000
	DefaultValidateAfter = time.Second
)

// Config describes a [Pool]. Dial, Close and a place for at least one conn are
// required. Functions are called without any lock of the pool held.
type Config[T any] struct {
	// Dial makes a conn. It runs on a goroutine of the pool's own. Its context is
	// detached from every caller, ends after DialTimeout, and is canceled by Clear and
	// Close; Dial must obey it, since until it returns it holds a place in the pool.
	Dial func(ctx context.Context) (T, error)
	// Close ends a conn. It may block: it runs on a goroutine of its own, and the
	// conn counts until it returns.
	Close func(conn T, reason Reason)
	// Err, if set, says why a conn is broken, nil if it is not: the endpoint reports it as
	// the cause when it fails. It must not block.
	Err func(conn T) error
	// Check, if set, looks at a conn that has been idle for ValidateAfter before it
	// is leased; false means dead. It must not block: it runs on the caller.
	Check func(conn T) bool
	// Ping, if set with PingInterval, is called for each conn that has been idle for
	// that time; false means dead. It must not block, and never opens a conn. The
	// conn is not leased to anybody meanwhile.
	Ping func(conn T) bool

	// Size is how many conns are kept for good once they were needed; Overflow how
	// many more may be opened in a burst. Either may be 0, not both.
	Size, Overflow int
	// MinIdleConns are opened beforehand and kept idle, up to Size in all. 0: none.
	MinIdleConns int

	// OverflowDrain is the time in which the conns above Size leave, evenly, once they
	// are no longer needed. 0: they stay until MaxConnIdleTime.
	OverflowDrain time.Duration
	// MaxConnIdleTime closes a conn not leased for so long. 0: never. MinIdleConns
	// are exempt if they are pinged.
	MaxConnIdleTime time.Duration
	// MaxConnLifetime, less a jitter of up to 10 % drawn once per conn, is the age at
	// which a conn is replaced, one at a time. 0: never.
	MaxConnLifetime time.Duration
	// ValidateAfter is the idle time after which Check is called. 0: 1 s.
	ValidateAfter time.Duration
	// PingInterval is the idle time, ±10 %, after which Ping is called. 0: never.
	PingInterval time.Duration
	// AcquireTimeout bounds a wait besides the caller's context. 0: the context alone.
	AcquireTimeout time.Duration
	// DialTimeout bounds a dial. 0: no bound; a Dial that hangs then holds its place,
	// so leave it at 0 only if Dial has deadlines of its own.
	DialTimeout time.Duration

	// MaxWaiters bounds the queue. 0: 10,000. Beyond it Acquire fails at once with
	// ErrQueueFull.
	MaxWaiters int
	// EarlyReject refuses callers at random before the queue is full: none below
	// twice as many waiters as conns, all from four times on. Off by default, since
	// long queues are normal use of a small pool.
	EarlyReject bool
	// CoDel sheds callers that waited too long under lasting overload. Off by default.
	CoDel CoDel

	// LeakThreshold switches leak detection on: a lease held longer is reported once
	// to OnLeak, and a lease that was lost is reclaimed and its conn closed. It costs
	// about a microsecond and two allocations per lease. 0: off, at no cost.
	LeakThreshold time.Duration
	// OnLeak gets the stack that acquired the lease and how long it has been held.
	OnLeak func(stack string, held time.Duration)

	// WaitWhileFailing lets callers wait for their deadline while the endpoint refuses
	// conns and none is open. Off, they fail at once with an [EndpointDownError].
	WaitWhileFailing bool
	// Endpoint governs the dials. Pools that dial the same server share one. The pool
	// tells it of conns lost: leases discarded with ReasonError or ReasonStall, and
	// conns that Check or Ping found dead. Its owner tells it of successes. Nil: the
	// pool makes one of its own, for which a Release counts as a success.
	Endpoint *governor.Endpoint
	// Budget caps the conns of several pools together. Nil: no cap but Size+Overflow.
	Budget *Budget
	// OnEvent, if set, is told what happens, in order per conn but not over all. It
	// must be quick and may be called concurrently.
	OnEvent func(Event)
}

func (c *Config[T]) validate() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("pool: %s %s", field, fmt.Sprintf(format, args...)))
	}
	if c.Dial == nil {
		bad("Dial", "is required")
	}
	if c.Close == nil {
		bad("Close", "is required")
	}
	errs = append(errs, validateSize(c.Size, c.Overflow))
	if c.MinIdleConns < 0 || c.MinIdleConns > max(c.Size, 0) {
		bad("MinIdleConns", "is %d, must be 0 to Size (%d)", c.MinIdleConns, c.Size)
	}
	if c.MaxWaiters < 0 {
		bad("MaxWaiters", "is %d, must not be negative", c.MaxWaiters)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"OverflowDrain", c.OverflowDrain},
		{"MaxConnIdleTime", c.MaxConnIdleTime},
		{"MaxConnLifetime", c.MaxConnLifetime},
		{"ValidateAfter", c.ValidateAfter},
		{"PingInterval", c.PingInterval},
		{"AcquireTimeout", c.AcquireTimeout},
		{"DialTimeout", c.DialTimeout},
		{"LeakThreshold", c.LeakThreshold},
		{"CoDel.Target", c.CoDel.Target},
		{"CoDel.Interval", c.CoDel.Interval},
	} {
		if d.value < 0 {
			bad(d.name, "is %v, must not be negative", d.value)
		}
	}
	if c.PingInterval > 0 && c.Ping == nil {
		bad("PingInterval", "is set without Ping")
	}
	return errors.Join(errs...)
}

func validateSize(size, overflow int) error {
	switch {
	case size < 0:
		return fmt.Errorf("pool: Size is %d, must not be negative", size)
	case overflow < 0:
		return fmt.Errorf("pool: Overflow is %d, must not be negative", overflow)
	case size+overflow < 1:
		return errors.New("pool: Size and Overflow are both 0: no conn could ever be opened")
	}
	return nil
}

func (c *Config[T]) setDefaults() {
	if c.MaxWaiters == 0 {
		c.MaxWaiters = DefaultMaxWaiters
	}
	if c.ValidateAfter == 0 {
		c.ValidateAfter = DefaultValidateAfter
	}
	c.CoDel.setDefaults(c.Size + c.Overflow)
}
