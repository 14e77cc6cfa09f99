package workload

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		keys Keys
		at   int64
		want string
	}{
		{Keys{Count: 1e6, Prefix: "key:", Digits: 12}, 42, "key:000000000042"},
		{Keys{Count: 1e6, Prefix: "memtier-"}, 0, "memtier-0"},
		{Keys{Count: 1e6, Prefix: "memtier-"}, 999_999, "memtier-999999"},
		{Keys{Count: 10, First: 95, Prefix: "u"}, 9, "u104"},
		{Keys{Count: 62 * 62 * 62 * 62, Alphabet: "base62", Digits: 4}, 0, "aaaa"},
		{Keys{Count: 62 * 62 * 62 * 62, Alphabet: "base62", Digits: 4}, 62*62*62*62 - 1, "9999"},
		{Keys{Count: 62 * 62 * 62 * 62, Alphabet: "base62", Digits: 4}, 62, "aaba"},
		{Keys{Count: 256, Alphabet: "hex", Digits: 3}, 255, "0ff"},
		{Keys{Count: 8, Alphabet: "xy"}, 5, "yxy"},
		{Keys{Count: 10, Prefix: "{shop}:", Digits: 2}, 7, "{shop}:07"},
	} {
		w := &Workload{Keys: c.keys, Commands: []Command{{Command: "GET __key__"}}}
		if got := compile(t, w).Key(c.at); got != c.want {
			t.Errorf("key %d of %+v is %q, want %q", c.at, c.keys, got, c.want)
		}
	}
}

// TestNamesDiffer: no two keys have the same name, and each is as long as it is said to be.
func TestNamesDiffer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := Keys{Count: rapid.Int64Range(1, 400).Draw(rt, "count"), First: rapid.Int64Range(0, 1e6).Draw(rt, "first"), Alphabet: rapid.SampledFrom([]string{"", "hex", "base62", "ab", "xyz"}).Draw(rt, "alphabet")}
		switch rapid.IntRange(0, 2).Draw(rt, "form") {
		case 0:
			k.Digits = countDigits(uint64(k.First+k.Count), uint64(len(alphabetOf(k.Alphabet)))) + rapid.IntRange(0, 3).Draw(rt, "pad")
		case 1:
			k.Length = &Size{Kind: Range, Min: 1, Max: 30}
		}
		w := &Workload{Keys: k, Commands: []Command{{Command: "GET __key__"}}}
		p, err := w.Compile()
		if err != nil {
			rt.Fatal(err)
		}
		seen := map[string]int64{}
		for i := range k.Count {
			name := p.Key(i)
			if other, taken := seen[name]; taken {
				rt.Fatalf("keys %d and %d are both %q", other, i, name)
			}
			seen[name] = i
			if k.Digits > 0 && len(name) != k.Digits {
				rt.Fatalf("%q has not %d digits", name, k.Digits)
			}
		}
	})
}

func TestNumbersAsPrinted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.Uint64Range(0, 1e12-1).Draw(rt, "x")
		var twelve [12]byte
		putIndex(twelve[:], x)
		if want := fmt.Sprintf("%012d", x); string(twelve[:]) != want {
			rt.Fatalf("%s, want %s", twelve, want)
		}
		width := rapid.IntRange(1, 25).Draw(rt, "width")
		got := make([]byte, width)
		putDecimal(got, x)
		if want := fmt.Sprintf("%030d", x); string(got) != want[30-width:] {
			rt.Fatalf("%s of %d digits, want the end of %s", got, width, want)
		}
	})
}

func TestKeysOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("alpha\r\nbeta with blanks\n\nγ\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &Workload{Keys: Keys{File: path, Prefix: "p:"}, Commands: []Command{{Command: "GET __key__"}}}
	p := compile(t, w)
	var got []string
	for i := range p.Keys() {
		got = append(got, p.Key(i))
	}
	if diff := cmp.Diff([]string{"p:alpha", "p:beta with blanks", "p:γ"}, got); diff != "" {
		t.Error(diff)
	}
	for _, words := range requests(t, p.Stream(one()), 20) {
		if !strings.HasPrefix(words[1], "p:") {
			t.Errorf("request %q", words)
		}
	}
	for text, want := range map[string]string{"": "no key", "\n\n": "no key", strings.Repeat("x", maxKeyLine+1): "line 1"} {
		if _, err := scanLines(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a file of %d bytes: %v, want %q in it", len(text), err, want)
		}
	}
	w.Keys.File = filepath.Join(t.TempDir(), "none")
	if _, err := w.Compile(); err == nil || !strings.Contains(err.Error(), "keys.file") {
		t.Errorf("a file that is not there: %v", err)
	}
}
