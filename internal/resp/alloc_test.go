package resp

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/evenkeel-go/evenkeel/internal/race"
)

// hotInputs are replies as they come all day, with the allocations that each may cost.
var hotInputs = []struct {
	name, in     string
	allocs, skip float64
}{
	{"OK", "+OK\r\n", 0, 0},
	{"QUEUED", "+QUEUED\r\n", 0, 0},
	{"PONG", "+PONG\r\n", 0, 0},
	{"integer", ":1\r\n", 0, 0},
	{"large integer", ":9223372036854775807\r\n", 0, 0},
	{"null", "_\r\n", 0, 0},
	{"null bulk", "$-1\r\n", 0, 0},
	{"boolean", "#t\r\n", 0, 0},
	{"double", ",1.5\r\n", 0, 0},
	{"empty", "$0\r\n\r\n", 0, 0},
	{"empty array", "*0\r\n", 0, 0},
	{"bulk of 100", "$100\r\n" + strings.Repeat("x", 100) + "\r\n", 1, 0},
	{"bulk of 100k", "$100000\r\n" + strings.Repeat("x", 100_000) + "\r\n", 1, 0},
	{"error", "-ERR unknown command\r\n", 1, 0},
	{"verbatim", "=8\r\ntxt:abcd\r\n", 1, 0},
	{"MGET of 2", "*2\r\n$3\r\nabc\r\n$3\r\ndef\r\n", 3, 0},
	{"HGETALL of 10", "%10\r\n" + strings.Repeat("$5\r\nhello\r\n$5\r\nworld\r\n", 10), 21, 0},
	{"XRANGE of 2", "*2\r\n" + strings.Repeat("*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\na\r\n$2\r\nbb\r\n", 2), 1 + 2*4, 0},
}

func TestAllocations(t *testing.T) {
	for _, c := range hotInputs {
		in := []byte(c.in)
		var p Parser
		var v Value
		got := testing.AllocsPerRun(50, func() {
			if _, done, err := p.Next(in, &v); !done || err != nil {
				t.Fatal(done, err)
			}
		})
		skipped := testing.AllocsPerRun(50, func() {
			if _, done, err := p.SkipNext(in); !done || err != nil {
				t.Fatal(done, err)
			}
		})
		halves := testing.AllocsPerRun(50, func() {
			for _, part := range [][]byte{in[:len(in)/2], in[len(in)/2:]} {
				if _, _, err := p.SkipNext(part); err != nil {
					t.Fatal(err)
				}
			}
		})
		if race.Enabled {
			continue
		}
		if got > c.allocs {
			t.Errorf("%s: %v allocations, want %v", c.name, got, c.allocs)
		}
		if skipped > c.skip || halves > c.skip {
			t.Errorf("%s: %v allocations skipped, %v in two pieces, want %v", c.name, skipped, halves, c.skip)
		}
	}
}

// A bulk string cut in two by the end of a buffer costs its string, no more.
func TestAllocationsOfSplitBulk(t *testing.T) {
	head, tail := []byte("$100\r\n"+strings.Repeat("x", 60)), []byte(strings.Repeat("x", 40)+"\r\n")
	var p Parser
	var v Value
	got := testing.AllocsPerRun(50, func() {
		feed(t, &p, &v, head)
		feed(t, &p, &v, tail)
	})
	if len(v.Str) != 100 || got > 1 && !race.Enabled {
		t.Errorf("%v allocations for a string of %d bytes, want 1 for 100", got, len(v.Str))
	}
}

type doer struct{ buf []byte }

func (d *doer) Do(args ...any) error {
	b, err := AppendCommand(d.buf[:0], args)
	d.buf = b
	return err
}

// The arguments of a caller's variadic call have to stay on its stack, whatever their values.
func TestAppendCommandDoesNotLetArgumentsEscape(t *testing.T) {
	d := &doer{buf: make([]byte, 0, 1024)}
	key, n, f := "key", 1000, 0.5
	got := testing.AllocsPerRun(100, func() {
		n++
		f *= 1.5
		payload := [4]byte{byte(n), 1, 2, 3}
		if err := d.Do("SET", key+string(payload[:1]), payload[:], n, f, n%2 == 0, uint64(n), int32(n), float32(f), namedInt(n), namedString(key)); err != nil {
			t.Fatal(err)
		}
	})
	if got != 0 && !race.Enabled {
		t.Errorf("%v allocations, want 0", got)
	}
}

func TestSizes(t *testing.T) {
	if got := unsafe.Sizeof(Value{}); got > 80 {
		t.Errorf("a Value takes %d bytes, want at most 80", got)
	}
	if got := unsafe.Sizeof(Parser{}); got > 256 {
		t.Errorf("a Parser takes %d bytes, want at most 256", got)
	}
}
