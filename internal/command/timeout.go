package command

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// BlockTimeout reports how long the server may wait before it answers this call. args are all of its words, the name included.
//
//   - blocks is false when the call does not wait: the command never does, XREAD and XREADGROUP have no BLOCK option, or the timeout is missing, negative or
//     unreadable, which the server refuses at once.
//   - forever is true when the timeout is 0: the server waits without end; d is then 0.
//   - d is the timeout otherwise, rounded up to whole milliseconds as the server does, and at most the longest Duration.
//
// It does not allocate when the command never waits. A nil Info does not block.
func (i *Info) BlockTimeout(args []string) (d time.Duration, forever, blocks bool) {
	if !i.MayBlock() {
		return 0, false, false
	}
	return i.BlockTimeoutAt(len(args), func(k int) string { return args[k] })
}

// BlockTimeoutAt is BlockTimeout for a caller whose n words are not strings: at gives word k, 0 ≤ k < n, and is called only for the few words that matter.
func (i *Info) BlockTimeoutAt(n int, at func(k int) string) (d time.Duration, forever, blocks bool) {
	if !i.MayBlock() || n < 2 || n < max(i.Arity, -i.Arity) {
		return 0, false, false
	}
	switch i.Timeout {
	case TimeoutLastSeconds:
		return seconds(at(n - 1))
	case TimeoutFirstSeconds:
		return seconds(at(1))
	case TimeoutLastMillis:
		return millis(at(n - 1))
	case TimeoutBlockOption:
		return blockOption(n, at)
	default:
		return 0, false, false
	}
}

// blockOption reads the options of XREAD and XREADGROUP as the server does: in order, up to STREAMS, the last BLOCK wins. Names that a user chose (a group or a
// consumer called BLOCK) are stepped over, and an option of a later server is too: taking a call for a blocking one costs little, the reverse much.
func blockOption(n int, at func(k int) string) (d time.Duration, forever, blocks bool) {
	for k := 1; k < n; k++ {
		word := at(k)
		switch {
		case foldEqual("STREAMS", word):
			return d, forever, blocks
		case foldEqual("GROUP", word):
			k += 2
		case foldEqual("COUNT", word), foldEqual("CLAIM", word):
			k++
		case foldEqual("BLOCK", word):
			k++
			if k == n {
				return 0, false, false
			}
			if d, forever, blocks = millis(at(k)); !blocks {
				return 0, false, false
			}
		}
	}
	return d, forever, blocks
}

// seconds reads a timeout such as "3", "0.5" or "1e2"; the server takes hexadecimal numbers as well.
func seconds(s string) (d time.Duration, forever, blocks bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && (strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X")) {
		f, err = strconv.ParseFloat(s+"p0", 64) // Go wants an exponent there, C does not
	}
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return 0, false, false
	}
	return wait(math.Ceil(f * 1000))
}

func millis(s string) (d time.Duration, forever, blocks bool) {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil || ms < 0 {
		return 0, false, false
	}
	return wait(float64(ms))
}

// wait turns whole milliseconds into a result; those that no Duration can hold become the longest one.
func wait(ms float64) (d time.Duration, forever, blocks bool) {
	const longest = float64(math.MaxInt64 / int64(time.Millisecond))
	switch {
	case ms == 0:
		return 0, true, true
	case ms >= longest:
		return math.MaxInt64, false, true
	default:
		return time.Duration(ms) * time.Millisecond, false, true
	}
}
