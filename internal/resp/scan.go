package resp

import (
	"bytes"
	"math"
	"strconv"
)

// scanScalar reads the value at the start of b into v when it is of a frequent kind, well formed and whole. It returns its
// length, or 0 to leave it to the general path, which also knows what is wrong with it.
func scanScalar(b []byte, v *Value, maxBulk int) int {
	if len(b) < 3 { // no value is shorter
		return 0
	}
	switch b[0] {
	case '$':
		if b[1] == '-' {
			if len(b) >= 5 && b[2] == '1' && b[3] == '\r' && b[4] == '\n' {
				*v = Value{Kind: KindNull}
				return 5
			}
			return 0
		}
		size, at := scanLength(b)
		if at == 0 || size > maxBulk {
			return 0
		}
		// len(b)-at-2 cannot overflow, at+size+2 could.
		if size > len(b)-at-2 || b[at+size] != '\r' || b[at+size+1] != '\n' {
			return 0
		}
		*v = Value{Kind: KindBulk, Str: string(b[at : at+size])}
		return at + size + 2
	case ':':
		i, negative := 1, b[1] == '-'
		if negative {
			i = 2
		}
		first := i
		var x int64
		for ; i < len(b); i++ {
			d := b[i] - '0'
			if d > 9 {
				break
			}
			x = x*10 + int64(d)
		}
		// 18 digits cannot overflow.
		if i == first || i-first > 18 || i+1 >= len(b) || b[i] != '\r' || b[i+1] != '\n' {
			return 0
		}
		if negative {
			x = -x
		}
		*v = Value{Kind: KindInteger, Int: x}
		return i + 2
	case '+':
		switch {
		case len(b) >= 5 && b[1] == 'O' && b[2] == 'K' && b[3] == '\r' && b[4] == '\n':
			*v = Value{Kind: KindSimple, Str: "OK"}
			return 5
		case len(b) >= 9 && string(b[1:9]) == "QUEUED\r\n":
			*v = Value{Kind: KindSimple, Str: "QUEUED"}
			return 9
		case len(b) >= 7 && string(b[1:7]) == "PONG\r\n":
			*v = Value{Kind: KindSimple, Str: "PONG"}
			return 7
		}
	case '_':
		if b[1] == '\r' && b[2] == '\n' {
			*v = Value{Kind: KindNull}
			return 3
		}
	}
	return 0
}

// skipScalar is scanScalar for a value that nobody wants.
func skipScalar(b []byte, maxBulk int) int {
	if len(b) < 3 { // no value is shorter
		return 0
	}
	switch b[0] {
	case '$':
		if b[1] == '-' {
			if len(b) >= 5 && string(b[2:5]) == "1\r\n" {
				return 5
			}
			return 0
		}
		size, at := scanLength(b)
		if at == 0 || size > maxBulk {
			return 0
		}
		if size > len(b)-at-2 || b[at+size] != '\r' || b[at+size+1] != '\n' {
			return 0
		}
		return at + size + 2
	case ':', '+', '_':
		for i := 1; i < min(len(b)-1, 24); i++ {
			switch b[i] {
			case '\r':
				if b[i+1] == '\n' {
					return i + 2
				}
				return 0
			case '\n':
				return 0
			}
		}
	}
	return 0
}

// scanLength reads the length in a line such as "$100" at the start of b. It returns the length and where the line after
// it begins, or 0, 0 when it is not of at most nine digits, well formed and whole.
func scanLength(b []byte) (size, at int) {
	i := 1
	for ; i < len(b); i++ {
		d := b[i] - '0'
		if d > 9 {
			break
		}
		size = size*10 + int(d)
		if i > 9 {
			return 0, 0
		}
	}
	if i == 1 || i > 2 && b[1] == '0' || i+1 >= len(b) || b[i] != '\r' || b[i+1] != '\n' {
		return 0, 0
	}
	return size, i + 2
}

// indexLineEnd returns the index of the first CR or LF in b, or -1.
func indexLineEnd(b []byte) int {
	i := bytes.IndexByte(b, '\r')
	head := b
	if i >= 0 {
		head = b[:i]
	}
	if k := bytes.IndexByte(head, '\n'); k >= 0 {
		return k
	}
	return i
}

// parseScalar reads the rest of a line that is a value by itself. It returns what is wrong with it, or "".
func parseScalar(typ byte, body []byte, v *Value) (msg string) {
	switch typ {
	case '+':
		v.Kind, v.Str = KindSimple, string(body)
	case '-':
		v.Kind, v.Str = KindError, string(body)
	case ':':
		n, ok := parseInt(body)
		if !ok {
			return "an integer that is not a number of 64 bits"
		}
		v.Kind, v.Int = KindInteger, n
	case '_':
		if len(body) != 0 {
			return "something after a null"
		}
		v.Kind = KindNull
	case '#':
		switch string(body) {
		case "t":
			v.Int = 1
		case "f":
			v.Int = 0
		default:
			return "a boolean that is neither t nor f"
		}
		v.Kind = KindBoolean
	case ',':
		f, ok := parseDouble(body)
		if !ok {
			return "a double that is not a number of 64 bits"
		}
		*v = DoubleValue(f)
	case '(':
		if !isBigNumber(body) {
			return "a big number that is not an integer"
		}
		if body[0] == '+' {
			body = body[1:]
		}
		v.Kind, v.Str = KindBigNumber, string(body)
	default:
		return unknownType(typ, false)
	}
	return ""
}

// parseLength reads a length: decimal digits, no sign, no leading zero, within an int.
func parseLength(b []byte) (n int, ok bool) {
	if len(b) == 0 || len(b) > 1 && b[0] == '0' {
		return 0, false
	}
	for _, c := range b {
		d := c - '0'
		if d > 9 || n > (math.MaxInt-int(d))/10 {
			return 0, false
		}
		n = n*10 + int(d)
	}
	return n, true
}

// parseInt reads a signed 64-bit integer in decimal digits. The protocol allows a plus sign and leading zeros here.
func parseInt(b []byte) (n int64, ok bool) {
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	var u uint64
	most := uint64(math.MaxInt64)
	if negative {
		most++
	}
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || u > (most-d)/10 {
			return 0, false
		}
		u = u*10 + d
	}
	if negative {
		return -int64(u), true
	}
	return int64(u), true
}

// isBigNumber reports whether b is a sign, or none, and decimal digits.
func isBigNumber(b []byte) bool {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	for _, c := range b {
		if c-'0' > 9 {
			return false
		}
	}
	return len(b) > 0
}

// parseDouble reads a decimal floating point number, an infinity or a NaN, in any case of letters: servers print them with
// their C library, which has "-nan" for 0/0. A number too large for 64 bits is refused rather than made infinite.
func parseDouble(b []byte) (f float64, ok bool) {
	word, negative := b, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		word = b[1:]
	}
	switch {
	case isWord(word, "nan"):
		return math.NaN(), true
	case isWord(word, "inf"), isWord(word, "infinity"):
		if negative {
			return math.Inf(-1), true
		}
		return math.Inf(1), true
	}
	// ParseFloat knows hexadecimal and underscores too, which the protocol does not.
	for _, c := range word {
		if c-'0' > 9 && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil
}

// isWord reports whether b is word, which is in lower case, in any case of letters.
func isWord(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if c|0x20 != word[i] {
			return false
		}
	}
	return true
}
