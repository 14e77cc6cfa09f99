package governor

import (
	"math/rand/v2"
	"time"
)

// Defaults of the backoff between dials and between tries of a command.
const (
	DefaultBackoffBase = 100 * time.Millisecond
	DefaultBackoffCap  = 10 * time.Second

	// CommandBackoffBase and CommandBackoffCap bound [CommandBackoff].
	CommandBackoffBase = 8 * time.Millisecond
	CommandBackoffCap  = 512 * time.Millisecond
)

// outageShare is the share of an outage so far that a delay may be while the outage
// is young: to find its end late by more than that is an outage of our making.
const outageShare = 15

// backoff draws the delays between failing dials:
//
//	next ~ U(min(prev, cap/3), min(3·prev, cap))
//
// Unlike jitter that is cut off at the cap it has no mass there, so that a
// fleet that failed together does not retry together. The cap is ceil, or less
// while the outage is young.
type backoff struct {
	base, ceil time.Duration
	young      time.Duration // the cap of a young outage; zero: ceil
	prev       time.Duration // zero: no failure yet
}

// next draws the delay that follows one more failure, so long after the first one.
// rnd returns U[0,1).
func (b *backoff) next(rnd func() float64, outage time.Duration) time.Duration {
	prev := max(b.prev, b.base)
	ceil := b.ceil
	if b.young > 0 {
		ceil = max(b.base, min(ceil, max(b.young, outage/outageShare)))
	}
	lo := min(prev, ceil/3)
	hi := ceil
	if prev <= ceil/3 {
		hi = 3 * prev
	}
	b.prev = lo + time.Duration(rnd()*float64(hi-lo))
	return b.prev
}

func (b *backoff) reset() { b.prev = 0 }

// CommandBackoff returns the delay before a command is tried again: full jitter,
// U(0, min(512 ms, 8 ms·2ⁿ)) with n = attempt, where 0 is the first retry.
// rnd returns U[0,1); nil means math/rand/v2. It is a pure function: no state is
// shared between callers.
func CommandBackoff(attempt int, rnd func() float64) time.Duration {
	if rnd == nil {
		rnd = rand.Float64
	}
	limit := CommandBackoffCap
	if attempt < 0 {
		attempt = 0
	}
	if attempt < 6 { // 8 ms·2⁶ is the cap
		limit = CommandBackoffBase << attempt
	}
	return time.Duration(rnd() * float64(limit))
}
