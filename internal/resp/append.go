package resp

import (
	"math"
	"strconv"
	"strings"
)

// AppendArrayHeader appends the line that begins an array of n elements. A negative n counts as 0.
func AppendArrayHeader(b []byte, n int) []byte { return appendHeader(b, '*', n) }

// AppendBulk appends s as a bulk string.
func AppendBulk(b, s []byte) []byte {
	b = appendHeader(b, '$', len(s))
	b = append(b, s...)
	return append(b, '\r', '\n')
}

// AppendBulkString appends s as a bulk string.
func AppendBulkString(b []byte, s string) []byte {
	b = appendHeader(b, '$', len(s))
	b = append(b, s...)
	return append(b, '\r', '\n')
}

// AppendBulkInt appends n in decimal digits as a bulk string.
func AppendBulkInt(b []byte, n int64) []byte {
	var digits [20]byte
	return AppendBulk(b, strconv.AppendInt(digits[:0], n, 10))
}

// AppendBulkUint appends n in decimal digits as a bulk string.
func AppendBulkUint(b []byte, n uint64) []byte {
	var digits [20]byte
	return AppendBulk(b, strconv.AppendUint(digits[:0], n, 10))
}

// AppendBulkFloat appends f as a bulk string in the shortest form that reads back as the same number; infinities are
// "inf" and "-inf", every NaN is "nan".
func AppendBulkFloat(b []byte, f float64) []byte {
	var digits [32]byte
	return AppendBulk(b, appendFloat(digits[:0], f, 64))
}

// AppendValue appends v as a server sends it: in RESP3, or in RESP2 when proto is 2.
//
// RESP2 has fewer kinds: there doubles, big numbers and verbatim strings become bulk strings, booleans become integers,
// sets, maps and pushes become arrays, and attributes are left out. Line ends cannot be sent in a simple string, so they
// become blanks; in an error too under RESP2, while RESP3 sends such an error, and one over 1 MiB, as a blob. A map with a key and no value is
// given a null. A Value without a kind is sent as a null.
func AppendValue(b []byte, v *Value, proto int) []byte {
	if proto == 2 {
		return appendValue2(b, v)
	}
	if len(v.Attrs) > 0 {
		b = appendPairs(b, '|', v.Attrs)
	}
	switch v.Kind {
	case KindSimple:
		return appendLine(b, '+', v.Str)
	case KindError:
		if len(v.Str) > DefaultMaxLine || strings.ContainsAny(v.Str, "\r\n") {
			b = appendHeader(b, '!', len(v.Str))
			b = append(b, v.Str...)
			return append(b, '\r', '\n')
		}
		return appendLine(b, '-', v.Str)
	case KindInteger:
		return appendInteger(b, v.Int)
	case KindBulk:
		return AppendBulkString(b, v.Str)
	case KindDouble:
		b = append(b, ',')
		b = appendFloat(b, v.Float(), 64)
		return append(b, '\r', '\n')
	case KindBoolean:
		if v.Int != 0 {
			return append(b, "#t\r\n"...)
		}
		return append(b, "#f\r\n"...)
	case KindBigNumber:
		return appendLine(b, '(', v.Str)
	case KindVerbatim:
		b = appendHeader(b, '=', len(v.Str)+4)
		b = append(b, byte(v.Int>>16), byte(v.Int>>8), byte(v.Int), ':')
		b = append(b, v.Str...)
		return append(b, '\r', '\n')
	case KindArray:
		return appendElems(b, '*', v.Elems, 3)
	case KindSet:
		return appendElems(b, '~', v.Elems, 3)
	case KindPush:
		return appendElems(b, '>', v.Elems, 3)
	case KindMap:
		return appendPairs(b, '%', v.Elems)
	default: // KindNull, and no kind
		return append(b, "_\r\n"...)
	}
}

func appendValue2(b []byte, v *Value) []byte {
	switch v.Kind {
	case KindSimple:
		return appendLine(b, '+', v.Str)
	case KindError:
		return appendLine(b, '-', v.Str)
	case KindInteger, KindBoolean:
		return appendInteger(b, v.Int)
	case KindBulk, KindBigNumber, KindVerbatim:
		return AppendBulkString(b, v.Str)
	case KindDouble:
		return AppendBulkFloat(b, v.Float())
	case KindArray, KindSet, KindPush:
		return appendElems(b, '*', v.Elems, 2)
	case KindMap:
		b = appendHeader(b, '*', len(v.Elems)+len(v.Elems)%2)
		for i := range v.Elems {
			b = appendValue2(b, &v.Elems[i])
		}
		if len(v.Elems)%2 != 0 {
			b = append(b, "$-1\r\n"...)
		}
		return b
	default: // KindNull, and no kind
		if v.Int == 1 {
			return append(b, "*-1\r\n"...)
		}
		return append(b, "$-1\r\n"...)
	}
}

func appendElems(b []byte, typ byte, elems []Value, proto int) []byte {
	b = appendHeader(b, typ, len(elems))
	for i := range elems {
		b = AppendValue(b, &elems[i], proto)
	}
	return b
}

func appendPairs(b []byte, typ byte, elems []Value) []byte {
	b = appendHeader(b, typ, (len(elems)+1)/2)
	for i := range elems {
		b = AppendValue(b, &elems[i], 3)
	}
	if len(elems)%2 != 0 {
		b = append(b, "_\r\n"...)
	}
	return b
}

// appendLine appends s on a line of its own, with blanks for line ends.
func appendLine(b []byte, typ byte, s string) []byte {
	b = append(b, typ)
	at := len(b)
	b = append(b, s...)
	for i, c := range b[at:] {
		if c == '\r' || c == '\n' {
			b[at+i] = ' '
		}
	}
	return append(b, '\r', '\n')
}

func appendInteger(b []byte, n int64) []byte {
	b = append(b, ':')
	b = strconv.AppendInt(b, n, 10)
	return append(b, '\r', '\n')
}

// appendHeader appends a type byte and a length.
func appendHeader(b []byte, typ byte, n int) []byte {
	switch {
	case n < 0:
		return append(b, typ, '0', '\r', '\n')
	case n < 10:
		return append(b, typ, byte('0'+n), '\r', '\n')
	case n < 100:
		return append(b, typ, byte('0'+n/10), byte('0'+n%10), '\r', '\n')
	case n < 1000:
		return append(b, typ, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10), '\r', '\n')
	}
	b = append(b, typ)
	b = strconv.AppendUint(b, uint64(n), 10)
	return append(b, '\r', '\n')
}

// appendFloat appends f as servers read and print it.
func appendFloat(b []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "nan"...)
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, bits)
}
