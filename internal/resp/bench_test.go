package resp

import (
	"strings"
	"testing"
)

func BenchmarkNext(b *testing.B) {
	for _, c := range hotInputs {
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
	for _, c := range hotInputs {
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
