package workload

import (
	"errors"
	"strings"
	"testing"
)

func TestSlot(t *testing.T) {
	for key, want := range map[string]uint16{
		"123456789": 0x31C3 % Slots, "foo": 12182, "bar": 5061, "": 0,
		"{foo}.a": 12182, "a{foo}b{bar}": 12182, "{}foo": 0, "a{b": 0, "{{foo}}": 0,
	} {
		switch key {
		case "{}foo", "a{b", "{{foo}}": // no tag, or one with a brace in it: the tag is what stands between the first { and the next }
			want = slotOf(strings.TrimSuffix(strings.Replace(key, "{{foo}}", "{foo", 1), "}"))
		}
		if got := Slot([]byte(key)); got != want {
			t.Errorf("%q is in slot %d, want %d", key, got, want)
		}
	}
	tags := hashTags()
	for slot := range tags {
		if got := Slot(append(append([]byte("key:"), tags[slot][:]...), ":7"...)); int(got) != slot {
			t.Fatalf("%s is in slot %d, want %d", tags[slot], got, slot)
		}
	}
}

// slotOf hashes all of a key, bit by bit.
func slotOf(key string) uint16 {
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			over := crc & 0x8000
			if crc <<= 1; over != 0 {
				crc ^= 0x1021
			}
		}
	}
	return crc % Slots
}

// TestRoutedStreams: three nodes' streams send only keys of their own slots, and together preload and remove each key once.
func TestRoutedStreams(t *testing.T) {
	w := &Workload{Keys: Keys{Count: 600}, Values: Values{Size: Size{Kind: Range, Max: 20}}, Commands: []Command{
		{Command: "SET __key__ __data__"},
		{Command: "GET k:__rand_int__"},
		{Command: "MSET {tag}:__key__ __data__ {tag}:__key__ __data__"},
		{Command: "MULTI ; INCR a{tag} ; INCR b{tag} ; EXEC"},
		{Command: "PING"},
	}, Preload: "SET __key__ __data__"}
	p := compile(t, w)
	preloaded, removed := map[string]int{}, map[string]int{}
	for node := range uint16(3) {
		owns := func(slot uint16) bool { return slot/5462 == node }
		s, err := p.StreamForSlots(one(), owns)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, words := range requests(t, s, 2000) {
			seen[words[0]]++
			for _, k := range keyWords(words) {
				if !owns(Slot([]byte(k))) {
					t.Fatalf("node %d gets %q", node, words)
				}
			}
		}
		if len(seen) != 7 {
			t.Errorf("node %d gets %v", node, seen)
		}
		for _, words := range all(t, p.PreloadForSlots(one(), 0, owns), 32) {
			preloaded[words[1]]++
		}
		for _, words := range all(t, p.CleanupForSlots(one(), 0, owns), 32) {
			removed[words[1]]++
		}
	}
	if len(preloaded) != 600 {
		t.Errorf("%d keys are preloaded", len(preloaded))
	}
	for k, n := range preloaded {
		if n != 1 || removed[k] != 1 {
			t.Errorf("%s is written %d times and removed %d times", k, n, removed[k])
		}
	}
	w.Commands = []Command{{Command: "MGET __key__ __key__"}}
	var field *FieldError
	if _, err := compile(t, w).StreamForSlots(one(), func(uint16) bool { return true }); !errors.As(err, &field) || !strings.Contains(field.Problem, "{tag}") {
		t.Errorf("several keys in any slots: %v", err)
	}
	w.Commands = []Command{{Command: "GET nowhere"}}
	s, err := compile(t, w).StreamForSlots(one(), func(slot uint16) bool { return slot == 0 })
	if err != nil || len(requests(t, s, 1)) != 1 {
		t.Errorf("a key that the node does not have: %v", err)
	}
}
