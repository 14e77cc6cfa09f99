package workload

import (
	"bytes"
	"strconv"
	"testing"
)

func compile(t testing.TB, w *Workload) *Plan {
	t.Helper()
	p, err := w.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// split takes a batch apart into the words of its requests, and fails when it is no run of whole commands.
func split(t testing.TB, b []byte) [][]string {
	t.Helper()
	var all [][]string
	for len(b) > 0 {
		n, rest := header(t, b, '*')
		words := make([]string, n)
		for i := range words {
			size, body := header(t, rest, '$')
			if len(body) < size+2 || string(body[size:size+2]) != "\r\n" {
				t.Fatalf("a bulk string of %d bytes does not end in time: %.80q", size, body)
			}
			words[i], rest = string(body[:size]), body[size+2:]
		}
		all = append(all, words)
		b = rest
	}
	return all
}

func header(t testing.TB, b []byte, kind byte) (n int, rest []byte) {
	t.Helper()
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) < 2 || line[0] != kind {
		t.Fatalf("no header of kind %c: %.80q", kind, b)
	}
	n, err := strconv.Atoi(string(line[1:]))
	if err != nil || n < 0 {
		t.Fatalf("no length: %q", line)
	}
	return n, rest
}

// requests draws n requests and takes them apart.
func requests(t testing.TB, s *Stream, n int) [][]string {
	t.Helper()
	b, tags := s.Batch(n)
	all := split(t, b)
	if len(all) != len(tags) {
		t.Fatalf("%d requests with %d tags", len(all), len(tags))
	}
	return all
}

// all draws a finite stream to its end.
func all(t testing.TB, s *Stream, depth int) [][]string {
	t.Helper()
	var out [][]string
	for {
		more := requests(t, s, depth)
		if len(more) == 0 {
			return out
		}
		out = append(out, more...)
	}
}

func one() Slice { return Slice{Seed: 1, Count: 1} }
