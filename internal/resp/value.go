package resp

import "math"

// Kind says what a Value is. The zero Kind belongs to no value.
type Kind uint8

// The kinds of value that a server sends.
const (
	KindSimple    Kind = iota + 1 // "+OK": one line of text
	KindError                     // "-ERR …" and "!…": what the server refused
	KindInteger                   // ":1": a signed 64-bit number
	KindBulk                      // "$…": any bytes
	KindArray                     // "*…"
	KindNull                      // "_", "$-1" and "*-1"
	KindDouble                    // ",1.5": a 64-bit floating point number
	KindBoolean                   // "#t", "#f"
	KindBigNumber                 // "(…": an integer of any size
	KindVerbatim                  // "=…": text with a three-letter format
	KindSet                       // "~…"
	KindMap                       // "%…"
	KindPush                      // ">…": out of band, not a reply
)

// String names the kind for people.
func (k Kind) String() string {
	switch k {
	case KindSimple:
		return "simple string"
	case KindError:
		return "error"
	case KindInteger:
		return "integer"
	case KindBulk:
		return "bulk string"
	case KindArray:
		return "array"
	case KindNull:
		return "null"
	case KindDouble:
		return "double"
	case KindBoolean:
		return "boolean"
	case KindBigNumber:
		return "big number"
	case KindVerbatim:
		return "verbatim string"
	case KindSet:
		return "set"
	case KindMap:
		return "map"
	case KindPush:
		return "push"
	default:
		return "no value"
	}
}

// Value is one RESP value. It is plain data: copy it freely, and read it from any number of goroutines.
type Value struct {
	// Kind says which of the other fields hold something.
	Kind Kind
	// Int is the number of a KindInteger, 1 or 0 for a KindBoolean, the IEEE 754 bits of a KindDouble (see Float), and
	// the three letters of a KindVerbatim (see VerbatimFormat). For a KindNull it is 1 when the null was spelled as a
	// null array, "*-1", which AppendValue then keeps in RESP2, and 0 otherwise.
	Int int64
	// Str is the text of a KindSimple, the line of a KindError with its code word, the bytes of a KindBulk, the decimal
	// digits of a KindBigNumber with a leading minus where there is one, or the text of a KindVerbatim without its format.
	Str string
	// Elems are the elements of a KindArray, KindSet or KindPush; of a KindMap, key, value, key, value and so on, in the
	// server's order. Nil when there are none.
	Elems []Value
	// Attrs are the attributes that preceded the value: key, value, key, value. Almost always nil.
	Attrs []Value
}

// DoubleValue returns a KindDouble.
func DoubleValue(f float64) Value {
	return Value{Kind: KindDouble, Int: int64(math.Float64bits(f))}
}

// VerbatimValue returns a KindVerbatim. A format that is not three bytes long becomes "txt".
func VerbatimValue(format, text string) Value {
	if len(format) != 3 {
		format = "txt"
	}
	return Value{Kind: KindVerbatim, Int: packFormat(format[0], format[1], format[2]), Str: text}
}

// Float returns the number of a KindDouble, and 0 for any other kind.
func (v *Value) Float() float64 {
	if v.Kind != KindDouble {
		return 0
	}
	return math.Float64frombits(uint64(v.Int))
}

// Bool reports whether v is a KindBoolean that is true.
func (v *Value) Bool() bool { return v.Kind == KindBoolean && v.Int != 0 }

// IsNull reports whether v is a null, however it was spelled.
func (v *Value) IsNull() bool { return v.Kind == KindNull }

// VerbatimFormat returns the three letters before the text of a KindVerbatim, such as "txt" or "mkd", and "" for any other
// kind.
func (v *Value) VerbatimFormat() string {
	if v.Kind != KindVerbatim {
		return ""
	}
	f := [3]byte{byte(v.Int >> 16), byte(v.Int >> 8), byte(v.Int)}
	switch string(f[:]) {
	case "txt":
		return "txt"
	case "mkd":
		return "mkd"
	}
	return string(f[:])
}

func packFormat(a, b, c byte) int64 { return int64(a)<<16 | int64(b)<<8 | int64(c) }
