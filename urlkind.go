package evenkeel

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// maxCount keeps sums of counts within an int of 32 bits.
const maxCount = 100_000_000

// urlKind is how the value of a parameter is written.
type urlKind uint8

const (
	kindText urlKind = iota
	kindCount
	kindAtLeastOne
	kindRetries
	kindProtocol
	kindDuration
	kindLooseDuration // negative means 0, as in go-redis
	kindBool
	kindNotBool
	kindCertReqs
)

// String is the kind in the documentation.
func (k urlKind) String() string {
	switch k {
	case kindCount:
		return "0 or more"
	case kindAtLeastOne:
		return "1 or more"
	case kindRetries:
		return "-1 or more"
	case kindProtocol:
		return "0, 2 or 3"
	case kindDuration, kindLooseDuration:
		return "duration"
	case kindBool, kindNotBool:
		return "true or false"
	case kindCertReqs:
		return "none, optional or required"
	default:
		return "text"
	}
}

// parse returns the value in the type of the field, or what the text must be instead.
func (k urlKind) parse(text string) (value any, want string) {
	switch k {
	case kindCount, kindAtLeastOne, kindRetries, kindProtocol:
		n, err := strconv.ParseInt(text, 10, 32)
		switch {
		case err != nil, n > maxCount,
			k == kindCount && n < 0, k == kindAtLeastOne && n < 1, k == kindRetries && n < -1,
			k == kindProtocol && n != 0 && n != 2 && n != 3:
			return nil, "a number, " + k.String() + ", and at most " + strconv.Itoa(maxCount)
		}
		return int(max(n, 0)), ""
	case kindDuration, kindLooseDuration:
		d, ok := parseURLDuration(text)
		if !ok {
			return nil, "a duration such as 500ms, or a number of seconds"
		}
		if d < 0 && k == kindDuration {
			return nil, "a duration of 0 or more"
		}
		return max(d, 0), ""
	case kindBool, kindNotBool:
		b, ok := parseURLBool(text)
		if !ok {
			return nil, "true or false"
		}
		return b != (k == kindNotBool), ""
	case kindCertReqs:
		switch strings.ToLower(text) {
		case "none":
			return true, ""
		case "optional", "required":
			return false, ""
		}
		return nil, k.String()
	default:
		return text, ""
	}
}

// parseURLDuration reads a duration of Go's, or a number of seconds, which is what a bare number means to both libraries.
func parseURLDuration(text string) (time.Duration, bool) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, true
	}
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(s) || math.Abs(s) > float64(math.MaxInt64/int64(time.Second)) || strings.ContainsAny(text, "xX_") {
		return 0, false
	}
	return time.Duration(math.Round(s * float64(time.Second))), true
}

// parseURLBool reads booleans as go-redis and redis-py write them.
func parseURLBool(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "t", "y":
		return true, true
	case "false", "0", "no", "f", "n":
		return false, true
	}
	return false, false
}
