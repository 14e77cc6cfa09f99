package report

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// missing is shown for a number that does not exist: 0/0, or never measured.
const missing = "–"

// Int formats a count with separators between thousands: 12,345.
func Int[T ~int | ~int64](n T) string {
	return group(strconv.FormatInt(int64(n), 10))
}

// Fixed formats f with the given number of decimals and separators between
// thousands. NaN and infinities become a dash.
func Fixed(f float64, decimals int) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return missing
	}
	s := group(strconv.FormatFloat(f, 'f', decimals, 64))
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return s
}

// Short formats f to at most three significant digits before and after the
// point together, never in exponent form and without zeros at its end, as suits
// a sentence: 0.0123, 5.53, 6, 119, 20,695.
func Short(f float64) string {
	abs := math.Abs(f)
	if math.IsNaN(abs) || math.IsInf(abs, 0) {
		return missing
	}
	decimals := 0
	if abs > 0 && abs < 100 {
		decimals = min(9, 2-int(math.Floor(math.Log10(abs))))
	}
	s := Fixed(f, decimals)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Micros formats a time given in microseconds in the unit that reads best.
func Micros(us float64) string {
	abs := math.Abs(us)
	switch {
	case math.IsNaN(abs) || math.IsInf(abs, 0):
		return missing
	case abs >= 1e6:
		return Short(us/1e6) + " s"
	case abs >= 1e3:
		return Short(us/1e3) + " ms"
	default:
		return Short(us) + " µs"
	}
}

// Duration formats d in the unit that reads best, to about three digits.
func Duration(d time.Duration) string {
	return Micros(float64(d) / float64(time.Microsecond))
}

// Times formats a ratio: 5.53×.
func Times(ratio float64) string {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return missing
	}
	return Short(ratio) + "×"
}

// Percent formats a fraction: 0.125 becomes 12.5 %.
func Percent(fraction float64) string {
	if math.IsNaN(fraction) || math.IsInf(fraction, 0) {
		return missing
	}
	return Short(fraction*100) + " %"
}

// Bytes formats a size in binary units.
func Bytes(n int64) string {
	f, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if math.Abs(f) < 1024 {
			break
		}
		f, unit = f/1024, next
	}
	return Short(f) + " " + unit
}

// Plural returns "1 conn" or "12 conns".
func Plural[T ~int | ~int64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Int(n) + " " + many
}

// List joins words as a sentence does: "a", "a and b", "a, b and c".
func List(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// group inserts separators into the integer part of a decimal number.
func group(s string) string {
	start := 0
	if strings.HasPrefix(s, "-") {
		start = 1
	}
	end := strings.IndexByte(s, '.')
	if end < 0 {
		end = len(s)
	}
	for i := end - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
