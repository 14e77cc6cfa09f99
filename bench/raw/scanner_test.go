package raw

import (
	"testing"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// FuzzScanner: however the bytes are cut, the scanner finds the values that the parser finds,
// as long, and stops no later than it at what is no value.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		"+OK\r\n", "-ERR no\r\n", ":12\r\n", "$5\r\nhello\r\n", "$-1\r\n", "*2\r\n$1\r\na\r\n*-1\r\n", "%1\r\n+a\r\n:1\r\n", "~1\r\n,1.5\r\n", "#t\r\n_\r\n(99\r\n",
		"=8\r\ntxt:text\r\n", ">2\r\n+message\r\n$1\r\nx\r\n", "|1\r\n+k\r\n+v\r\n+OK\r\n", "!5\r\nERR a\r\n", "*?\r\n+a\r\n.\r\n", "$?\r\n;1\r\na\r\n;0\r\n",
	} {
		f.Add([]byte(seed+"+OK\r\n"), uint16(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		var parser resp.Parser
		var ends []int
		var kinds []outcome
		broken := false
		for at := 0; at < len(data); {
			var v resp.Value
			used, done, err := parser.Next(data[at:], &v)
			at += used
			if err != nil {
				broken = true
				break
			}
			if !done {
				break
			}
			o, _ := classify(&v)
			ends, kinds = append(ends, at), append(kinds, o)
		}
		var s scanner
		found, at := 0, 0
		step := max(int(cut)%(len(data)+1), 1)
		for from := 0; from < len(data); from += step {
			for b := data[from:min(from+step, len(data))]; len(b) > 0; {
				n, o, _, err := s.next(b)
				if err != nil {
					if !broken {
						t.Fatalf("%q: %v, and the parser takes it", data, err)
					}
					return
				}
				b, at = b[n:], at+n
				if o == unfinished {
					continue
				}
				if found == len(ends) {
					if broken {
						return // what it passes over, such as the text of a number, it does not read
					}
					t.Fatalf("%q: a value more than the parser's, at %d", data, at)
				}
				if at != ends[found] || o != kinds[found] {
					t.Fatalf("%q: value %d ends at %d as %v, the parser's at %d as %v", data, found, at, o, ends[found], kinds[found])
				}
				found++
			}
		}
		if found < len(ends) {
			t.Fatalf("%q: %d values, the parser has %d", data, found, len(ends))
		}
	})
}
