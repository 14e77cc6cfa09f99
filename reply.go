package evenkeel

import (
	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// Reply is what became of one command: the server's reply, or the error that came instead of it. It is a value: copy it freely, keep it as long as you
// like, and read it from any number of goroutines. The zero Reply holds nothing, and all its getters return an error.
//
// A reply is read by a getter that says what it should be. Getters convert between the kinds of RESP so that a program gets the same result whether the
// server speaks RESP2 or RESP3: where RESP3 has doubles, booleans, maps and pairs, RESP2 has text, 1 and 0, and flat arrays. A number out of
// range or a text that is no number is an error, never a guess. Every getter returns
//
//   - the error of the command, if it has one: no conn, a deadline, a server that went away;
//   - a *[ServerError], if the server answered with an error;
//   - [ErrNil], if the reply is a null, in any of its spellings;
//   - a *[ConversionError], if the reply is something else than what was asked for, or holds it.
//
// Elements inside an aggregate are Replies of their own: a null or an error among them is that element's alone.
type Reply struct {
	v   resp.Value
	err error
}

// Err returns the error of the command, or a *[ServerError] if the server answered with an error. A null is no error: see [Reply.IsNil].
func (r Reply) Err() error {
	switch {
	case r.err != nil:
		return r.err
	case r.v.Kind == resp.KindError:
		return newServerError(r.v.Str)
	case r.v.Kind == 0:
		return errNoReply
	}
	return nil
}

// IsNil reports whether the server answered with a null: no such key, an aborted transaction, a blocking command whose time is up.
func (r Reply) IsNil() bool { return r.err == nil && r.v.IsNull() }

// Kind names what the server sent: "simple string", "error", "integer", "bulk string", "array", "null", "double", "boolean", "big number", "verbatim
// string", "set", "map" or "push"; "" when it sent nothing.
func (r Reply) Kind() string {
	if r.err != nil || r.v.Kind == 0 {
		return ""
	}
	return r.v.Kind.String()
}

// VerbatimFormat returns the three letters that say what the text of a verbatim string is, such as "txt" or "mkd", and "" for any other reply.
func (r Reply) VerbatimFormat() string {
	if r.err != nil {
		return ""
	}
	return r.v.VerbatimFormat()
}

// String describes the reply for a log: its kind and size, or its error, never what it holds. See [Reply.Text] for that.
func (r Reply) String() string {
	if err := r.Err(); err != nil {
		return err.Error()
	}
	return describeValue(&r.v)
}

// GoString keeps what the reply holds out of %#v too.
func (r Reply) GoString() string { return "evenkeel.Reply(" + r.String() + ")" }

// failure is why a getter has nothing to return.
func (r *Reply) failure(to string, why misfit) error {
	if err := r.Err(); err != nil {
		return err
	}
	if r.v.IsNull() {
		return ErrNil
	}
	return newConversionError(&r.v, to, why)
}

// Text returns the text of a string of any kind and of a big number. An integer gives its decimal digits, a boolean "1" or "0", a double its shortest
// decimal form, "inf", "-inf" or "nan".
func (r Reply) Text() (string, error) {
	if r.err == nil {
		if s, why := textOf(&r.v); why == fits {
			return s, nil
		}
	}
	return "", r.failure("a string", otherKind)
}

// Bytes returns what [Reply.Text] returns, as a slice that belongs to the caller. It is not nil unless there is an error.
func (r Reply) Bytes() ([]byte, error) {
	b, err := r.AppendTo([]byte{})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// AppendTo appends to b what [Reply.Text] returns. After an error b is as it was.
func (r Reply) AppendTo(b []byte) ([]byte, error) {
	if r.err == nil {
		if out, why := appendText(b, &r.v); why == fits {
			return out, nil
		}
	}
	return b, r.failure("a string", otherKind)
}

// Int returns an integer, a boolean as 1 or 0, a double without a fraction, or such a number in text: decimal digits with an optional sign,
// or with an exponent, as RESP2 has large doubles. Beyond 64 bits is an error.
func (r Reply) Int() (int64, error) {
	n, why := intOf(&r.v)
	if why != fits || r.err != nil {
		return 0, r.failure("an integer", why)
	}
	return n, nil
}

// Uint is like [Reply.Int] for numbers from 0 to 2^64-1. Servers send those beyond 2^63-1 as text or as big numbers.
func (r Reply) Uint() (uint64, error) {
	n, why := uintOf(&r.v)
	if why != fits || r.err != nil {
		return 0, r.failure("an unsigned integer", why)
	}
	return n, nil
}

// Float returns a double, an integer, a boolean as 1 or 0, or a decimal number in text. Infinities and NaN are read in any spelling that a server has for
// them: "inf", "-inf", "infinity", "nan", "-nan", in any case of letters. Numbers with more than 53 bits are rounded; a number too large for a float64 is
// an error rather than an infinity.
func (r Reply) Float() (float64, error) {
	f, why := floatOf(&r.v)
	if why != fits || r.err != nil {
		return 0, r.failure("a number", why)
	}
	return f, nil
}

// Bool returns a boolean, the integers and doubles 1 and 0, or the texts "1", "0", "true", "false" and "OK", which is true. A null, such as the reply of
// SET with NX for a key that exists, is [ErrNil], not false.
func (r Reply) Bool() (bool, error) {
	b, why := boolOf(&r.v)
	if why != fits || r.err != nil {
		return false, r.failure("a boolean", why)
	}
	return b, nil
}

// Slice returns the elements of an array, a set or a push, and of a map its keys and values in turn, as RESP2 has them. It is not nil unless there is an
// error: an empty array is an empty slice, a null array is [ErrNil].
func (r Reply) Slice() ([]Reply, error) {
	if r.err != nil || !isAggregate(&r.v) {
		return nil, r.failure("a list", otherKind)
	}
	out := make([]Reply, len(r.v.Elems))
	for i := range r.v.Elems {
		out[i].v = r.v.Elems[i]
	}
	return out, nil
}

// Strings returns the elements, as in [Reply.Slice], each as its [Reply.Text]. A null among them is a *[ConversionError], not [ErrNil]: where nulls are to
// be expected, as in the reply of MGET, use Slice, or [Reply.Scan] into a []*string.
func (r Reply) Strings() ([]string, error) { return listOf(&r, "a string", textOf) }

// Ints returns the elements, as in [Reply.Slice], each as its [Reply.Int]. Nulls are treated as in [Reply.Strings].
func (r Reply) Ints() ([]int64, error) { return listOf(&r, "an integer", intOf) }

// Floats returns the elements, as in [Reply.Slice], each as its [Reply.Float]. Nulls are treated as in [Reply.Strings].
func (r Reply) Floats() ([]float64, error) { return listOf(&r, "a number", floatOf) }

func listOf[T any](r *Reply, to string, convert func(*resp.Value) (T, misfit)) ([]T, error) {
	if r.err != nil || !isAggregate(&r.v) {
		return nil, r.failure("a list", otherKind)
	}
	out := make([]T, len(r.v.Elems))
	for i := range r.v.Elems {
		e := &r.v.Elems[i]
		var why misfit
		if out[i], why = convert(e); why != fits {
			return nil, elementError(e, to, why).within(elementAt(i))
		}
	}
	return out, nil
}

// elementError is newConversionError for a part of a reply: a null there is not ErrNil, which means that the reply as a whole is null.
func elementError(v *resp.Value, to string, why misfit) *ConversionError {
	if v.IsNull() && why == otherKind {
		why = nullElement
	}
	return newConversionError(v, to, why)
}

// Map returns keys and values as text: of a map, of RESP2's flat array of keys and values, or of an array of two-element arrays such as ZRANGE WITHSCORES
// sends under RESP3. Of a key that comes twice, the last value counts. Nulls among them are treated as in [Reply.Strings].
func (r Reply) Map() (map[string]string, error) {
	return mapOf(&r, func(v *resp.Value) (string, *ConversionError) {
		s, why := textOf(v)
		if why != fits {
			return "", elementError(v, "a string", why)
		}
		return s, nil
	})
}

// MapReply is [Reply.Map] with the values as they came: nulls, errors and aggregates included.
func (r Reply) MapReply() (map[string]Reply, error) {
	return mapOf(&r, func(v *resp.Value) (Reply, *ConversionError) { return Reply{v: *v}, nil })
}

func mapOf[T any](r *Reply, convert func(*resp.Value) (T, *ConversionError)) (map[string]T, error) {
	list, why := pairsOf(&r.v)
	if why != fits || r.err != nil {
		return nil, r.failure("a map", why)
	}
	out := make(map[string]T, list.len())
	for i := range list.len() {
		key, value := list.at(i)
		name, why := textOf(key)
		if why != fits {
			return nil, elementError(key, "a string", why).within(keyAt(i))
		}
		converted, bad := convert(value)
		if bad != nil {
			return nil, bad.within(valueAt(i))
		}
		out[name] = converted
	}
	return out, nil
}

// Any returns the reply as the Go value that is closest to what the server sent, without conversion:
//
//   - nil for a null, with a nil error;
//   - string for a simple, bulk or verbatim string, int64 for an integer, float64 for a double, bool for a boolean, *big.Int for a big number;
//   - []any for an array, a set or a push;
//   - map[any]any for a map; or [][2]any, in the server's order, if a Go map would lose pairs: where a key comes twice, or is an aggregate, an error, a NaN or
//     a big number;
//   - a *[ServerError] for an error inside an aggregate.
//
// What comes as a map under RESP3 is a flat []any under RESP2; [Reply.Map], [Reply.MapReply] and [Reply.Scan] hide the difference.
func (r Reply) Any() (any, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	return anyOf(&r.v), nil
}
