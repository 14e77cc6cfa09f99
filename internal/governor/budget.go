package governor

import (
	"sync/atomic"
	"time"
)

// The retry budget's terms, in thousandths of a token.
const (
	retryCapacity  = 10_000
	retryPerOK     = 100
	retryCost      = 1_000
	reserveEveryNs = int64(time.Second)
)

// RetryBudget bounds how much retries add to the load of an endpoint: it holds
// 10 tokens at the start and at most, earns 0.1 for a success and pays 1 for a
// retry. Beside it one retry a second is always allowed, so that a client with
// little traffic can retry at all.
//
// Retries are thus at most 10 + successes/10 + seconds, whatever fails.
// Use one per endpoint. It is safe for concurrent use; make it with
// [NewRetryBudget].
type RetryBudget struct {
	start   time.Time
	tokens  atomic.Int64 // thousandths
	reserve atomic.Int64 // ns after start, when the reserve is next full
	denied  atomic.Uint64
}

// NewRetryBudget returns a full budget.
func NewRetryBudget() *RetryBudget {
	b := &RetryBudget{start: time.Now()}
	b.tokens.Store(retryCapacity)
	return b
}

// Allow asks for one retry and pays for it. False means: give up and report the
// error that would have been retried.
func (b *RetryBudget) Allow() bool {
	for {
		have := b.tokens.Load()
		if have < retryCost {
			break
		}
		if b.tokens.CompareAndSwap(have, have-retryCost) {
			return true
		}
	}
	now := int64(time.Since(b.start))
	due := b.reserve.Load()
	if now >= due && b.reserve.CompareAndSwap(due, now+reserveEveryNs) {
		return true
	}
	b.denied.Add(1)
	return false
}

// Success earns a tenth of a token. With a full budget it is one atomic load.
func (b *RetryBudget) Success() {
	for {
		have := b.tokens.Load()
		if have >= retryCapacity {
			return
		}
		if b.tokens.CompareAndSwap(have, min(have+retryPerOK, retryCapacity)) {
			return
		}
	}
}

// Balance returns the tokens left, 0 to 10.
func (b *RetryBudget) Balance() float64 { return float64(b.tokens.Load()) / 1000 }

// Denied returns how many retries were refused.
func (b *RetryBudget) Denied() uint64 { return b.denied.Load() }
