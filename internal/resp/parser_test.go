package resp

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Short forms for expected values.
func simple(s string) Value    { return Value{Kind: KindSimple, Str: s} }
func failure(s string) Value   { return Value{Kind: KindError, Str: s} }
func integer(n int64) Value    { return Value{Kind: KindInteger, Int: n} }
func bulk(s string) Value      { return Value{Kind: KindBulk, Str: s} }
func null() Value              { return Value{Kind: KindNull} }
func nullArray() Value         { return Value{Kind: KindNull, Int: 1} }
func big(s string) Value       { return Value{Kind: KindBigNumber, Str: s} }
func array(e ...Value) Value   { return Value{Kind: KindArray, Elems: e} }
func set(e ...Value) Value     { return Value{Kind: KindSet, Elems: e} }
func mapping(e ...Value) Value { return Value{Kind: KindMap, Elems: e} }
func push(e ...Value) Value    { return Value{Kind: KindPush, Elems: e} }
func (v Value) with(a ...Value) Value {
	v.Attrs = a
	return v
}

func boolean(b bool) Value {
	v := Value{Kind: KindBoolean}
	if b {
		v.Int = 1
	}
	return v
}

type golden struct {
	name, in string
	want     Value
}

// goldens has every type in every spelling. Those marked "server" were recorded from redis-server 7.0.15.
var goldens = []golden{
	{"simple", "+OK\r\n", simple("OK")},
	{"simple empty", "+\r\n", simple("")},
	{"simple queued", "+QUEUED\r\n", simple("QUEUED")},
	{"simple pong", "+PONG\r\n", simple("PONG")},
	{"simple like OK", "+OKAY\r\n", simple("OKAY")},
	{"server status of three lines", "+a  b c\r\n", simple("a  b c")},
	{"error", "-ERR unknown command\r\n", failure("ERR unknown command")},
	{"error empty", "-\r\n", failure("")},
	{"blob error", "!21\r\nSYNTAX invalid syntax\r\n", failure("SYNTAX invalid syntax")},
	{"blob error with line ends", "!8\r\nERR a\r\nb\r\n", failure("ERR a\r\nb")},
	{"integer", ":12345\r\n", integer(12345)},
	{"integer zero", ":0\r\n", integer(0)},
	{"integer minus zero", ":-0\r\n", integer(0)},
	{"integer minus", ":-7\r\n", integer(-7)},
	{"integer plus", ":+7\r\n", integer(7)},
	{"integer leading zeros", ":007\r\n", integer(7)},
	{"integer most", ":9223372036854775807\r\n", integer(math.MaxInt64)},
	{"integer least", ":-9223372036854775808\r\n", integer(math.MinInt64)},
	{"bulk", "$11\r\nHello World\r\n", bulk("Hello World")},
	{"bulk empty", "$0\r\n\r\n", bulk("")},
	{"bulk of line ends", "$4\r\n\r\n\r\n\r\n", bulk("\r\n\r\n")},
	{"bulk of any bytes", "$5\r\n\x00\xff$:*\r\n", bulk("\x00\xff$:*")},
	{"null", "_\r\n", null()},
	{"null bulk", "$-1\r\n", null()},
	{"null array", "*-1\r\n", nullArray()},
	{"array", "*3\r\n:0\r\n:1\r\n:2\r\n", array(integer(0), integer(1), integer(2))},
	{"array empty", "*0\r\n", array()},
	{"server nested nil and empty", "*3\r\n:1\r\n*0\r\n*1\r\n_\r\n", array(integer(1), array(), array(null()))},
	{"server MGET nil", "*2\r\n_\r\n_\r\n", array(null(), null())},
	{"server MGET nil RESP2", "*2\r\n$-1\r\n$-1\r\n", array(null(), null())},
	{"server EXEC with nil inside", "*2\r\n$-1\r\n+OK\r\n", array(null(), simple("OK"))},
	{"nested null arrays", "*3\r\n*-1\r\n*1\r\n*-1\r\n$0\r\n\r\n", array(nullArray(), array(nullArray()), bulk(""))},
	{"deep", "*1\r\n*1\r\n*1\r\n*2\r\n:1\r\n*0\r\n", array(array(array(array(integer(1), array()))))},
	{"error inside", "*2\r\n-ERR a\r\n:1\r\n", array(failure("ERR a"), integer(1))},
	{"double", ",3.141\r\n", DoubleValue(3.141)},
	{"double integral", ",10\r\n", DoubleValue(10)},
	{"double minus", ",-0.5\r\n", DoubleValue(-0.5)},
	{"double minus zero", ",-0\r\n", DoubleValue(math.Copysign(0, -1))},
	{"double plus", ",+1.5\r\n", DoubleValue(1.5)},
	{"double exponents", ",1.5e+300\r\n", DoubleValue(1.5e300)},
	{"double exponent capital", ",15E-1\r\n", DoubleValue(1.5)},
	{"double smallest", ",5e-324\r\n", DoubleValue(math.SmallestNonzeroFloat64)},
	{"double too small", ",1e-400\r\n", DoubleValue(0)},
	{"double inf", ",inf\r\n", DoubleValue(math.Inf(1))},
	{"double +inf", ",+inf\r\n", DoubleValue(math.Inf(1))},
	{"double -inf", ",-inf\r\n", DoubleValue(math.Inf(-1))},
	{"double -Infinity", ",-Infinity\r\n", DoubleValue(math.Inf(-1))},
	{"double nan", ",nan\r\n", DoubleValue(math.NaN())},
	{"server double -nan", ",-nan\r\n", DoubleValue(math.NaN())},
	{"double NAN", ",NAN\r\n", DoubleValue(math.NaN())},
	{"double NaN", ",NaN\r\n", DoubleValue(math.NaN())},
	{
		"server ZRANGE WITHSCORES", "*3\r\n*2\r\n$1\r\nb\r\n,-inf\r\n*2\r\n$1\r\nc\r\n,1.5\r\n*2\r\n$1\r\na\r\n,inf\r\n",
		array(array(bulk("b"), DoubleValue(math.Inf(-1))), array(bulk("c"), DoubleValue(1.5)), array(bulk("a"), DoubleValue(math.Inf(1)))),
	},
	{"true", "#t\r\n", boolean(true)},
	{"false", "#f\r\n", boolean(false)},
	{"server big number", "(1234567999999999999999999999999999999\r\n", big("1234567999999999999999999999999999999")},
	{"big number minus", "(-3492890328409238509324850943850943825024385\r\n", big("-3492890328409238509324850943850943825024385")},
	{"big number plus", "(+1\r\n", big("1")},
	{"server verbatim", "=29\r\ntxt:This is a verbatim\nstring\r\n", VerbatimValue("txt", "This is a verbatim\nstring")},
	{"verbatim markdown", "=5\r\nmkd:x\r\n", VerbatimValue("mkd", "x")},
	{"verbatim empty", "=4\r\nabc:\r\n", VerbatimValue("abc", "")},
	{"set", "~3\r\n:0\r\n:1\r\n:2\r\n", set(integer(0), integer(1), integer(2))},
	{"set empty", "~0\r\n", set()},
	{
		"server map", "%3\r\n:0\r\n#f\r\n:1\r\n#t\r\n:2\r\n#f\r\n",
		mapping(integer(0), boolean(false), integer(1), boolean(true), integer(2), boolean(false)),
	},
	{"map empty", "%0\r\n", mapping()},
	{"map of any keys", "%1\r\n*1\r\n:1\r\n%1\r\n_\r\n~0\r\n", mapping(array(integer(1)), mapping(null(), set()))},
	{"push", ">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n", push(bulk("server-cpu-usage"), integer(42))},
	{"push with aggregates", ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n", push(bulk("invalidate"), array(bulk("k")))},
	{
		"server attribute", "|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n$39\r\nSome real reply following the attribute\r\n",
		bulk("Some real reply following the attribute").with(bulk("key-popularity"), array(bulk("key:123"), integer(90))),
	},
	{"attribute inside", "*2\r\n:1\r\n|1\r\n+ttl\r\n:3\r\n:2\r\n", array(integer(1), integer(2).with(simple("ttl"), integer(3)))},
	{"attribute of an aggregate", "|1\r\n+a\r\n#t\r\n*1\r\n:1\r\n", array(integer(1)).with(simple("a"), boolean(true))},
	{"attribute of an empty aggregate", "|1\r\n+a\r\n#t\r\n%0\r\n", mapping().with(simple("a"), boolean(true))},
	{"attribute of a null", "|1\r\n+a\r\n:1\r\n_\r\n", null().with(simple("a"), integer(1))},
	{"attribute of a push", "|1\r\n+a\r\n:1\r\n>1\r\n+b\r\n", push(simple("b")).with(simple("a"), integer(1))},
	{"attribute in an attribute", "|1\r\n+a\r\n|1\r\n+b\r\n:1\r\n:2\r\n:3\r\n", integer(3).with(simple("a"), integer(2).with(simple("b"), integer(1)))},
	{"attribute after an attribute", "|1\r\n+a\r\n:1\r\n|1\r\n+b\r\n:2\r\n:3\r\n", integer(3).with(simple("a"), integer(1), simple("b"), integer(2))},
	{"attribute empty", "|0\r\n:3\r\n", integer(3)},
	{"streamed string", "$?\r\n;4\r\nHell\r\n;5\r\no wor\r\n;1\r\nd\r\n;0\r\n", bulk("Hello word")},
	{"streamed string empty", "$?\r\n;0\r\n", bulk("")},
	{"streamed string inside", "*2\r\n$?\r\n;1\r\na\r\n;0\r\n$1\r\nb\r\n", array(bulk("a"), bulk("b"))},
	{"streamed array", "*?\r\n:1\r\n*1\r\n:2\r\n.\r\n", array(integer(1), array(integer(2)))},
	{"streamed array empty", "*?\r\n.\r\n", array()},
	{"streamed set", "~?\r\n+a\r\n#t\r\n.\r\n", set(simple("a"), boolean(true))},
	{"streamed map", "%?\r\n+a\r\n:1\r\n+b\r\n:2\r\n.\r\n", mapping(simple("a"), integer(1), simple("b"), integer(2))},
	{"streamed in streamed", "*?\r\n%?\r\n+a\r\n*?\r\n.\r\n.\r\n.\r\n", array(mapping(simple("a"), array()))},
	{"streamed with attributes", "|1\r\n+a\r\n:1\r\n*?\r\n:2\r\n.\r\n", array(integer(2)).with(simple("a"), integer(1))},
	{"streamed with attributes inside", "*?\r\n|1\r\n+a\r\n:1\r\n:2\r\n.\r\n", array(integer(2).with(simple("a"), integer(1)))},
}

// diff compares values. A double is compared by its bits, so that a NaN equals the one that the parser makes.
func diff(want, got Value) string { return cmp.Diff(want, got) }

// parse feeds in to p in pieces, and returns the first value and what is left of in.
func parse(t *testing.T, p *Parser, in []byte, piece int) (v Value, rest []byte) {
	t.Helper()
	for len(in) > 0 {
		part := bytes.Clone(in[:min(piece, len(in))])
		n, done, err := p.Next(part, &v)
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		if !done && n != len(part) {
			t.Fatalf("Next consumed %d of %d bytes of an unfinished value", n, len(part))
		}
		clear(part) // whatever the value still shares with it now shows
		in = in[n:]
		if done {
			if p.Pending() {
				t.Fatal("Pending after a whole value")
			}
			return v, in
		}
		if n > 0 && !p.Pending() {
			t.Fatal("not Pending inside a value")
		}
	}
	t.Fatal("the value did not end")
	return v, nil
}

func TestM1_EveryTypeAndSpelling(t *testing.T) {
	for _, c := range goldens {
		t.Run(c.name, func(t *testing.T) {
			p := new(Parser)
			v, rest := parse(t, p, []byte(c.in+"+PONG\r\n"), math.MaxInt)
			if d := diff(c.want, v); d != "" {
				t.Errorf("value (-want +got):\n%s", d)
			}
			if pong, _ := parse(t, p, rest, math.MaxInt); pong.Str != "PONG" || pong.Attrs != nil {
				t.Errorf("the next value is %+v, want PONG", pong)
			}
		})
	}
}

func TestM3_SplitAtEveryByte(t *testing.T) {
	for _, c := range goldens {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in + "+PONG\r\n")
			for piece := 1; piece <= len(c.in); piece++ {
				p := new(Parser)
				v, rest := parse(t, p, in, piece)
				if d := diff(c.want, v); d != "" {
					t.Fatalf("in pieces of %d (-want +got):\n%s", piece, d)
				}
				if string(rest) != "+PONG\r\n" {
					t.Fatalf("in pieces of %d: left %q", piece, rest)
				}
			}
			for cut := 1; cut < len(c.in); cut++ {
				var v Value
				p := new(Parser)
				if n, done, err := p.Next(in[:cut], &v); n != cut || done || err != nil {
					t.Fatalf("cut at %d: Next = %d, %v, %v", cut, n, done, err)
				}
				if n, done, err := p.Next(in[cut:], &v); n != len(c.in)-cut || !done || err != nil {
					t.Fatalf("cut at %d: Next = %d, %v, %v", cut, n, done, err)
				}
				if d := diff(c.want, v); d != "" {
					t.Fatalf("cut at %d (-want +got):\n%s", cut, d)
				}
			}
		})
	}
}

func TestM3_LongLines(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 600_000/16)
	for _, c := range []struct {
		in   string
		want Value
	}{
		{"+" + text + "\r\n", simple(text)},
		{"-ERR " + text + "\r\n", failure("ERR " + text)},
		{"*2\r\n+" + text + "\r\n:1\r\n", array(simple(text), integer(1))},
	} {
		for _, piece := range []int{1, 1000, 4096, 65536, math.MaxInt} {
			v, _ := parse(t, new(Parser), []byte(c.in), piece)
			if v.Kind != c.want.Kind || diff(c.want, v) != "" {
				t.Errorf("pieces of %d: a long %v was garbled", piece, c.want.Kind)
			}
		}
	}
}

func TestM3_LargeBulkDrippedIn(t *testing.T) {
	const size = 64 << 20
	payload := bytes.Repeat([]byte("0123456789abcde\n"), size/16)
	var p Parser
	var v Value
	feed := func(b []byte) (done bool) {
		n, done, err := p.Next(b, &v)
		if err != nil || n != len(b) {
			t.Fatalf("Next = %d, %v, %v", n, done, err)
		}
		return done
	}
	feed([]byte("$67108864\r\n"))
	for at := 0; at < size; {
		n := min(1+at%7919, size-at)
		if feed(payload[at : at+n]) {
			t.Fatal("done too early")
		}
		at += n
	}
	feed([]byte("\r"))
	if !feed([]byte("\n")) {
		t.Fatal("not done")
	}
	if v.Kind != KindBulk || v.Str != string(payload) {
		t.Error("the payload was garbled")
	}
}

var malformed = []struct {
	name, in string
	offset   int64
	msg      string // part of the message; "a" where 32 and 64 bits differ
}{
	{"unknown type", "?x\r\n", 0, "unknown type byte '?'"},
	{"HTTP", "HTTP/1.1 400 Bad Request\r\n", 0, "HTTP"},
	{"TLS alert", "\x15\x03\x01\x00\x02\x02F", 0, "TLS"},
	{"SSH", "SSH-2.0-OpenSSH_9.2\r\n", 0, "SSH"},
	{"inline", "PING\r\n", 0, "unknown type byte 'P'"},
	{"stray CRLF", "\r\n", 0, "unknown type byte 0x0d"},
	{"LF alone", "+OK\n", 3, "LF without CR"},
	{"LF inside", "+a\nb\r\n", 2, "LF without CR"},
	{"CR alone", "+a\rb\r\n", 3, "CR without LF"},
	{"CR CR LF", "+a\r\r\n", 3, "CR without LF"},
	{"length with LF alone", "$1\na\r\n", 2, "LF without CR"},
	{"integer empty", ":\r\n", 0, "integer"},
	{"integer sign alone", ":-\r\n", 0, "integer"},
	{"integer two signs", ":--1\r\n", 0, "integer"},
	{"integer hexadecimal", ":+0x1\r\n", 0, "integer"},
	{"integer blank before", ": 1\r\n", 0, "integer"},
	{"integer blank after", ":1 \r\n", 0, "integer"},
	{"integer underscore", ":1_0\r\n", 0, "integer"},
	{"integer fraction", ":1.0\r\n", 0, "integer"},
	{"integer overflow", ":9223372036854775808\r\n", 0, "integer"},
	{"integer underflow", ":-9223372036854775809\r\n", 0, "integer"},
	{"integer far overflow", ":99999999999999999999999\r\n", 0, "integer"},
	{"integer wraps round", ":18446744073709551617\r\n", 0, "integer"},
	{"integer too many digits", ":" + strings.Repeat("0", 70) + "\r\n", 0, "longer"},
	{"length empty", "$\r\n", 0, "length"},
	{"length minus two", "$-2\r\n", 0, "length"},
	{"length minus one padded", "$-01\r\n", 0, "length"},
	{"length plus", "$+1\r\na\r\n", 0, "length"},
	{"length leading zero", "$01\r\na\r\n", 0, "length"},
	{"length blank", "$ 1\r\na\r\n", 0, "length"},
	{"length overflow", "$18446744073709551617\r\na\r\n", 0, "length"},
	{"length beyond the default", "$999999999\r\n", 0, "longer"},
	{"length of ten digits", "$9999999999\r\n", 0, "a"},
	{"array length minus two", "*-2\r\n", 0, "length"},
	{"array length letters", "*abc\r\n", 0, "length"},
	{"array length overflow", "*9223372036854775808\r\n", 0, "length"},
	{"map length overflows 32 bits when doubled", "%2147483647\r\n", 0, "more elements"},
	{"map length overflows 64 bits when doubled", "%9223372036854775807\r\n", 0, "a"},
	{"null map", "%-1\r\n", 0, "length"},
	{"null set", "~-1\r\n", 0, "length"},
	{"null verbatim", "=-1\r\n", 0, "length"},
	{"null blob error", "!-1\r\n", 0, "length"},
	{"payload too long", "$1\r\nab\r\n", 5, "no CRLF after a payload, but 'b'"},
	{"payload too short", "$3\r\na\r\n+OK\r\n", 7, "no CRLF after a payload, but '+'"}, // a CR LF is the payload
	{"payload with CR alone", "$1\r\na\rb", 6, "no CRLF after a payload"},
	{"payload with LF alone", "$1\r\na\n", 5, "no CRLF after a payload, but 0x0a"},
	{"null with text", "_x\r\n", 0, "null"},
	{"boolean empty", "#\r\n", 0, "boolean"},
	{"boolean word", "#true\r\n", 0, "boolean"},
	{"boolean capital", "#T\r\n", 0, "boolean"},
	{"double empty", ",\r\n", 0, "double"},
	{"double hexadecimal", ",0x1p-2\r\n", 0, "double"},
	{"double underscore", ",1_0\r\n", 0, "double"},
	{"double blank", ", 1\r\n", 0, "double"},
	{"double word", ",infinite\r\n", 0, "double"},
	{"double two signs", ",--inf\r\n", 0, "double"},
	{"double two points", ",1.2.3\r\n", 0, "double"},
	{"double exponent alone", ",e5\r\n", 0, "double"},
	{"double exponent empty", ",1e\r\n", 0, "double"},
	{"double overflow", ",1e400\r\n", 0, "double"},
	{"big number empty", "(\r\n", 0, "big number"},
	{"big number sign alone", "(-\r\n", 0, "big number"},
	{"big number fraction", "(1.5\r\n", 0, "big number"},
	{"verbatim too short", "=3\r\ntxt\r\n", 0, "format"},
	{"verbatim without colon", "=5\r\ntxt;a\r\n", 11, "format"},
	{"push inside", "*1\r\n>1\r\n+a\r\n", 4, "push inside"},
	{"push streamed", ">?\r\n", 0, "streamed"},
	{"attribute streamed", "|?\r\n", 0, "streamed"},
	{"verbatim streamed", "=?\r\n", 0, "length"},
	{"end mark alone", ".\r\n", 0, "outside"},
	{"end mark in a counted array", "*2\r\n:1\r\n.\r\n", 8, "outside"},
	{"end mark of the outer", "*?\r\n*1\r\n.\r\n", 8, "outside"},
	{"end mark with text", "*?\r\n.x\r\n", 4, "after the end mark"},
	{"end mark after a key", "%?\r\n+a\r\n.\r\n", 8, "key without a value"},
	{"end mark after attributes", "*?\r\n|1\r\n+a\r\n:1\r\n.\r\n", 16, "attribute without a value"},
	{"chunk alone", ";1\r\na\r\n", 0, "outside"},
	{"no chunk", "$?\r\n$1\r\na\r\n", 4, "no chunk"},
	{"chunk without length", "$?\r\n;\r\n", 4, "length"},
	{"chunk minus one", "$?\r\n;-1\r\n", 4, "length"},
	{"chunk too long", "$?\r\n;1\r\nab\r\n", 9, "no CRLF"},
	{"inside an array", "*2\r\n:1\r\n:x\r\n", 8, "integer"},
	{"unknown inside an array", "*2\r\n:1\r\nHTTP", 8, "unknown type byte 'H'"},
}

func TestMalformed(t *testing.T) {
	for _, c := range malformed {
		t.Run(c.name, func(t *testing.T) {
			for piece := 1; piece <= len(c.in); piece++ {
				checkFails(t, new(Parser), c.in, piece, c.offset, c.msg)
			}
		})
	}
}

// checkFails feeds in in pieces and checks the error, which has to stay.
func checkFails(t *testing.T, p *Parser, in string, piece int, offset int64, msg string) {
	t.Helper()
	var v Value
	for rest := []byte(in); len(rest) > 0; {
		n, done, err := p.Next(rest[:min(piece, len(rest))], &v)
		if err == nil && !done {
			rest = rest[n:]
			continue
		}
		pe, ok := errors.AsType[*ProtocolError](err)
		if !ok {
			t.Fatalf("pieces of %d: Next = %d, %v, %v; want a *ProtocolError", piece, n, done, err)
		}
		if pe.Offset != offset || !strings.Contains(pe.Error(), msg) {
			t.Fatalf("pieces of %d: %v, want byte %d and %q", piece, pe, offset, msg)
		}
		if n != 0 || done {
			t.Fatalf("pieces of %d: Next = %d, %v beside an error", piece, n, done)
		}
		if _, done, again := p.Next([]byte("+OK\r\n"), &v); done || !errors.Is(again, err) {
			t.Fatalf("Next after an error = %v, %v, want the same error", done, again)
		}
		if _, done, again := p.SkipNext([]byte("+OK\r\n")); done || !errors.Is(again, err) {
			t.Fatalf("SkipNext after an error = %v, %v, want the same error", done, again)
		}
		if !p.Pending() {
			t.Fatal("a failed parser is at rest")
		}
		p.Reset()
		if n, done, err := p.Next([]byte("_\r\n"), &v); n != 3 || !done || err != nil || !v.IsNull() {
			t.Fatalf("Next after Reset = %d, %v, %v", n, done, err)
		}
		return
	}
	t.Fatalf("pieces of %d: no error", piece)
}

func TestProtocolErrorQuotesOneByte(t *testing.T) {
	secret := "zqxjkvw"
	for _, in := range []string{
		":" + secret + "\r\n", "$" + secret + "\r\n", "," + secret + "\r\n", "(" + secret + "\r\n", "#" + secret + "\r\n",
		"$1\r\n" + secret + "\r\n", "=7\r\n" + secret + "\r\n", secret, "*1\r\n" + secret, "_" + secret + "\r\n", "*?\r\n." + secret + "\r\n",
	} {
		var v Value
		_, _, err := new(Parser).Next([]byte(in), &v)
		if err == nil || strings.Contains(err.Error(), secret[2:5]) {
			t.Errorf("%q: error %v", in, err)
		}
	}
}

func TestResetForgetsEverything(t *testing.T) {
	for _, c := range goldens {
		for cut := 1; cut < len(c.in); cut++ {
			p := NewParser(Limits{MaxDepth: 9})
			var v Value
			if _, _, err := p.Next([]byte(c.in[:cut]), &v); err != nil {
				t.Fatal(err)
			}
			p.Reset()
			if p.Pending() {
				t.Fatalf("%s cut at %d: Pending after Reset", c.name, cut)
			}
			got, _ := parse(t, p, []byte("*1\r\n:1\r\n"), 3)
			if d := diff(array(integer(1)), got); d != "" {
				t.Fatalf("%s cut at %d: after Reset (-want +got):\n%s", c.name, cut, d)
			}
			if p.lim.MaxDepth != 9 {
				t.Fatal("Reset forgot the limits")
			}
		}
	}
}

func TestEmptyInput(t *testing.T) {
	var p Parser
	var v Value
	for range 2 {
		if n, done, err := p.Next(nil, &v); n != 0 || done || err != nil {
			t.Errorf("Next = %d, %v, %v", n, done, err)
		}
		if n, done, err := p.SkipNext(nil); n != 0 || done || err != nil {
			t.Errorf("SkipNext = %d, %v, %v", n, done, err)
		}
		if p.Pending() {
			t.Error("Pending before the first byte")
		}
	}
}
