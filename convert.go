package evenkeel

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// ConversionError says that a reply, or a part of one, cannot be read as what was asked for. The conn it came on is not affected, and neither are the
// other replies of its pipeline.
//
// It is safe to log: it tells kinds, lengths and types, never what the reply holds.
type ConversionError struct {
	// Path is the place inside the reply, and "" for the reply itself: "[3]" is an element, "{3}" the value and "{3 key}" the key of a pair, each counted
	// from 0, and ".Name" a field of a struct.
	Path string
	// From is what is there: "an array of 3 elements".
	From string
	// To is what was asked for: "an integer", or a Go type.
	To string
	// Reason says more where From and To do not tell all: "it is out of range". Often "".
	Reason string
	// Err is the cause, where there is one: a *ServerError for an element that the server made an error, or what an UnmarshalText or UnmarshalBinary
	// returned. That text may quote what the reply holds, so Error leaves it out.
	Err error
}

// Error describes the place, what is there and what was asked for.
func (e *ConversionError) Error() string {
	s := "evenkeel: reply" + e.Path + " is " + e.From + ", which cannot be read as " + e.To
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// Unwrap returns the cause, or nil.
func (e *ConversionError) Unwrap() error { return e.Err }

// within puts the place of an error inside a larger place.
func (e *ConversionError) within(outer string) *ConversionError {
	e.Path = outer + e.Path
	return e
}

// errNoReply is the error of a Reply that no command has filled in.
var errNoReply = errors.New("evenkeel: no reply: the command has not been executed")

// misfit is why a value does not convert.
type misfit string

const (
	fits         misfit = ""
	otherKind    misfit = "another kind" // what it is and what was asked for say all
	notInteger   misfit = "it is not a decimal integer"
	notNumber    misfit = "it is not a number"
	notWhole     misfit = "it is not a whole number"
	isNegative   misfit = "it is negative"
	outOfRange   misfit = "it is out of range"
	notBool      misfit = "only 1, 0, true, false and OK are booleans"
	oddLength    misfit = "a flat list of pairs has an even length"
	notPairs     misfit = "its elements are not all pairs"
	notKey       misfit = "it cannot be the key of a map"
	nullElement  misfit = "Slice shows nulls, and so does Scan into pointers"
	otherLength  misfit = "the lengths differ"
	noUnit       misfit = "the unit of a number differs from command to command; scan into an int64 and multiply"
	noConversion misfit = "replies do not convert to this type"
	refused      misfit = "the type's own unmarshaling refused it; the wrapped error says why"
)

// newConversionError describes v and what it is not.
func newConversionError(v *resp.Value, to string, why misfit) *ConversionError {
	e := &ConversionError{From: describeValue(v), To: to}
	if v.Kind == resp.KindError {
		said := newServerError(v.Str)
		e.Reason, e.Err = "the server said "+said.Code, said
		return e
	}
	if why != otherKind {
		e.Reason = string(why)
	}
	return e
}

// describeValue says what v is, without what it holds.
func describeValue(v *resp.Value) string {
	switch v.Kind {
	case resp.KindSimple, resp.KindBulk, resp.KindVerbatim:
		return "a " + v.Kind.String() + " of " + count(len(v.Str), "byte")
	case resp.KindBigNumber:
		return "a big number of " + count(len(strings.TrimPrefix(v.Str, "-")), "digit")
	case resp.KindArray:
		return "an array of " + count(len(v.Elems), "element")
	case resp.KindSet, resp.KindPush:
		return "a " + v.Kind.String() + " of " + count(len(v.Elems), "element")
	case resp.KindMap:
		return "a map of " + count(len(v.Elems)/2, "pair")
	case resp.KindError, resp.KindInteger:
		return "an " + v.Kind.String()
	case resp.KindNull, resp.KindDouble, resp.KindBoolean:
		return "a " + v.Kind.String()
	default:
		return "no value"
	}
}

func elementAt(i int) string { return "[" + strconv.Itoa(i) + "]" }
func valueAt(i int) string   { return "{" + strconv.Itoa(i) + "}" }
func keyAt(i int) string     { return "{" + strconv.Itoa(i) + " key}" }

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// isAggregate reports whether v has elements rather than a text.
func isAggregate(v *resp.Value) bool {
	switch v.Kind {
	case resp.KindArray, resp.KindSet, resp.KindPush, resp.KindMap:
		return true
	default:
		return false
	}
}

// textOf is the text that RESP2 would have sent for a scalar, so that a getter gives the same under both protocols.
func textOf(v *resp.Value) (string, misfit) {
	switch v.Kind {
	case resp.KindSimple, resp.KindBulk, resp.KindBigNumber, resp.KindVerbatim:
		return v.Str, fits
	case resp.KindInteger, resp.KindBoolean:
		return strconv.FormatInt(v.Int, 10), fits
	case resp.KindDouble:
		var digits [64]byte
		return string(appendDouble(digits[:0], v.Float())), fits
	default:
		return "", otherKind
	}
}

func appendText(b []byte, v *resp.Value) ([]byte, misfit) {
	switch v.Kind {
	case resp.KindSimple, resp.KindBulk, resp.KindBigNumber, resp.KindVerbatim:
		return append(b, v.Str...), fits
	case resp.KindInteger, resp.KindBoolean:
		return strconv.AppendInt(b, v.Int, 10), fits
	case resp.KindDouble:
		return appendDouble(b, v.Float()), fits
	default:
		return b, otherKind
	}
}

// appendDouble writes a double in the form of the servers: infinities and NaN as words, exponents only where the digits would be many.
func appendDouble(b []byte, f float64) []byte {
	abs := math.Abs(f)
	switch {
	case math.IsNaN(f):
		return append(b, "nan"...)
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	case abs != 0 && (abs < 1e-4 || abs >= 1e17):
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

func intOf(v *resp.Value) (int64, misfit) {
	switch v.Kind {
	case resp.KindInteger, resp.KindBoolean:
		return v.Int, fits
	case resp.KindDouble:
		return wholeInt(v.Float())
	case resp.KindSimple, resp.KindBulk, resp.KindBigNumber, resp.KindVerbatim:
		n, err := strconv.ParseInt(v.Str, 10, 64)
		if err == nil {
			return n, fits
		}
		if f, ok := exponential(v.Str); ok {
			return wholeInt(f)
		}
		return 0, numberMisfit(err)
	default:
		return 0, otherKind
	}
}

func wholeInt(f float64) (int64, misfit) {
	switch {
	case math.IsInf(f, 0) || f < -1<<63 || f >= 1<<63:
		return 0, outOfRange
	case math.Trunc(f) != f:
		return 0, notWhole
	}
	return int64(f), fits
}

// exponential reads a number with an exponent, as RESP2 has large doubles.
func exponential(s string) (float64, bool) {
	if !strings.ContainsAny(s, "eE") {
		return 0, false
	}
	f, why := parseDouble(s)
	return f, why == fits
}

func uintOf(v *resp.Value) (uint64, misfit) {
	switch v.Kind {
	case resp.KindDouble:
		return wholeUint(v.Float())
	case resp.KindSimple, resp.KindBulk, resp.KindBigNumber, resp.KindVerbatim:
		n, err := strconv.ParseUint(v.Str, 10, 64)
		if err == nil {
			return n, fits
		}
		if f, ok := exponential(v.Str); ok {
			return wholeUint(f)
		}
		// ParseUint takes a sign for a syntax error.
		if digits, minus := strings.CutPrefix(v.Str, "-"); minus && digits != "" && strings.Trim(digits, "0123456789") == "" {
			return 0, isNegative
		}
		return 0, numberMisfit(err)
	default:
		n, why := intOf(v)
		if why == fits && n < 0 {
			return 0, isNegative
		}
		return uint64(n), why
	}
}

func wholeUint(f float64) (uint64, misfit) {
	switch {
	case math.IsInf(f, 0) || f >= 1<<64:
		return 0, outOfRange
	case math.Trunc(f) != f:
		return 0, notWhole
	case f < 0:
		return 0, isNegative
	}
	return uint64(f), fits
}

func numberMisfit(err error) misfit {
	switch {
	case err == nil:
		return fits
	case errors.Is(err, strconv.ErrRange):
		return outOfRange
	default:
		return notInteger
	}
}

func floatOf(v *resp.Value) (float64, misfit) {
	switch v.Kind {
	case resp.KindDouble:
		return v.Float(), fits
	case resp.KindInteger, resp.KindBoolean:
		return float64(v.Int), fits
	case resp.KindSimple, resp.KindBulk, resp.KindBigNumber, resp.KindVerbatim:
		return parseDouble(v.Str)
	default:
		return 0, otherKind
	}
}

// parseDouble reads a float as servers print it. Their C library has a "-nan" that Go does not know; hexadecimal, which Go knows, no server sends.
func parseDouble(s string) (float64, misfit) {
	if strings.EqualFold(strings.TrimLeft(s, "+-"), "nan") && len(s) <= len("-nan") {
		return math.NaN(), fits
	}
	if strings.ContainsAny(s, "xX_") {
		return 0, notNumber
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err == nil:
		return f, fits
	case errors.Is(err, strconv.ErrRange):
		return 0, outOfRange
	default:
		return 0, notNumber
	}
}

func boolOf(v *resp.Value) (bool, misfit) {
	switch v.Kind {
	case resp.KindBoolean, resp.KindInteger:
		if v.Int == 0 || v.Int == 1 {
			return v.Int == 1, fits
		}
		return false, notBool
	case resp.KindDouble:
		if f := v.Float(); f == 0 || f == 1 {
			return f == 1, fits
		}
		return false, notBool
	case resp.KindSimple, resp.KindBulk, resp.KindBigNumber, resp.KindVerbatim:
		switch v.Str {
		case "1", "true", "OK":
			return true, fits
		case "0", "-0", "false": // -0 is how RESP2 has the double that is 0 all the same
			return false, fits
		}
		return false, notBool
	default:
		return false, otherKind
	}
}

// pairs are the keys and values of a reply that has them, in the server's order.
type pairs struct {
	elems  []resp.Value
	nested bool // each element is an array of key and value
}

// pairsOf finds the pairs of a map, of RESP2's flat array of keys and values, and of an array of two-element arrays.
func pairsOf(v *resp.Value) (pairs, misfit) {
	if !isAggregate(v) {
		return pairs{}, otherKind
	}
	if v.Kind != resp.KindMap && len(v.Elems) > 0 && v.Elems[0].Kind == resp.KindArray {
		for i := range v.Elems {
			if e := &v.Elems[i]; e.Kind != resp.KindArray || len(e.Elems) != 2 {
				return pairs{}, notPairs
			}
		}
		return pairs{v.Elems, true}, fits
	}
	if len(v.Elems)%2 != 0 {
		return pairs{}, oddLength
	}
	return pairs{v.Elems, false}, fits
}

func (p pairs) len() int {
	if p.nested {
		return len(p.elems)
	}
	return len(p.elems) / 2
}

func (p pairs) at(i int) (key, value *resp.Value) {
	if p.nested {
		e := p.elems[i].Elems
		return &e[0], &e[1]
	}
	return &p.elems[2*i], &p.elems[2*i+1]
}

// anyOf is v as the Go value closest to it; see Reply.Any.
func anyOf(v *resp.Value) any {
	switch v.Kind {
	case resp.KindSimple, resp.KindBulk, resp.KindVerbatim:
		return v.Str
	case resp.KindError:
		return newServerError(v.Str)
	case resp.KindInteger:
		return v.Int
	case resp.KindDouble:
		return v.Float()
	case resp.KindBoolean:
		return v.Bool()
	case resp.KindBigNumber:
		if n, ok := new(big.Int).SetString(v.Str, 10); ok {
			return n
		}
		return v.Str
	case resp.KindArray, resp.KindSet, resp.KindPush:
		out := make([]any, len(v.Elems))
		for i := range v.Elems {
			out[i] = anyOf(&v.Elems[i])
		}
		return out
	case resp.KindMap:
		return anyMap(v)
	default: // KindNull
		return nil
	}
}

// anyMap is a Go map, or a list of pairs where a Go map would lose or hide some of them.
func anyMap(v *resp.Value) any {
	list := make([][2]any, len(v.Elems)/2)
	byKey := make(map[any]any, len(list))
	for i := range list {
		list[i] = [2]any{anyOf(&v.Elems[2*i]), anyOf(&v.Elems[2*i+1])}
		switch key := list[i][0].(type) {
		case nil, string, int64, bool:
			byKey[key] = list[i][1]
		case float64:
			if !math.IsNaN(key) {
				byKey[key] = list[i][1]
			}
		}
	}
	if len(byKey) < len(list) {
		return list
	}
	return byKey
}
