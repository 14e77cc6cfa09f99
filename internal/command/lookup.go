package command

import "math/bits"

// Lookup finds a command by its name and its first argument, in any case. The argument only matters for container commands (CLIENT, CONFIG, XINFO …) and may be
// anything, or empty, for others. The result is nil for a command that is not in the table, and for a subcommand that is not; a container without an argument
// gives the entry of the container itself. Lookup does not allocate and is safe for concurrent use; the entry is shared and must not be changed.
func Lookup(name, sub string) *Info {
	if len(name) > maxWord {
		return nil
	}
	h := foldHash(0, name)
	info := find(h, name)
	if info == nil || !info.container || sub == "" {
		return info
	}
	if len(sub) <= maxWord {
		if found := findSub(foldHash(foldHash(h, " "), sub), info.Name, sub); found != nil {
			return found
		}
	}
	if info.open {
		return info
	}
	return nil
}

// All calls yield for each entry in the order of the names, until it returns false.
func All(yield func(*Info) bool) {
	for i := range table {
		if !yield(&table[i]) {
			return
		}
	}
}

const (
	maxWord   = 64 // longer than any word of a command's name: bounds the work on words that callers made up
	slotBits  = 11
	slotCount = 1 << slotBits // kept at most half full by the line below, so that a search ends after a step or two
)

const _ = uint(slotCount - 2*len(table))

// slots is an open-addressed hash table of the names: index into table plus one, 0 for a free slot. It is filled once and never changed.
var slots = fillSlots()

func fillSlots() (filled [slotCount]uint16) {
	for i := range table {
		at := slot(foldHash(0, table[i].Name))
		for filled[at] != 0 {
			at = (at + 1) % slotCount
		}
		filled[at] = uint16(i + 1)
	}
	return filled
}

// find searches for the entry called name; h is its hash.
func find(h uint32, name string) *Info {
	for at := slot(h); slots[at] != 0; at = (at + 1) % slotCount {
		if info := &table[slots[at]-1]; foldEqual(info.Name, name) {
			return info
		}
	}
	return nil
}

// findSub searches for a container's subcommand; h is the hash of both words with the space between them.
func findSub(h uint32, container, sub string) *Info {
	n := len(container)
	for at := slot(h); slots[at] != 0; at = (at + 1) % slotCount {
		info := &table[slots[at]-1]
		if name := info.Name; len(name) == n+1+len(sub) && name[n] == ' ' && name[:n] == container && foldEqual(name[n+1:], sub) {
			return info
		}
	}
	return nil
}

// foldHash goes on from h with the bytes of s, ASCII letters in upper case. One rotation per byte is quicker than a multiplication; slot mixes at the end.
func foldHash(h uint32, s string) uint32 {
	for i := range len(s) {
		h = bits.RotateLeft32(h, 5) ^ uint32(upper(s[i]))
	}
	return h
}

// slot spreads a hash over the slots: the golden ratio's high bits depend on all of it.
func slot(h uint32) uint32 { return (h * 0x9E3779B1) >> (32 - slotBits) }

// foldEqual compares word with an upper-case word. It folds ASCII only, as the server does: strings.EqualFold would also take a long s for an S.
func foldEqual(upperCase, word string) bool {
	if len(upperCase) != len(word) {
		return false
	}
	for i := range len(word) {
		if c := word[i]; c != upperCase[i] && upper(c) != upperCase[i] {
			return false
		}
	}
	return true
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}
