package workload

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func reply(value string) []byte { return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(value), value) }

func signedPlan(t *testing.T, size Size) *Plan {
	t.Helper()
	return compile(t, &Workload{Keys: Keys{Count: 1000, Prefix: "k:"}, Values: Values{Size: size, Max: 2 << 20}, Verify: true, Commands: []Command{
		{Command: "SET __key__ __data__"}, {Command: "GET __key__"}, {Command: "STRLEN __key__"},
	}})
}

// TestVerify keeps a store of what a stream writes, and reads from it: all is right until a reply is another key's, cut, longer or damaged.
func TestVerify(t *testing.T) {
	p := signedPlan(t, Size{Kind: Range, Min: 0, Max: 300})
	s, store := p.Stream(one()), map[string]string{}
	for _, words := range all(t, p.Preload(one(), 0), 64) {
		store[words[1]] = words[2]
	}
	if len(store) != 1000 {
		t.Fatalf("%d keys are preloaded", len(store))
	}
	checker := p.Stream(Slice{Seed: 99, Index: 1, Count: 2}) // another worker can check as well
	other := p.Stream(Slice{Seed: 5, Count: 1})
	checked := 0
	for range 200 {
		b, tags := s.Batch(16)
		for i, words := range split(t, b) {
			if words[0] == "SET" {
				store[words[1]] = words[2]
				continue
			}
			value := store[words[1]]
			if err := checker.Verify(tags[i], reply(value)); err != nil {
				t.Fatalf("%q: %v", words, err)
			}
			if words[0] != "GET" || len(value) < signature {
				continue
			}
			checked++
			faults(t, other, tags[i], value, store)
		}
	}
	if checked < 500 {
		t.Errorf("only %d values were checked", checked)
	}
}

func faults(t *testing.T, s *Stream, tag Tag, value string, store map[string]string) {
	t.Helper()
	expect := func(b []byte, want Fault) {
		t.Helper()
		var e *VerifyError
		if err := s.Verify(tag, b); !errors.As(err, &e) || e.Fault != want || strings.Contains(e.Error(), "%!") {
			t.Fatalf("%.40q: %v, want %s", b, err, want)
		}
	}
	for _, v := range store {
		if len(v) >= signature && v[:keyChars] != value[:keyChars] {
			expect(reply(v), WrongKey)
			break
		}
	}
	if len(value) > signature {
		expect(reply(value[:len(value)-1]), WrongSize)
	}
	expect(reply(value+"x"), WrongSize)
	damaged := []byte(value)
	damaged[len(damaged)-1] ^= 1
	expect(reply(string(damaged)), Corrupted)
	expect(reply(strings.Repeat("x", len(value))), Corrupted)
	expect([]byte(":1\r\n"), NotAValue)
	expect([]byte("$5\r\nab"), NotAValue)
	for _, fine := range []string{"$-1\r\n", "_\r\n", "-LOADING wait\r\n", "!5\r\n-OOPS\r\n", ""} {
		if err := s.Verify(tag, []byte(fine)); err != nil {
			t.Fatalf("%q: %v", fine, err)
		}
	}
}

// TestSignedValues: any two keys or sizes give values that are told apart, and sizes over the text's length work too.
func TestSignedValues(t *testing.T) {
	c := newContents(&Values{Compressible: 0.5}, true)
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(slabSize-20, 2*slabSize+20)).Draw(rt, "size")
		key, other := rapid.Uint64Range(0, 2e15).Draw(rt, "key"), rapid.Uint64Range(0, 2e15).Draw(rt, "other")
		a, b := make([]byte, size), make([]byte, size)
		c.fillSigned(a, key)
		c.fillSigned(b, other)
		if err := c.check(a, key); err != nil {
			rt.Fatal(err)
		}
		if key != other && size >= signature && c.check(b, key) == nil {
			rt.Fatalf("the value of key %d passes for key %d's", other, key)
		}
		if k, n, ok := readSignature(a); size >= signature && (!ok || k != key || n != uint64(size)) {
			rt.Fatalf("the signature says key %d, size %d, %v", k, n, ok)
		}
		if size > 0 {
			at := rapid.IntRange(0, size-1).Draw(rt, "at")
			a[at] ^= 0x55
			var e *VerifyError
			if err := c.check(a, key); !errors.As(err, &e) || e.Fault == Corrupted && e.At != at {
				rt.Fatalf("damage at %d of %d: %v", at, size, err)
			}
		}
	})
}

func TestContents(t *testing.T) {
	r := newRandom(1, 1)
	same := newContents(&Values{Same: true}, false)
	five := make([]byte, 5)
	same.fill(five, &r, 0)
	if string(five) != "VXKeH" {
		t.Errorf("%q is not what redis-benchmark fills values with", five)
	}
	for _, share := range []float64{0, 0.25, 1} {
		c := newContents(&Values{Compressible: share}, false)
		value := make([]byte, 1<<20)
		c.fill(value, &r, 0)
		got := float64(bytes.Count(value, []byte("x"))) / float64(len(value))
		if got < share-0.01 || got > share+0.02 { // an x comes by chance, too
			t.Errorf("share %v is %v", share, got)
		}
	}
}
