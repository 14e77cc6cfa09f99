package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPreloadWritesEachKeyOnce: over all slices, in any batches, also when it is broken off and taken up again.
func TestPreloadWritesEachKeyOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.Int64Range(1, 300).Draw(rt, "keys")
		count := rapid.IntRange(1, 9).Draw(rt, "count")
		w := &Workload{Keys: Keys{Count: keys}, Values: Values{Size: Size{Kind: Range, Max: 9}}, Commands: []Command{{Command: "GET a:__key__:z"}, {Command: "SET a:__key__:z __data__"}}}
		p := compile(t, w)
		seen, sum := map[string]int{}, int64(0)
		for i := range count {
			s := Slice{Seed: 3, Index: i, Count: count}
			sum += p.PreloadCount(s)
			stop := rapid.Int64Range(0, p.PreloadCount(s)).Draw(rt, "stop")
			st, done := p.Preload(s, 0), int64(0)
			for done < stop {
				got := requests(t, st, int(min(stop-done, 7)))
				done += int64(len(got))
				for _, words := range got {
					seen[words[0]+" "+words[1]]++
				}
			}
			for _, words := range all(t, p.Preload(s, stop), rapid.IntRange(1, 50).Draw(rt, "depth")) {
				seen[words[0]+" "+words[1]]++
			}
		}
		if sum != keys || len(seen) != int(keys) {
			rt.Fatalf("%d keys, %d counted, %d written", keys, sum, len(seen))
		}
		for i := range keys {
			if k := fmt.Sprintf("SET a:%d:z", i); seen[k] != 1 {
				rt.Fatalf("%s comes %d times", k, seen[k])
			}
		}
	})
}

// TestWhatIsPreloaded: only what suits all commands.
func TestWhatIsPreloaded(t *testing.T) {
	for _, c := range []struct {
		commands string
		preload  string
		want     string
		cleanup  string
		literal  string
	}{
		{"GET __key__", "", "SET 0 xxx", "UNLINK 0", ""},
		{"MGET k:__rand_int__ k:__rand_int__", "", "SET k:000000000000 xxx", "UNLINK k:000000000000", ""},
		{"HGET __key__ f", "", "", "UNLINK 0", ""},
		{"HGET __key__ f", "HSET __key__ f __data__ ; EXPIRE __key__ 9", "HSET 0 f xxx|EXPIRE 0 9", "UNLINK 0", ""},
		{"GET __key__|INCR n:__key__|LPUSH mylist x", "", "SET 0 xxx", "UNLINK 0|UNLINK n:0", "mylist"},
		{"GET __key__|INCR __key__", "", "", "UNLINK 0", ""},
		{"PING", "", "", "", ""},
	} {
		w := &Workload{Keys: Keys{Count: 1}, Values: Values{Size: Size{Bytes: 3}, Compressible: 1}, Preload: c.preload}
		for line := range strings.SplitSeq(c.commands, "|") {
			w.Commands = append(w.Commands, Command{Command: line})
		}
		p := compile(t, w)
		if got := joined(all(t, p.Preload(one(), 0), 8)); got != c.want || p.CanPreload() != (c.want != "") {
			t.Errorf("%s: preload %q, want %q", c.commands, got, c.want)
		}
		if got := joined(all(t, p.Cleanup(one(), 0), 8)); got != c.cleanup {
			t.Errorf("%s: clean-up %q, want %q", c.commands, got, c.cleanup)
		}
		if got := strings.Join(p.LiteralKeys(), "|"); got != c.literal {
			t.Errorf("%s: literal keys %q, want %q", c.commands, got, c.literal)
		}
	}
}

func joined(requests [][]string) string {
	lines := make([]string, len(requests))
	for i, words := range requests {
		lines[i] = strings.Join(words, " ")
	}
	return strings.Join(lines, "|")
}

// TestPreloadClasses: a preload's tags are of its own classes.
func TestPreloadClasses(t *testing.T) {
	p := compile(t, &Workload{Keys: Keys{Count: 5}, Values: Values{Size: Size{Bytes: 3}}, Commands: []Command{{Command: "GET __key__"}}})
	s := p.Preload(one(), 0)
	_, tags := s.Batch(1)
	if got := s.Classes()[tags[0].Class()]; got.Name != "SET" || !got.Write {
		t.Errorf("a preload is of class %+v", got)
	}
	if slices.ContainsFunc(p.Classes(), func(c Class) bool { return c.Name != "GET" }) {
		t.Errorf("the plan's classes are %+v", p.Classes())
	}
}
