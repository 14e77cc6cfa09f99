package workload

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evenkeel-go/evenkeel/internal/race"
)

// TestBatchesJoin: however the batches are cut, the requests and tags are the same.
func TestBatchesJoin(t *testing.T) {
	shapes := map[string]*Workload{
		"single plain":   {Keys: Keys{Count: 1000}, Commands: []Command{{Command: "GET key:__rand_int__"}}},
		"single":         {Keys: Keys{Count: 1000, Prefix: "k", Digits: 5}, Values: Values{Size: Size{Bytes: 20}}, Commands: []Command{{Command: "SET __key__ __data__"}}},
		"fixed mix":      {Keys: Keys{Count: 1000, Digits: 4}, Values: Values{Size: Size{Bytes: 9}}, Commands: []Command{{Command: "SET __key__ __data__"}, {Command: "GET __key__"}}},
		"changing sizes": {Keys: Keys{Count: 1000}, Values: Values{Size: Size{Kind: Range, Max: 40}}, MissRate: 0.2, Commands: []Command{{Command: "SET x__key__y __data__ EX 5"}, {Command: "GET __key__"}, {Command: "PING", Inline: true}}},
	}
	for name, w := range shapes {
		p := compile(t, w)
		rapid.Check(t, func(rt *rapid.T) {
			const total = 200
			whole, wholeTags := p.Stream(one()).Batch(total)
			var cut []byte
			var cutTags []Tag
			s := p.Stream(one())
			for len(cutTags) < total {
				n := rapid.IntRange(1, total-len(cutTags)).Draw(rt, "n")
				b, tags := s.Batch(n)
				if len(tags) != n {
					rt.Fatalf("%d requests of %d", len(tags), n)
				}
				cut, cutTags = append(cut, b...), append(cutTags, tags...)
			}
			if !bytes.Equal(whole, cut) || !cmp.Equal(wholeTags, cutTags) {
				rt.Fatalf("%s: other requests when cut", name)
			}
		})
		if got := len(split(t, bytes.ReplaceAll(first(p.Stream(one()).Batch(500)), []byte("PING\r\n"), []byte("*1\r\n$4\r\nPING\r\n")))); got != 500 {
			t.Errorf("%s: %d requests of 500", name, got)
		}
	}
}

func first(b []byte, _ []Tag) []byte { return b }

// TestMix: each command comes by its weight, under its class.
func TestMix(t *testing.T) {
	w := &Workload{
		Keys: Keys{Count: 1e6, Digits: 7}, Values: Values{Size: Size{Bytes: 1}},
		Commands: []Command{
			{Command: "get __key__", Weight: 70},
			{Command: "SET __key__ __data__", Weight: 20, TTL: []TTL{{After: Duration(time.Hour), Weight: 3}, {After: Duration(1500 * time.Millisecond), Weight: 1}, {After: 0, Weight: 1}}},
			{Command: "EXPIRE __key__ __ttl__", Weight: 5, TTL: []TTL{{After: Duration(time.Minute)}}},
			{Command: "client  list", Weight: 5, Class: ""},
		},
	}
	p := compile(t, w)
	want := []Class{{Name: "GET", Read: true}, {Name: "SET", Write: true}, {Name: "EXPIRE", Write: true}, {Name: "CLIENT LIST"}}
	if diff := cmp.Diff(want, p.Classes()); diff != "" {
		t.Fatal(diff)
	}
	const draws = 100_000
	b, tags := p.Stream(one()).Batch(draws)
	counts, kinds := make([]int, len(want)), map[string]int{}
	for i, words := range split(t, b) {
		class := p.Classes()[tags[i].Class()]
		if !strings.EqualFold(strings.Fields(class.Name)[0], words[0]) {
			t.Fatalf("%q is of class %s", words, class.Name)
		}
		counts[tags[i].Class()]++
		kinds[words[0]+" "+strings.Join(words[min(3, len(words)):], " ")]++
		if words[0] == "EXPIRE" && words[2] != "60" {
			t.Fatalf("%q", words)
		}
	}
	for i, share := range []float64{0.7, 0.2, 0.05, 0.05} {
		near2(t, want[i].Name, counts[i], draws, share)
	}
	near2(t, "an hour", kinds["SET EX 3600"], draws, 0.12)
	near2(t, "1.5 s", kinds["SET PX 1500"], draws, 0.04)
	near2(t, "no expiry", kinds["SET "], draws, 0.04)
}

// TestSequencesStayWhole: a batch never ends within a sequence, and shared numbers are the same in all of it.
func TestSequencesStayWhole(t *testing.T) {
	w := &Workload{Keys: Keys{Count: 1000}, Values: Values{Size: Size{Bytes: 3}}, Commands: []Command{
		{Command: "MULTI ; 3 SET k:__rand_1st__ __rand_2nd__ ; GET k:__rand_1st__ ; EXEC"}, {Command: "GET other:__rand_int__:__rand_int__"},
	}}
	p := compile(t, w)
	if p.MaxSequence() != 6 {
		t.Errorf("the longest sequence has %d requests", p.MaxSequence())
	}
	s := p.Stream(one())
	for depth := 1; depth < 20; depth++ {
		for range 20 {
			got := requests(t, s, depth)
			if len(got) == 0 || len(got) > max(depth, 6) {
				t.Fatalf("%d requests for %d", len(got), depth)
			}
			for len(got) > 0 {
				if got[0][0] == "GET" {
					if got[0][1][6:18] == got[0][1][19:] {
						t.Fatalf("two numbers drawn alone are the same: %q", got[0])
					}
					got = got[1:]
					continue
				}
				if len(got) < 6 || got[0][0] != "MULTI" || got[5][0] != "EXEC" {
					t.Fatalf("depth %d: a sequence is cut: %q", depth, got)
				}
				for _, words := range got[2:4] {
					if diff := cmp.Diff(got[1], words); diff != "" {
						t.Fatal(diff)
					}
				}
				if got[4][1] != got[1][1] {
					t.Fatalf("%q asks for another key than %q", got[4], got[1])
				}
				got = got[6:]
			}
		}
	}
}

// TestSequentialPlaceholders: each kind of placeholder counts on its own, as in valkey-benchmark.
func TestSequentialPlaceholders(t *testing.T) {
	w := &Workload{Keys: Keys{Count: 50, Dist: Dist{Kind: Sequential}}, Commands: []Command{{Command: "SET j__rand_int__ x ; SET k__rand_1st__ __rand_int__"}}}
	s := compile(t, w).Stream(one())
	keys := map[string]bool{}
	for range 50 {
		got := requests(t, s, 2)
		keys[got[1][1]] = true
		if want := fmt.Sprintf("j%012d", 2*(len(keys)-1)%50); got[0][1] != want {
			t.Fatalf("%q, want %s", got[0], want)
		}
	}
	if len(keys) != 50 {
		t.Errorf("%d keys of 50", len(keys))
	}
}

// TestMisses: the share of reads that go beyond the key space is as asked, and no write does.
func TestMisses(t *testing.T) {
	const keys, draws = 1000, 50_000
	w := &Workload{Keys: Keys{Count: keys, Digits: 4}, Values: Values{Size: Size{Bytes: 3}}, MissRate: 0.3, Commands: []Command{{Command: "GET __key__"}, {Command: "SET __key__ __data__"}}}
	reads, beyond := 0, 0
	for _, words := range requests(t, compile(t, w).Stream(one()), draws) {
		out := words[1] >= "1000"
		if words[0] == "SET" && out {
			t.Fatalf("a write beyond the key space: %q", words)
		}
		if words[0] == "GET" {
			reads++
			if out {
				beyond++
			}
		}
	}
	near2(t, "misses", beyond, reads, 0.3)
}

// TestOwnDistributions: a command's own keys and sizes are its own.
func TestOwnDistributions(t *testing.T) {
	w := &Workload{Keys: Keys{Count: 100, Digits: 3}, Values: Values{Size: Size{Bytes: 3}}, Commands: []Command{
		{Command: "SET __key__ __data__", Dist: &Dist{Kind: Sequential}, Size: &Size{Bytes: 7}}, {Command: "APPEND __key__ __data__"},
	}}
	next := 0
	for _, words := range requests(t, compile(t, w).Stream(one()), 500) {
		switch {
		case words[0] == "SET":
			if words[1] != fmt.Sprintf("%03d", next%100) || len(words[2]) != 7 {
				t.Fatalf("%q, want key %d", words, next%100)
			}
			next++
		case len(words[2]) != 3:
			t.Fatalf("%q", words)
		}
	}
}

func TestBatchDoesNotAllocate(t *testing.T) {
	for _, name := range append(Presets(), "") {
		w := &Workload{Keys: Keys{Count: 1000}, Values: Values{Size: Size{Bytes: 100}}, Verify: true, Commands: []Command{{Command: "SET key:__rand_int__ __data__ ; GET key:__rand_int__"}}}
		if name != "" {
			w = must(Preset(name))
			w.Values.Max = 1 << 10 // the buffer grows to the largest batch there is: soon
			w.Values.Size.Max = min(w.Values.Size.Max, 1<<10)
			for i := range w.Values.Size.Quantiles {
				w.Values.Size.Quantiles[i].Bytes = min(w.Values.Size.Quantiles[i].Bytes, 1<<10)
			}
			w.Values.Size.Bytes = min(w.Values.Size.Bytes, 1<<10)
		}
		s := compile(t, w).Stream(one())
		s.buf = make([]byte, 0, 64*(2<<10)) // the largest batch
		got := testing.AllocsPerRun(100, func() { s.Batch(64) })
		if got > 0 && !race.Enabled {
			t.Errorf("%q: %v allocations a batch", name, got)
		}
	}
}

func TestBatchOfNone(t *testing.T) {
	p := compile(t, &Workload{Commands: []Command{{Command: "PING"}}})
	for _, n := range []int{0, -1} {
		if b, tags := p.Stream(one()).Batch(n); len(b) != 0 || len(tags) != 0 {
			t.Errorf("a batch of %d has %q", n, b)
		}
	}
}
