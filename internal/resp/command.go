package resp

import (
	"reflect"
	"strconv"
	"time"
)

// AppendCommand appends a command, an array of bulk strings, made of Go values: strings, []byte, integers and floats of
// every size, bools (1 and 0), and named types of these. The first is the name of the command.
//
// Anything else is an *ArgumentError and leaves b as it was: a nil, since it could mean "" or nothing; a time.Duration,
// since commands differ in their unit; and any other type.
//
// The arguments do not escape: a caller's variadic slice and the values in it can stay on its stack.
func AppendCommand(b []byte, args []any) ([]byte, error) {
	if len(args) == 0 {
		return b, &ArgumentError{Msg: "the command is empty: pass at least its name"}
	}
	out := appendHeader(b, '*', len(args))
	for i, arg := range args {
		switch a := arg.(type) {
		case string:
			out = AppendBulkString(out, a)
		case []byte:
			out = AppendBulk(out, a)
		case int:
			out = AppendBulkInt(out, int64(a))
		case int64:
			out = AppendBulkInt(out, a)
		case uint64:
			out = AppendBulkUint(out, a)
		case float64:
			out = AppendBulkFloat(out, a)
		case bool:
			out = appendBulkBool(out, a)
		case int32:
			out = AppendBulkInt(out, int64(a))
		case uint32:
			out = AppendBulkUint(out, uint64(a))
		case int16:
			out = AppendBulkInt(out, int64(a))
		case uint16:
			out = AppendBulkUint(out, uint64(a))
		case int8:
			out = AppendBulkInt(out, int64(a))
		case uint8:
			out = AppendBulkUint(out, uint64(a))
		case uint:
			out = AppendBulkUint(out, uint64(a))
		case float32:
			out = appendBulkFloat32(out, a)
		case nil:
			return b, argumentError(i, "nil", " is nil: pass an empty string, or leave it out")
		case time.Duration:
			return b, argumentError(i, "time.Duration",
				" is a time.Duration, whose unit depends on the command: pass whole seconds or milliseconds as a number")
		default:
			var ok bool
			if out, ok = appendNamed(out, arg); !ok {
				t := reflect.TypeOf(arg).String()
				return b, argumentError(i, t, " has type "+t+", which has no one wire form: pass a string, []byte, number or bool")
			}
		}
	}
	return out, nil
}

// argumentError is kept apart so that the way without errors stays small.
func argumentError(i int, typ, msg string) error {
	return &ArgumentError{Index: i, Type: typ, Msg: "argument " + strconv.Itoa(i) + msg}
}

// Text returns an argument that is text: a string, bytes, or of a type based on these. It aliases arg.
func Text(arg any) (string, bool) {
	switch a := arg.(type) {
	case string:
		return a, true
	case []byte:
		return string(a), true
	}
	switch v := reflect.ValueOf(arg); {
	case v.Kind() == reflect.String:
		return v.String(), true
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return string(v.Bytes()), true
	default:
		return "", false
	}
}

// appendNamed appends a value of a named type by what it is underneath.
func appendNamed(b []byte, arg any) ([]byte, bool) {
	v := reflect.ValueOf(arg)
	switch v.Kind() {
	case reflect.String:
		return AppendBulkString(b, v.String()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return AppendBulkInt(b, v.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return AppendBulkUint(b, v.Uint()), true
	case reflect.Float32:
		return appendBulkFloat32(b, float32(v.Float())), true
	case reflect.Float64:
		return AppendBulkFloat(b, v.Float()), true
	case reflect.Bool:
		return appendBulkBool(b, v.Bool()), true
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return AppendBulk(b, v.Bytes()), true
		}
		return b, false
	default:
		return b, false
	}
}

func appendBulkBool(b []byte, v bool) []byte {
	if v {
		return append(b, "$1\r\n1\r\n"...)
	}
	return append(b, "$1\r\n0\r\n"...)
}

func appendBulkFloat32(b []byte, f float32) []byte {
	var digits [32]byte
	return AppendBulk(b, appendFloat(digits[:0], float64(f), 32))
}
