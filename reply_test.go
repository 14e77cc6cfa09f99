package evenkeel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// replies parses what a server sent; every byte of it must be used.
func replies(t testing.TB, wire string) []Reply {
	t.Helper()
	var p resp.Parser
	var out []Reply
	for b := []byte(wire); len(b) > 0; {
		var v resp.Value
		n, done, err := p.Next(b, &v)
		if err != nil || !done {
			t.Fatalf("parse %q: done %t, %v", wire, done, err)
		}
		out = append(out, Reply{v: v})
		b = b[n:]
	}
	return out
}

func replyOf(t testing.TB, wire string) Reply {
	t.Helper()
	all := replies(t, wire)
	if len(all) != 1 {
		t.Fatalf("%q is %d replies, want 1", wire, len(all))
	}
	return all[0]
}

// show prints what a getter returned: the value, or the kind of its error.
func show[T any](value T, err error) string {
	var server *ServerError
	var conversion *ConversionError
	switch {
	case err == nil:
		return showValue(value)
	case errors.Is(err, ErrNil):
		return "ErrNil"
	case errors.As(err, &conversion):
		return "conversion" + conversion.Path
	case errors.As(err, &server):
		return "server " + server.Code
	default:
		return err.Error()
	}
}

func showValue(value any) string {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []string:
		return fmt.Sprintf("%q", v)
	case *big.Int:
		return "big " + v.String()
	case *ServerError:
		return "error " + v.Code
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = showValue(v[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	case [][2]any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = showValue(v[i][0]) + ":" + showValue(v[i][1])
		}
		return "pairs(" + strings.Join(parts, " ") + ")"
	case []Reply:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = v[i].Kind()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}

// TestM1DoublesNilsAndNesting is the golden table of case M1: the right value and kind of every spelling, read with and without a type, and the reply
// behind it still in its place.
func TestM1DoublesNilsAndNesting(t *testing.T) {
	const nilText, conv = "ErrNil", "conversion"
	for _, tt := range []struct {
		name, wire, kind                 string
		text, integer, float, list, dict string
		untyped                          string
	}{
		{"RESP2 score inf", "$3\r\ninf\r\n", "bulk string", `"inf"`, conv, "+Inf", conv, conv, `"inf"`},
		{"RESP2 score -inf", "$4\r\n-inf\r\n", "bulk string", `"-inf"`, conv, "-Inf", conv, conv, `"-inf"`},
		{"RESP2 -nan", "$4\r\n-nan\r\n", "bulk string", `"-nan"`, conv, "NaN", conv, conv, `"-nan"`},
		{"RESP3 inf", ",inf\r\n", "double", `"inf"`, conv, "+Inf", conv, conv, "+Inf"},
		{"RESP3 -inf", ",-inf\r\n", "double", `"-inf"`, conv, "-Inf", conv, conv, "-Inf"},
		{"RESP3 nan", ",nan\r\n", "double", `"nan"`, conv, "NaN", conv, conv, "NaN"},
		{"RESP3 -nan, as 7.0.15 sends it for 0/0", ",-nan\r\n", "double", `"nan"`, conv, "NaN", conv, conv, "NaN"},
		{"RESP3 NAN", ",NAN\r\n", "double", `"nan"`, conv, "NaN", conv, conv, "NaN"},
		{"RESP3 whole double", ",3\r\n", "double", `"3"`, "3", "3", conv, conv, "3"},
		{"RESP3 fraction", ",-1.5\r\n", "double", `"-1.5"`, conv, "-1.5", conv, conv, "-1.5"},
		{"RESP3 large double", ",1e300\r\n", "double", `"1e+300"`, conv, "1e+300", conv, conv, "1e+300"},
		{"bulk number", "$2\r\n42\r\n", "bulk string", `"42"`, "42", "42", conv, conv, `"42"`},
		{"integer", ":-7\r\n", "integer", `"-7"`, "-7", "-7", conv, conv, "-7"},
		{"RESP3 null", "_\r\n", "null", nilText, nilText, nilText, nilText, nilText, "<nil>"},
		{"RESP2 null bulk", "$-1\r\n", "null", nilText, nilText, nilText, nilText, nilText, "<nil>"},
		{"RESP2 null array: aborted EXEC, XREAD whose time is up", "*-1\r\n", "null", nilText, nilText, nilText, nilText, nilText, "<nil>"},
		{"empty string is no null", "$0\r\n\r\n", "bulk string", `""`, conv, conv, conv, conv, `""`},
		{"empty array is no null", "*0\r\n", "array", conv, conv, conv, "[]", "map[]", "[]"},
		{"empty map", "%0\r\n", "map", conv, conv, conv, "[]", "map[]", "map[]"},
		{"empty set", "~0\r\n", "set", conv, conv, conv, "[]", "map[]", "[]"},
		{"EXEC with a nil inside", "*3\r\n+OK\r\n$-1\r\n:1\r\n", "array", conv, conv, conv, "[simple string, null, integer]", conv, `["OK" <nil> 1]`},
		{"EXEC with an error inside", "*2\r\n+OK\r\n-WRONGTYPE x\r\n", "array", conv, conv, conv, "[simple string, error]", "conversion{0}", `["OK" error WRONGTYPE]`},
		{"MGET", "*2\r\n$1\r\na\r\n$-1\r\n", "array", conv, conv, conv, "[bulk string, null]", "conversion{0}", `["a" <nil>]`},
		{"nested nulls and empties", "*4\r\n*-1\r\n*0\r\n*1\r\n_\r\n$0\r\n\r\n", "array", conv, conv, conv, "[null, array, array, bulk string]", "conversion{0 key}", `[<nil> [] [<nil>] ""]`},
		{"big number", "(123456789012345678901234567890\r\n", "big number", `"123456789012345678901234567890"`, conv, "1.2345678901234568e+29", conv, conv, "big 123456789012345678901234567890"},
		{"big number that is small", "(-5\r\n", "big number", `"-5"`, "-5", "-5", conv, conv, "big -5"},
		{"verbatim", "=7\r\ntxt:abc\r\n", "verbatim string", `"abc"`, conv, conv, conv, conv, `"abc"`},
		{"true", "#t\r\n", "boolean", `"1"`, "1", "1", conv, conv, "true"},
		{"false", "#f\r\n", "boolean", `"0"`, "0", "0", conv, conv, "false"},
		{"attributes before a reply", "|1\r\n+ttl\r\n:3\r\n$1\r\nx\r\n", "bulk string", `"x"`, conv, conv, conv, conv, `"x"`},
		{"attributes inside", "*1\r\n|1\r\n+ttl\r\n:3\r\n:9\r\n", "array", conv, conv, conv, "[integer]", conv, "[9]"},
		{"map", "%2\r\n+a\r\n:1\r\n+b\r\n,2.5\r\n", "map", conv, conv, conv, "[simple string, integer, simple string, double]", "map[a:1 b:2.5]", "map[a:1 b:2.5]"},
		{"RESP2 map", "*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$3\r\n2.5\r\n", "array", conv, conv, conv, "[bulk string, bulk string, bulk string, bulk string]", "map[a:1 b:2.5]", `["a" "1" "b" "2.5"]`},
		{"array of pairs", "*2\r\n*2\r\n+a\r\n,1\r\n*2\r\n+b\r\n,inf\r\n", "array", conv, conv, conv, "[array, array]", "map[a:1 b:inf]", `[["a" 1] ["b" +Inf]]`},
		{"not all pairs", "*2\r\n*2\r\n+a\r\n,1\r\n*1\r\n+b\r\n", "array", conv, conv, conv, "[array, array]", conv, `[["a" 1] ["b"]]`},
		{"map with a list as a key", "%1\r\n*1\r\n:1\r\n:2\r\n", "map", conv, conv, conv, "[array, integer]", "conversion{0 key}", "pairs([1]:2)"},
		{"map with a NaN as a key", "%1\r\n,nan\r\n:2\r\n", "map", conv, conv, conv, "[double, integer]", "map[nan:2]", "pairs(NaN:2)"},
		{"map with a key twice", "%2\r\n+a\r\n:1\r\n+a\r\n:2\r\n", "map", conv, conv, conv, "[simple string, integer, simple string, integer]", "map[a:2]", `pairs("a":1 "a":2)`},
		{"set", "~2\r\n:1\r\n:2\r\n", "set", conv, conv, conv, "[integer, integer]", "map[1:2]", "[1 2]"},
		{"error", "-WRONGTYPE Operation\r\n", "error", "server WRONGTYPE", "server WRONGTYPE", "server WRONGTYPE", "server WRONGTYPE", "server WRONGTYPE", "server WRONGTYPE"},
		{"blob error", "!8\r\nERR a\r\nb\r\n", "error", "server ERR", "server ERR", "server ERR", "server ERR", "server ERR", "server ERR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := replies(t, tt.wire+"+PONG\r\n")
			if pong, err := all[len(all)-1].Text(); len(all) != 2 || pong != "PONG" || err != nil {
				t.Fatalf("%d replies, the last is %q, %v", len(all), pong, err)
			}
			r := all[0]
			got := [...]string{
				r.Kind(), show(r.Text()), show(r.Int()), show(r.Float()), show(r.Slice()), show(r.Map()), show(r.Any()),
			}
			want := [...]string{tt.kind, tt.text, tt.integer, tt.float, tt.list, tt.dict, tt.untyped}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("kind, Text, Int, Float, Slice, Map, Any (-want +got):\n%s", diff)
			}
			if r.IsNil() != (tt.kind == "null") {
				t.Errorf("IsNil is %t", r.IsNil())
			}
		})
	}
}

func TestLists(t *testing.T) {
	mget := replyOf(t, "*3\r\n$1\r\n1\r\n$-1\r\n$1\r\n3\r\n")
	if got := show(mget.Strings()); got != "conversion[1]" {
		t.Errorf("a null among strings: %s", got)
	}
	if _, err := mget.Ints(); errors.Is(err, ErrNil) || err == nil || !strings.Contains(err.Error(), "Slice") {
		t.Errorf("a null element must not pass for a null reply, and the error names the way out: %v", err)
	}
	failed := replyOf(t, "*2\r\n:1\r\n-NOPERM no\r\n")
	var said *ServerError
	if _, err := failed.Ints(); !errors.As(err, &said) || said.Code != "NOPERM" {
		t.Errorf("an error element is the cause: %v", err)
	}
	if got, err := replyOf(t, "*3\r\n:1\r\n,2\r\n$1\r\n3\r\n").Ints(); err != nil || !cmp.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("Ints: %v, %v", got, err)
	}
	if got, err := replyOf(t, "~2\r\n,-inf\r\n$3\r\n1e3\r\n").Floats(); err != nil || !cmp.Equal(got, []float64{math.Inf(-1), 1000}) {
		t.Errorf("Floats: %v, %v", got, err)
	}
	if got, err := replyOf(t, "%1\r\n+k\r\n#t\r\n").Strings(); err != nil || !cmp.Equal(got, []string{"k", "1"}) {
		t.Errorf("Strings of a map: %v, %v", got, err)
	}
	dict, err := replyOf(t, "%3\r\n+null\r\n_\r\n+bad\r\n-ERR x\r\n+list\r\n*1\r\n:1\r\n").MapReply()
	if err != nil || !dict["null"].IsNil() || dict["bad"].Err() == nil || dict["list"].Kind() != "array" {
		t.Errorf("MapReply: %v, %v", dict, err)
	}
}

func TestNumbersAtTheirLimits(t *testing.T) {
	for _, tt := range []struct{ wire, integer, unsigned, float string }{
		{":9223372036854775807\r\n", "9223372036854775807", "9223372036854775807", "9.223372036854776e+18"},
		{":-9223372036854775808\r\n", "-9223372036854775808", "conversion", "-9.223372036854776e+18"},
		{"$19\r\n9223372036854775808\r\n", "conversion", "9223372036854775808", "9.223372036854776e+18"},
		{"(18446744073709551615\r\n", "conversion", "18446744073709551615", "1.8446744073709552e+19"},
		{"(18446744073709551616\r\n", "conversion", "conversion", "1.8446744073709552e+19"},
		{",9223372036854775808\r\n", "conversion", "9223372036854775808", "9.223372036854776e+18"},
		{",-9223372036854775808\r\n", "-9223372036854775808", "conversion", "-9.223372036854776e+18"},
		{",1.8446744073709552e19\r\n", "conversion", "conversion", "1.8446744073709552e+19"},
		{"$5\r\n1e+17\r\n", "100000000000000000", "100000000000000000", "1e+17"},
		{"$4\r\n1e-1\r\n", "conversion", "conversion", "0.1"},
		{"$5\r\n1e999\r\n", "conversion", "conversion", "conversion"},
		{"$4\r\n0x1f\r\n", "conversion", "conversion", "conversion"},
		{"$3\r\n1_0\r\n", "conversion", "conversion", "conversion"},
		{"$2\r\n 1\r\n", "conversion", "conversion", "conversion"},
		{"$2\r\n+1\r\n", "1", "conversion", "1"},
		{"$9\r\n-INFINITY\r\n", "conversion", "conversion", "-Inf"},
		{"$5\r\n--nan\r\n", "conversion", "conversion", "conversion"},
	} {
		r := replyOf(t, tt.wire)
		got := [...]string{show(r.Int()), show(r.Uint()), show(r.Float())}
		if want := [...]string{tt.integer, tt.unsigned, tt.float}; got != want {
			t.Errorf("%q: Int, Uint, Float are %q, want %q", tt.wire, got, want)
		}
	}
	for wire, want := range map[string]string{
		":-5\r\n": "it is negative", "$2\r\n-5\r\n": "it is negative", ",-5\r\n": "it is negative", "$30\r\n-12345678901234567890123456789\r\n": "it is negative",
		"$1\r\n-\r\n": "it is not a decimal integer", ",nan\r\n": "it is not a whole number", ",inf\r\n": "it is out of range", "$21\r\n123456789012345678901\r\n": "it is out of range", ",0.5\r\n": "it is not a whole number",
	} {
		if _, err := replyOf(t, wire).Uint(); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", wire, err, want)
		}
	}
}

func TestBool(t *testing.T) {
	for wire, want := range map[string]string{
		"#t\r\n": "true", "#f\r\n": "false", ":1\r\n": "true", ":0\r\n": "false", ":2\r\n": "conversion", "+OK\r\n": "true", "$1\r\n1\r\n": "true",
		"$1\r\n0\r\n": "false", ",1\r\n": "true", ",0.5\r\n": "conversion", ",-0\r\n": "false", "$2\r\n-0\r\n": "false", "$4\r\ntrue\r\n": "true", "$5\r\nfalse\r\n": "false", "+QUEUED\r\n": "conversion",
		"_\r\n": "ErrNil", "*-1\r\n": "ErrNil", "-ERR x\r\n": "server ERR", "*0\r\n": "conversion",
	} {
		if got := show(replyOf(t, wire).Bool()); got != want {
			t.Errorf("%q: %s, want %s", wire, got, want)
		}
	}
}

// TestGettersAgreeAcrossProtocols: what a server says in RESP3 reads the same when it says it in RESP2.
func TestGettersAgreeAcrossProtocols(t *testing.T) {
	scalar := rapid.OneOf(
		rapid.Map(rapid.Float64Range(-1e16, 1e16), resp.DoubleValue),
		rapid.Map(rapid.Int64Range(-1<<53, 1<<53), func(n int64) resp.Value { return resp.DoubleValue(float64(n)) }),
		rapid.Map(rapid.Int64(), func(n int64) resp.Value { return resp.Value{Kind: resp.KindInteger, Int: n} }),
		rapid.Map(rapid.Bool(), func(b bool) resp.Value {
			if b {
				return resp.Value{Kind: resp.KindBoolean, Int: 1}
			}
			return resp.Value{Kind: resp.KindBoolean}
		}),
		rapid.Map(rapid.String(), func(s string) resp.Value { return resp.VerbatimValue("txt", s) }),
		rapid.Map(rapid.StringMatching(`-?[1-9][0-9]{0,30}`), func(s string) resp.Value { return resp.Value{Kind: resp.KindBigNumber, Str: s} }),
		rapid.Just(resp.Value{Kind: resp.KindNull}),
		rapid.SampledFrom([]resp.Value{resp.DoubleValue(math.Inf(1)), resp.DoubleValue(math.Inf(-1)), resp.DoubleValue(math.NaN())}),
	)
	dict := rapid.Map(rapid.SliceOfN(scalar, 0, 8), func(elems []resp.Value) resp.Value {
		return resp.Value{Kind: resp.KindMap, Elems: elems[:len(elems)&^1]}
	})
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.OneOf(scalar, dict).Draw(rt, "value")
		r3, r2 := replyOf(t, string(resp.AppendValue(nil, &v, 3))), replyOf(t, string(resp.AppendValue(nil, &v, 2)))
		for name, get := range map[string]func(Reply) string{
			"Int":     func(r Reply) string { return show(r.Int()) },
			"Float":   func(r Reply) string { return show(r.Float()) },
			"Bool":    func(r Reply) string { return show(r.Bool()) },
			"Ints":    func(r Reply) string { return show(r.Ints()) },
			"Floats":  func(r Reply) string { return show(r.Floats()) },
			"IsNil":   func(r Reply) string { return show(r.IsNil(), nil) },
			"Slice":   func(r Reply) string { s, err := r.Slice(); return show(len(s), err) },
			"MapSize": func(r Reply) string { m, err := r.MapReply(); return show(len(m), err) },
		} {
			if in3, in2 := get(r3), get(r2); in3 != in2 {
				rt.Errorf("%s of %v: %s under RESP3, %s under RESP2", name, r3, in3, in2)
			}
		}
	})
}

// TestA5OnlyTheReplyThatDoesNotConvertFails is case A5 at this level: of ten replies the third cannot be decoded, and no other has an error.
func TestA5OnlyTheReplyThatDoesNotConvertFails(t *testing.T) {
	var wire strings.Builder
	for i := range 10 {
		if i == 2 {
			wire.WriteString("*2\r\n$6\r\nsecret\r\n*1\r\n:1\r\n")
			continue
		}
		fmt.Fprintf(&wire, ":%d\r\n", i)
	}
	for i, r := range replies(t, wire.String()) {
		var scanned int
		n, err := r.Int()
		scanErr := r.Scan(&scanned)
		if i != 2 {
			if err != nil || scanErr != nil || n != int64(i) || scanned != i {
				t.Errorf("reply %d: %d, %v; scanned %d, %v", i, n, err, scanned, scanErr)
			}
			continue
		}
		var bad *ConversionError
		if !errors.As(err, &bad) || !errors.As(scanErr, &bad) || r.Err() != nil {
			t.Errorf("reply 2: %v; scanned %v; Err %v", err, scanErr, r.Err())
		}
		const want = "evenkeel: reply is an array of 2 elements, which cannot be read as an integer"
		if err.Error() != want {
			t.Errorf("error is %q, want %q", err, want)
		}
	}
}

func TestErrorsComeFirst(t *testing.T) {
	cause := context.DeadlineExceeded
	failed := Reply{err: cause}
	// A reply may have come and been given up.
	late := Reply{v: resp.Value{Kind: resp.KindBulk, Str: "1"}, err: cause}
	for _, r := range []Reply{failed, late} {
		for name, err := range everyGetter(r) {
			if !errors.Is(err, cause) {
				t.Errorf("%s returns %v, want the cause", name, err)
			}
		}
		if r.IsNil() || r.Kind() != "" || r.VerbatimFormat() != "" || r.String() != cause.Error() {
			t.Errorf("a failed reply has no kind: %v", r)
		}
	}
	for name, err := range everyGetter(Reply{}) {
		if !errors.Is(err, errNoReply) {
			t.Errorf("%s of the zero Reply returns %v", name, err)
		}
	}
	for name, err := range everyGetter(replyOf(t, "-MOVED 1 h:1\r\n")) {
		var said *ServerError
		if !errors.As(err, &said) || said.Code != "MOVED" {
			t.Errorf("%s of an error returns %v", name, err)
		}
	}
}

func everyGetter(r Reply) map[string]error {
	out := map[string]error{"Err": r.Err()}
	var s string
	out["Scan"] = r.Scan(&s)
	_, out["Text"] = r.Text()
	_, out["Bytes"] = r.Bytes()
	_, out["AppendTo"] = r.AppendTo(nil)
	_, out["Int"] = r.Int()
	_, out["Uint"] = r.Uint()
	_, out["Float"] = r.Float()
	_, out["Bool"] = r.Bool()
	_, out["Slice"] = r.Slice()
	_, out["Strings"] = r.Strings()
	_, out["Ints"] = r.Ints()
	_, out["Floats"] = r.Floats()
	_, out["Map"] = r.Map()
	_, out["MapReply"] = r.MapReply()
	_, out["Any"] = r.Any()
	return out
}

func TestBytesBelongToTheCaller(t *testing.T) {
	r := replyOf(t, "$3\r\nabc\r\n")
	b, err := r.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b[0] = 'X'
	if s, err := r.Text(); s != "abc" || err != nil {
		t.Errorf("the reply changed with the caller's slice: %q, %v", s, err)
	}
	if b, err := replyOf(t, "$0\r\n\r\n").Bytes(); b == nil || err != nil {
		t.Errorf("an empty string is %v, %v, want an empty slice that is not nil", b, err)
	}
	before := []byte("before:")
	if out, err := replyOf(t, "*0\r\n").AppendTo(before); err == nil || string(out) != "before:" {
		t.Errorf("after an error: %q, %v", out, err)
	}
	if out, err := r.AppendTo(before); err != nil || string(out) != "before:abc" {
		t.Errorf("AppendTo: %q, %v", out, err)
	}
}

// TestPrintingTellsNoSecrets: neither printing a reply nor the error of a conversion shows what it holds.
func TestPrintingTellsNoSecrets(t *testing.T) {
	const secret = "hunter2"
	for _, wire := range []string{
		"$7\r\nhunter2\r\n", "+hunter2\r\n", "=11\r\ntxt:hunter2\r\n", "*2\r\n$7\r\nhunter2\r\n$7\r\nhunter2\r\n", "%1\r\n+hunter2\r\n*1\r\n+hunter2\r\n",
	} {
		r := replyOf(t, wire)
		var printed strings.Builder
		fmt.Fprintf(&printed, "%v %+v %s %#v", r, r, r, r)
		for name, err := range everyGetter(r) {
			if err != nil {
				fmt.Fprintln(&printed, name, err)
			}
		}
		type record struct {
			Field int `redis:"hunter2"`
		}
		var at record
		fmt.Fprintln(&printed, r.Scan(&at), r.Scan(new(map[string]int)), r.Scan(new([]int8)))
		if strings.Contains(printed.String(), secret) {
			t.Errorf("%q: printed %s", wire, printed.String())
		}
	}
	if got := replyOf(t, "=7\r\nmkd:abc\r\n"); got.VerbatimFormat() != "mkd" || got.String() != "a verbatim string of 3 bytes" {
		t.Errorf("verbatim: %v, %s", got, got.VerbatimFormat())
	}
}
