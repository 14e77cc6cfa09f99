package resp

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAppendBulks(t *testing.T) {
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{AppendBulkInt(nil, 0), "$1\r\n0\r\n"},
		{AppendBulkInt(nil, -12), "$3\r\n-12\r\n"},
		{AppendBulkInt(nil, math.MinInt64), "$20\r\n-9223372036854775808\r\n"},
		{AppendBulkUint(nil, math.MaxUint64), "$20\r\n18446744073709551615\r\n"},
		{AppendBulkFloat(nil, 1), "$1\r\n1\r\n"},
		{AppendBulkFloat(nil, 0.1), "$3\r\n0.1\r\n"},
		{AppendBulkFloat(nil, -2.5e-7), "$8\r\n-2.5e-07\r\n"},
		{AppendBulkFloat(nil, 1e21), "$5\r\n1e+21\r\n"},
		{AppendBulkFloat(nil, -math.MaxFloat64), "$24\r\n-1.7976931348623157e+308\r\n"},
		{AppendBulkFloat(nil, math.Inf(1)), "$3\r\ninf\r\n"},
		{AppendBulkFloat(nil, math.Inf(-1)), "$4\r\n-inf\r\n"},
		{AppendBulkFloat(nil, math.NaN()), "$3\r\nnan\r\n"},
		{AppendBulkFloat(nil, math.Copysign(math.NaN(), -1)), "$3\r\nnan\r\n"},
		{AppendBulk(nil, nil), "$0\r\n\r\n"},
		{AppendBulk([]byte("x"), []byte("a\r\nb")), "x$4\r\na\r\nb\r\n"},
		{AppendBulkString([]byte("x"), "a\x00"), "x$2\r\na\x00\r\n"},
		{AppendArrayHeader(nil, -1), "*0\r\n"},
	} {
		if string(c.got) != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	for _, n := range []int{0, 1, 9, 10, 42, 99, 100, 105, 999, 1000, 1001, 123456789} {
		if got, want := string(AppendArrayHeader(nil, n)), "*"+strconv.Itoa(n)+"\r\n"; got != want {
			t.Errorf("header %q, want %q", got, want)
		}
	}
}

func TestAppendValue(t *testing.T) {
	long := strings.Repeat("x", DefaultMaxLine+1)
	attributed := integer(1).with(simple("ttl"), integer(9))
	for _, c := range []struct {
		v            Value
		resp3, resp2 string
	}{
		{simple("OK"), "+OK\r\n", "+OK\r\n"},
		{simple("a\r\nb"), "+a  b\r\n", "+a  b\r\n"},
		{failure("ERR x"), "-ERR x\r\n", "-ERR x\r\n"},
		{failure("ERR\nx"), "!5\r\nERR\nx\r\n", "-ERR x\r\n"},
		{integer(-5), ":-5\r\n", ":-5\r\n"},
		{failure(long), "!1048577\r\n" + long + "\r\n", "-" + long + "\r\n"},
		{bulk("a"), "$1\r\na\r\n", "$1\r\na\r\n"},
		{null(), "_\r\n", "$-1\r\n"},
		{nullArray(), "_\r\n", "*-1\r\n"},
		{Value{}, "_\r\n", "$-1\r\n"},
		{DoubleValue(1.5), ",1.5\r\n", "$3\r\n1.5\r\n"},
		{DoubleValue(math.Inf(-1)), ",-inf\r\n", "$4\r\n-inf\r\n"},
		{DoubleValue(math.NaN()), ",nan\r\n", "$3\r\nnan\r\n"},
		{boolean(true), "#t\r\n", ":1\r\n"},
		{boolean(false), "#f\r\n", ":0\r\n"},
		{big("-123"), "(-123\r\n", "$4\r\n-123\r\n"},
		{VerbatimValue("mkd", "x"), "=5\r\nmkd:x\r\n", "$1\r\nx\r\n"},
		{array(), "*0\r\n", "*0\r\n"},
		{array(null(), set(integer(1))), "*2\r\n_\r\n~1\r\n:1\r\n", "*2\r\n$-1\r\n*1\r\n:1\r\n"},
		{mapping(bulk("a"), mapping()), "%1\r\n$1\r\na\r\n%0\r\n", "*2\r\n$1\r\na\r\n*0\r\n"},
		{mapping(integer(1)), "%1\r\n:1\r\n_\r\n", "*2\r\n:1\r\n$-1\r\n"},
		{push(bulk("a")), ">1\r\n$1\r\na\r\n", "*1\r\n$1\r\na\r\n"},
		{attributed, "|1\r\n+ttl\r\n:9\r\n:1\r\n", ":1\r\n"},
		{array(attributed), "*1\r\n|1\r\n+ttl\r\n:9\r\n:1\r\n", "*1\r\n:1\r\n"},
	} {
		if got := string(AppendValue([]byte("x"), &c.v, 3)); got != "x"+c.resp3 {
			t.Errorf("%v in RESP3: %.99q, want %.99q", c.v.Kind, got, "x"+c.resp3)
		}
		if got := string(AppendValue([]byte("x"), &c.v, 2)); got != "x"+c.resp2 {
			t.Errorf("%v in RESP2: %.99q, want %.99q", c.v.Kind, got, "x"+c.resp2)
		}
	}
}

// anyValue draws a value tree that AppendValue sends without a change.
func anyValue(depth int, inside bool) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		text := rapid.StringMatching(`[ -~]{0,12}`)
		kinds := []Kind{KindSimple, KindError, KindInteger, KindBulk, KindNull, KindDouble, KindBoolean, KindBigNumber, KindVerbatim}
		if depth > 0 {
			kinds = append(kinds, KindArray, KindSet, KindMap)
			if !inside {
				kinds = append(kinds, KindPush)
			}
		}
		v := Value{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		switch v.Kind {
		case KindSimple:
			v.Str = text.Draw(t, "text")
		case KindError:
			v.Str = rapid.OneOf(text, rapid.StringMatching(`[a-c\r\n]{1,5}`)).Draw(t, "error")
		case KindInteger:
			v.Int = rapid.Int64().Draw(t, "integer")
		case KindBulk:
			v.Str = string(rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "bulk"))
		case KindDouble:
			f := rapid.Float64().Draw(t, "double")
			if math.IsNaN(f) {
				f = math.NaN()
			}
			v = DoubleValue(f)
		case KindBoolean:
			v.Int = rapid.Int64Range(0, 1).Draw(t, "boolean")
		case KindBigNumber:
			v.Str = rapid.StringMatching(`-?[0-9]{1,40}`).Draw(t, "big")
		case KindVerbatim:
			v = VerbatimValue(rapid.StringMatching(`[a-z]{3}`).Draw(t, "format"), text.Draw(t, "text"))
		case KindArray, KindSet, KindPush:
			v.Elems = rapid.SliceOfN(anyValue(depth-1, true), 0, 5).Draw(t, "elements")
		case KindMap:
			v.Elems = rapid.SliceOfN(anyValue(depth-1, true), 0, 4).Draw(t, "pairs")
			v.Elems = v.Elems[:len(v.Elems)&^1]
		default: // KindNull has nothing more
		}
		if depth > 0 && rapid.IntRange(0, 7).Draw(t, "attributes") == 0 {
			v.Attrs = rapid.SliceOfN(anyValue(depth-1, true), 2, 2).Draw(t, "attributes")
		}
		if len(v.Elems) == 0 {
			v.Elems = nil
		}
		return v
	})
}

func TestRoundTripInAnyPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(anyValue(3, false), 1, 4).Draw(t, "values")
		var wire []byte
		for i := range want {
			wire = AppendValue(wire, &want[i], 3)
		}
		var p Parser
		var v Value
		var got []Value
		for len(wire) > 0 {
			piece := bytes.Clone(wire[:rapid.IntRange(1, len(wire)).Draw(t, "piece")])
			n, done, err := p.Next(piece, &v)
			if err != nil {
				t.Fatal(err)
			}
			clear(piece)
			wire = wire[n:]
			if done {
				got = append(got, v)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

type (
	namedString string
	namedBytes  []byte
	namedInt    int16
	namedUint   uint32
	namedFloat  float64
	namedSingle float32
	namedBool   bool
)

func TestAppendCommand(t *testing.T) {
	args := []any{
		"SET", []byte("k\r\n"), 1, int8(-2), int16(3), int32(-4), int64(5), uint(6), uint8(7), uint16(8), uint32(9), uint64(10),
		1.5, float32(0.1), true, false, "", []byte(nil),
		namedString("s"), namedBytes("b"), namedInt(-1), namedUint(2), namedFloat(2.5), namedSingle(0.2), namedBool(true), time.March,
	}
	want := []string{
		"SET", "k\r\n", "1", "-2", "3", "-4", "5", "6", "7", "8", "9", "10",
		"1.5", "0.1", "1", "0", "", "", "s", "b", "-1", "2", "2.5", "0.2", "1", "3",
	}
	wire, err := AppendCommand([]byte("+OK\r\n"), args)
	if err != nil {
		t.Fatal(err)
	}
	v, rest := parse(t, new(Parser), wire[5:], math.MaxInt)
	if len(rest) != 0 || v.Kind != KindArray {
		t.Fatalf("a command is a %v, left %q", v.Kind, rest)
	}
	var got []string
	for _, e := range v.Elems {
		if e.Kind != KindBulk {
			t.Errorf("argument of kind %v", e.Kind)
		}
		got = append(got, e.Str)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("arguments (-want +got):\n%s", d)
	}
}

func TestAppendCommandRefuses(t *testing.T) {
	secret := "hunter2"
	for _, c := range []struct {
		args  []any
		index int
		typ   string
		msg   string
	}{
		{nil, 0, "", "empty"},
		{[]any{}, 0, "", "empty"},
		{[]any{"SET", "k", nil}, 2, "nil", "argument 2 is nil"},
		{[]any{"EXPIRE", "k", time.Second}, 2, "time.Duration", "argument 2 is a time.Duration"},
		{[]any{"SET", "k", map[string]int{secret: 1}}, 2, "map[string]int", "argument 2 has type map[string]int, which has no one wire form"},
		{[]any{"SET", []string{secret}}, 1, "[]string", "argument 1 has type []string"},
		{[]any{"SET", &secret}, 1, "*string", "argument 1 has type *string"},
		{[]any{struct{ p string }{secret}}, 0, "struct { p string }", "argument 0"},
		{[]any{"SET", errors.New(secret)}, 1, "*errors.errorString", "argument 1"},
		{[]any{"SET", time.Time{}}, 1, "time.Time", "argument 1"},
		{[]any{"SET", complex(1, 2)}, 1, "complex128", "argument 1"},
		{[]any{"SET", [3]byte{}}, 1, "[3]uint8", "argument 1"},
		{[]any{"SET", []rune(secret)}, 1, "[]int32", "argument 1"},
		{[]any{"SET", uintptr(1)}, 1, "uintptr", "argument 1"},
	} {
		b, err := AppendCommand([]byte("before"), c.args)
		ae, ok := errors.AsType[*ArgumentError](err)
		if !ok {
			t.Errorf("%s: error %v, want an *ArgumentError", c.typ, err)
			continue
		}
		if ae.Index != c.index || ae.Type != c.typ || !strings.Contains(ae.Error(), c.msg) || strings.Contains(ae.Error(), secret) {
			t.Errorf("%s: %+v, want argument %d and %q", c.typ, ae, c.index, c.msg)
		}
		if string(b) != "before" {
			t.Errorf("%s: the buffer became %q", c.typ, b)
		}
	}
}

func TestValueMethods(t *testing.T) {
	for _, v := range []Value{{}, simple("x"), integer(1), bulk("1"), null(), boolean(false)} {
		if v.Float() != 0 || v.Bool() || v.VerbatimFormat() != "" {
			t.Errorf("%v: Float %v, Bool %v, VerbatimFormat %q", v.Kind, v.Float(), v.Bool(), v.VerbatimFormat())
		}
		if v.IsNull() != (v.Kind == KindNull) {
			t.Errorf("%v: IsNull %v", v.Kind, v.IsNull())
		}
	}
	yes, double := boolean(true), DoubleValue(2.5)
	if !yes.Bool() || double.Float() != 2.5 {
		t.Errorf("Bool %v, Float %v", yes.Bool(), double.Float())
	}
	for in, want := range map[string]string{"txt": "txt", "mkd": "mkd", "abc": "abc", "toolong": "txt", "": "txt"} {
		v := VerbatimValue(in, "x")
		if got := v.VerbatimFormat(); got != want {
			t.Errorf("VerbatimFormat of %q is %q, want %q", in, got, want)
		}
	}
	seen := map[string]bool{}
	for k := KindSimple; k <= KindPush; k++ {
		if name := k.String(); name == Kind(0).String() || seen[name] {
			t.Errorf("kind %d is called %q", k, name)
		} else {
			seen[name] = true
		}
	}
}
