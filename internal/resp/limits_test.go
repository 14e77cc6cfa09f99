package resp

import (
	"math"
	"runtime"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	line := Limits{MaxLine: 70}
	small := Limits{MaxDepth: 2, MaxBulk: 4, MaxElems: 5, MaxTotal: 60}
	for _, c := range []struct {
		name, in string
		lim      Limits
		offset   int64
		msg      string // "" when the value passes
	}{
		{"depth at the limit", "*1\r\n*1\r\n:1\r\n", small, 0, ""},
		{"depth beyond", "*1\r\n*1\r\n*1\r\n:1\r\n", small, 8, "deeper"},
		{"depth beyond, empty", "*1\r\n*1\r\n*0\r\n", small, 8, "deeper"},
		{"depth beyond, attribute", "*1\r\n*1\r\n|1\r\n:1\r\n:1\r\n:1\r\n", small, 8, "deeper"},
		{"depth beyond, streamed", "*?\r\n*?\r\n*?\r\n", small, 8, "deeper"},
		{"line at the limit", "+" + strings.Repeat("a", 70) + "\r\n", line, 0, ""},
		{"line beyond", "+" + strings.Repeat("a", 71) + "\r\n", line, 0, "line"},
		{"line beyond with LF later", "-" + strings.Repeat("a", 71) + "\n", line, 0, "line"},
		{"line without end", "-" + strings.Repeat("a", 99), line, 0, "line"},
		{"line limit below the least", "(" + strings.Repeat("1", 64) + "\r\n", Limits{MaxLine: 1}, 0, ""},
		{"header beyond", "*" + strings.Repeat("0", 65) + "\r\n", Limits{}, 0, "line"},
		{"bulk at the limit", "$4\r\nabcd\r\n", small, 0, ""},
		{"bulk beyond", "$5\r\n", small, 0, "string is longer"},
		{"blob error beyond", "!5\r\n", small, 0, "string is longer"},
		{"verbatim beyond", "=5\r\n", small, 0, "string is longer"},
		{"streamed string at the limit", "$?\r\n;2\r\nab\r\n;2\r\ncd\r\n;0\r\n", small, 0, ""},
		{"streamed string beyond", "$?\r\n;2\r\nab\r\n;3\r\n", small, 12, "string is longer"},
		{"elements at the limit", "*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", small, 0, ""},
		{"elements beyond", "*6\r\n", small, 0, "more elements"},
		{"pairs at the limit", "%2\r\n:1\r\n:1\r\n:1\r\n:1\r\n", small, 0, ""},
		{"pairs beyond", "%3\r\n", small, 0, "more elements"},
		{"attributes beyond", "|3\r\n", small, 0, "more elements"},
		{"streamed elements at the limit", "*?\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n.\r\n", small, 0, ""},
		{"streamed elements beyond", "*?\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", small, 24, "more elements"},
		{"streamed pairs at the limit", "%?\r\n:1\r\n:1\r\n:1\r\n:1\r\n.\r\n", small, 0, ""},
		{"streamed pairs beyond", "%?\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", small, 20, "more elements"},
		{"total at the limit", "*2\r\n$20\r\n" + strings.Repeat("a", 20) + "\r\n$19\r\n" + strings.Repeat("b", 19) + "\r\n", Limits{MaxTotal: 57}, 0, ""},
		{"total beyond by one", "*2\r\n$20\r\n" + strings.Repeat("a", 20) + "\r\n$19\r\n", Limits{MaxTotal: 56}, 31, "larger"},
		{"total beyond in a single bulk", "$20\r\n" + strings.Repeat("a", 20) + "\r\n", Limits{MaxTotal: 26}, 0, "larger"},
		{"total beyond by lines", "*3\r\n:1\r\n:1\r\n:1\r\n", Limits{MaxTotal: 15}, 15, "larger"},
		{"total beyond by attributes", strings.Repeat("|1\r\n:1\r\n:1\r\n", 9), Limits{MaxTotal: 50}, 50, "larger"},
		{"total beyond in a simple string", "+OK\r\n", Limits{MaxTotal: 4}, 4, "larger"},
		{"total beyond in a streamed string", "$?\r\n;9\r\nabcdefghi\r\n;9\r\n", Limits{MaxTotal: 30}, 19, "larger"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for piece := 1; piece <= len(c.in); piece++ {
				p := NewParser(c.lim)
				if c.msg != "" {
					checkFails(t, p, c.in, piece, c.offset, c.msg)
					continue
				}
				if _, rest := parse(t, p, []byte(c.in), piece); len(rest) != 0 {
					t.Fatalf("left %q", rest)
				}
			}
		})
	}
}

func TestLimitsDefault(t *testing.T) {
	want := Limits{DefaultMaxDepth, DefaultMaxLine, DefaultMaxBulk, DefaultMaxElems, DefaultMaxTotal}
	for _, l := range []Limits{{}, {-1, -1, -1, -1, -1}} {
		if got := NewParser(l).lim; got != want {
			t.Errorf("limits %+v, want %+v", got, want)
		}
	}
	// The zero Parser has them too.
	for _, in := range []string{
		strings.Repeat("*1\r\n", DefaultMaxDepth+1),
		"+" + strings.Repeat("a", DefaultMaxLine+1),
		"$536870913\r\n",
		"*134217729\r\n",
	} {
		var v Value
		if _, _, err := new(Parser).Next([]byte(in), &v); err == nil {
			t.Errorf("%.20q passed", in)
		}
	}
	deep := strings.Repeat("*1\r\n", DefaultMaxDepth) + ":1\r\n"
	if v, _ := parse(t, new(Parser), []byte(deep), math.MaxInt); v.Kind != KindArray {
		t.Errorf("the deepest legal value is a %v", v.Kind)
	}
}

// A header that lies about what follows must cost no more than a little beyond what has arrived.
func TestLyingHeadersAllocateLittle(t *testing.T) {
	for _, c := range []struct {
		name, in string
		most     uint64 // bytes
	}{
		{"bulk", "$536870912\r\n", 32 << 10},
		{"bulk with a byte", "$536870912\r\na", 128 << 10},
		{"verbatim", "=536870912\r\ntxt:", 128 << 10},
		{"chunk", "$?\r\n;536870912\r\na", 128 << 10},
		{"array", "*134217728\r\n", 64 << 10},
		{"map", "%67108864\r\n", 64 << 10},
		{"set", "~134217728\r\n:1\r\n", 64 << 10},
		{"push", ">134217728\r\n", 64 << 10},
		{"attribute", "|67108864\r\n:1\r\n", 64 << 10},
		{"array of elements", "*134217728\r\n" + strings.Repeat(":1\r\n", 10_000), 4 << 20},
		{"nested as deep as can be", strings.Repeat("*134217728\r\n", DefaultMaxDepth), 1 << 20},
		{"nested with much behind", strings.Repeat("*134217728\r\n", DefaultMaxDepth) + strings.Repeat(":1\r\n", 16_000), 8 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in)
			var p Parser
			var v Value
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			n, done, err := p.Next(in, &v)
			runtime.ReadMemStats(&after)
			if n != len(in) || done || err != nil {
				t.Fatalf("Next = %d, %v, %v", n, done, err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > c.most {
				t.Errorf("allocated %d bytes for %d received, want at most %d", got, len(in), c.most)
			}
			runtime.KeepAlive(&p)
		})
	}
}

// A payload that arrives in pieces costs at most about three times its size in all, and its string wastes nothing.
func TestLargePayloadGrowth(t *testing.T) {
	const size = 8 << 20
	piece := make([]byte, 16<<10)
	var p Parser
	var v Value
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	feed(t, &p, &v, []byte("$8388608\r\n"))
	for range size / len(piece) {
		feed(t, &p, &v, piece)
	}
	if cap(p.bulk) != size {
		t.Errorf("the buffer has room for %d bytes, want %d", cap(p.bulk), size)
	}
	feed(t, &p, &v, []byte("\r\n"))
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 3*size {
		t.Errorf("allocated %d bytes in all for a payload of %d", got, size)
	}
	if len(v.Str) != size || p.bulk != nil {
		t.Errorf("a string of %d bytes, parser keeps %d", len(v.Str), cap(p.bulk))
	}
}

// A streamed string of many small chunks must not be copied for each of them.
func TestStreamedStringGrowth(t *testing.T) {
	const chunks = 20_000
	in := []byte("$?\r\n" + strings.Repeat(";10\r\n0123456789\r\n", chunks) + ";0\r\n")
	var p Parser
	var v Value
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	feed(t, &p, &v, in)
	runtime.ReadMemStats(&after)
	if v.Str != strings.Repeat("0123456789", chunks) {
		t.Error("the string was garbled")
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 6*10*chunks {
		t.Errorf("allocated %d bytes in all for a string of %d", got, 10*chunks)
	}
}

// feed gives all of b to p, which must take it without an error.
func feed(t *testing.T, p *Parser, v *Value, b []byte) {
	t.Helper()
	if n, _, err := p.Next(b, v); n != len(b) || err != nil {
		t.Fatalf("Next = %d of %d, %v", n, len(b), err)
	}
}

// Between values a parser holds nothing of what it read, and little of its own: every idle connection has one.
func TestIdleParserIsSmall(t *testing.T) {
	var p Parser
	var v Value
	feed(t, &p, &v, []byte(strings.Repeat("*1\r\n", 100)))
	feed(t, &p, &v, []byte("+"+strings.Repeat("x", 100_000)))
	feed(t, &p, &v, []byte("\r\n"))
	if p.Pending() || cap(p.line) > keepLine || cap(p.stack) > keepStack || p.bulk != nil || p.attrs != nil {
		t.Errorf("an idle parser keeps a line of %d, %d frames, %d payload bytes, %d attributes",
			cap(p.line), cap(p.stack), cap(p.bulk), cap(p.attrs))
	}
	for _, f := range p.stack[:cap(p.stack)] {
		if f.elems != nil || f.attrs != nil {
			t.Error("an idle parser keeps elements")
		}
	}
}
