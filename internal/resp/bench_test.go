package resp

import (
	"strings"
	"testing"
)

var benchInputs = []struct {
	name, in string
	allocs   float64
}{
	{"ok", "+OK\r\n", 0},
	{"int", ":1\r\n", 0},
	{"null", "$-1\r\n", 0},
	{"bulk100", "$100\r\n" + strings.Repeat("x", 100) + "\r\n", 1},
	{"mget2", "*2\r\n$3\r\nabc\r\n$3\r\ndef\r\n", 3},
	{"hgetall20", "*20\r\n" + strings.Repeat("$5\r\nhello\r\n$5\r\nworld\r\n", 10), 21},
	{"error", "-ERR unknown command\r\n", 1},
	{"double", ",1.5\r\n", 0},
}

func BenchmarkNext(b *testing.B) {
	for _, c := range benchInputs {
		b.Run(c.name, func(b *testing.B) {
			var p Parser
			var v Value
			in := []byte(c.in)
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if _, done, err := p.Next(in, &v); !done || err != nil {
					b.Fatal(done, err)
				}
			}
		})
	}
}

func BenchmarkSkipNext(b *testing.B) {
	for _, c := range benchInputs {
		b.Run(c.name, func(b *testing.B) {
			var p Parser
			in := []byte(c.in)
			b.ReportAllocs()
			for b.Loop() {
				if _, done, err := p.SkipNext(in); !done || err != nil {
					b.Fatal(done, err)
				}
			}
		})
	}
}

func BenchmarkAppendCommand(b *testing.B) {
	buf := make([]byte, 0, 1024)
	val := strings.Repeat("v", 100)
	do := func(args ...any) {
		var err error
		buf, err = AppendCommand(buf[:0], args)
		if err != nil {
			b.Fatal(err)
		}
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		do("SET", "key:000000000001", val, "EX", i)
	}
}
