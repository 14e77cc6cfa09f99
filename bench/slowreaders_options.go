package bench

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// SlowReadersOptions say what SlowReaders does: Readers ask for a large value all
// at once and read its bytes slowly, so that the server has to keep the rest. Make
// it with [DefaultSlowReadersOptions].
type SlowReadersOptions struct {
	// Target is the server; the zero value means a private one.
	Target Target
	// Readers is how many clients read slowly, 1 to 1,000. Default 20.
	Readers int
	// ValueSize is the size of the value in bytes, 64 KiB to 512 MiB. Default 10 MiB.
	ValueSize int
	// Rate is how many bytes a second each of them reads, 0 to 1 GiB; 0 means none
	// at all. Default 64 KiB.
	Rate int
	// Limit is the maxmemory-clients of the second phase in bytes, less than what
	// the readers ask for, 1 MiB to 1 TiB. Default 64 MiB. Servers have it since
	// version 7.0. A given server gets it only with Disturb, and its own setting back
	// afterwards.
	Limit int64
	// Watch is how long each phase is watched, 200 ms to 10 min. Default 4 s.
	Watch time.Duration
	// Disturb allows load on a given server that is busy, a replica, or near a limit,
	// and the phase with a limit on any given server. Default false.
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultSlowReadersOptions returns the defaults that the fields name.
func DefaultSlowReadersOptions() SlowReadersOptions {
	return SlowReadersOptions{Readers: 20, ValueSize: 10 << 20, Rate: 64 << 10, Limit: 64 << 20, Watch: 4 * time.Second}
}

// asked is how many bytes the readers ask for.
func (o SlowReadersOptions) asked() int64 { return int64(o.Readers) * int64(o.ValueSize) }

// limits reports whether the phase with a limit is to be run, where the server has
// one.
func (o SlowReadersOptions) limits() bool { return o.Target.Private() || o.Disturb }

// Validate reports the first option that is out of bounds as an [OptionError].
func (o SlowReadersOptions) Validate() error {
	var c check
	c.target(o.Target)
	c.between(o.Readers, 1, 1_000, "readers")
	c.between(o.ValueSize, 64<<10, 512<<20, "value-size")
	c.between(o.Rate, 0, 1<<30, "rate")
	c.that(o.Limit >= 1<<20 && o.Limit <= 1<<40, "limit", "%d is out of bounds; give %s to %s bytes", o.Limit, report.Int(1<<20), report.Int(1<<40))
	c.that(o.Limit < o.asked(), "limit", "%s is no limit for readers who ask for %s in all; give less", report.Bytes(o.Limit), report.Bytes(o.asked()))
	c.lasts(o.Watch, 200*time.Millisecond, 10*time.Minute, "watch")
	return c.err
}

// Plan says what SlowReaders will do.
func (o SlowReadersOptions) Plan() Plan {
	readers := fmt.Sprintf("%s ask for %s each and read %s a second of it, for %v",
		report.Plural(o.Readers, "client", "clients"), report.Bytes(int64(o.ValueSize)), report.Bytes(int64(o.Rate)), o.Watch)
	p := Plan{
		Steps:  []string{readers + ", the server's limit as it is"},
		Length: o.Watch + slowBaseline + slowRelease,
		Conns:  o.Readers + 2,
		// The value, what each reader has not read, and what fits the server's allocator
		// beside them.
		Memory: int64(o.Readers+2)*connMemory + int64(o.ValueSize) + o.asked() + o.asked()/4,
	}
	if o.limits() {
		p.Steps[0] = readers + ", without a limit"
		p.Steps = append(p.Steps, "once more, with a maxmemory-clients of "+report.Bytes(o.Limit)+", where the server has it")
		p.Length *= 2
	}
	return p
}
