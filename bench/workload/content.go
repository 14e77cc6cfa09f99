package workload

import (
	"bytes"
	"fmt"
)

// slabSize is the period of the text that values are cut from: small enough to stay in a processor's cache, longer than any server's or
// file format's compression window but the largest.
const slabSize = 256 << 10

// contents makes values: pieces of one text that all streams share.
type contents struct {
	slab   []byte // the text twice, so that a piece may begin anywhere
	same   bool
	verify bool
}

// newContents writes the text. Its characters are those with which redis-benchmark fills values, in the same order, so that "same" gives the same bytes. Of each 64,
// the first compressible·64 are one letter.
func newContents(v *Values, verify bool) contents {
	const block = 64
	plain := int(v.Compressible*block + 0.5)
	slab := make([]byte, 2*slabSize)
	state := uint32(1234)
	for i := range slabSize {
		state = state*1103515245 + 12345
		slab[i] = '0' + byte(state>>16&63)
		if i%block < plain {
			slab[i] = 'x'
		}
	}
	copy(slab[slabSize:], slab[:slabSize])
	return contents{slab: slab, same: v.Same, verify: verify}
}

// fill writes a value for a key.
func (c *contents) fill(dst []byte, r *random, key uint64) {
	switch {
	case c.verify:
		c.fillSigned(dst, key)
	case c.same:
		c.cut(dst, 0)
	default:
		c.cut(dst, r.next())
	}
}

// cut copies a piece of the text that begins at from, which may be any number; what is longer than the text repeats it.
func (c *contents) cut(dst []byte, from uint64) {
	from %= slabSize
	for len(dst) > 0 {
		dst = dst[copy(dst, c.slab[from:from+slabSize]):]
	}
}

// A signed value depends on its key and its size and on nothing else. From signature bytes on it begins with both, so that a reply can be told to be
// another key's or cut; what follows, and all of a shorter value, begins at a place of the text that both decide, so that damage shows anywhere. A value of
// 1 or 2 bytes can be right by chance.
const (
	signature = 16
	keyChars  = 9 // 6 bits each: 2^54 keys
	sizeChars = 5 // 2^30 bytes
)

func (c *contents) fillSigned(dst []byte, key uint64) {
	size := len(dst)
	if size >= signature {
		sign((*[signature]byte)(dst), key, uint64(size))
		dst = dst[signature:]
	}
	c.cut(dst, hash2(key, uint64(size)))
}

func sign(dst *[signature]byte, key, size uint64) {
	check := hash2(key, ^size)
	for i := range keyChars {
		dst[i] = '0' + byte(key>>(6*i)&63)
	}
	for i := range sizeChars {
		dst[keyChars+i] = '0' + byte(size>>(6*i)&63)
	}
	dst[14], dst[15] = '0'+byte(check&63), '0'+byte(check>>6&63)
}

// readSignature gives the key and the size that a value says it has; ok is false when there is none.
func readSignature(value []byte) (key, size uint64, ok bool) {
	if len(value) < signature {
		return 0, 0, false
	}
	for i := range keyChars {
		key |= uint64((value[i]-'0')&63) << (6 * i)
	}
	for i := range sizeChars {
		size |= uint64((value[keyChars+i]-'0')&63) << (6 * i)
	}
	var want [signature]byte
	sign(&want, key, size)
	return key, size, bytes.Equal(want[:], value[:signature])
}

// check compares a value with what its key's must be.
func (c *contents) check(value []byte, key uint64) error {
	if c.matches(value, key) {
		return nil
	}
	e := &VerifyError{Key: int64(key), Size: len(value), At: -1, Fault: Corrupted}
	owner, size, ok := readSignature(value)
	switch {
	case ok && owner != key:
		e.Fault, e.Owner = WrongKey, int64(owner)
	case ok && int(size) != len(value):
		e.Fault, e.Want = WrongSize, int(size)
	default:
		e.At = c.firstDifference(value, key)
	}
	return e
}

func (c *contents) matches(value []byte, key uint64) bool {
	size := len(value)
	if size >= signature {
		var want [signature]byte
		sign(&want, key, uint64(size))
		if !bytes.Equal(want[:], value[:signature]) {
			return false
		}
		value = value[signature:]
	}
	from := hash2(key, uint64(size)) % slabSize
	for len(value) > 0 {
		n := min(len(value), slabSize)
		if !bytes.Equal(value[:n], c.slab[from:from+uint64(n)]) {
			return false
		}
		value = value[n:]
	}
	return true
}

func (c *contents) firstDifference(value []byte, key uint64) int {
	want := make([]byte, len(value))
	c.fillSigned(want, key)
	for i := range value {
		if value[i] != want[i] {
			return i
		}
	}
	return -1
}

// Fault says in which way a read value is wrong.
type Fault string

// The faults.
const (
	// WrongKey: the value was written for another key.
	WrongKey Fault = "wrong key"
	// WrongSize: the value was cut, or something was added to it.
	WrongSize Fault = "wrong size"
	// Corrupted: the value differs from what was written, or was not written by this workload.
	Corrupted Fault = "corrupted"
	// NotAValue: the reply is no string at all, or no whole reply.
	NotAValue Fault = "not a value"
)

// VerifyError says what is wrong with a value that was read.
type VerifyError struct {
	Fault Fault
	// Key is the number of the key that was asked for, from 0; Size is how many bytes came.
	Key  int64
	Size int
	// Owner is the key whose value came, for WrongKey. Want is the size that the value was written with, for WrongSize.
	Owner int64
	Want  int
	// At is the first byte that differs, for Corrupted; otherwise -1.
	At int
}

// Error implements error.
func (e *VerifyError) Error() string {
	switch e.Fault {
	case WrongKey:
		return fmt.Sprintf("key number %d: the value of key number %d came back", e.Key, e.Owner)
	case WrongSize:
		return fmt.Sprintf("key number %d: %d bytes came back of a value of %d", e.Key, e.Size, e.Want)
	case NotAValue:
		return fmt.Sprintf("key number %d: the reply is no value", e.Key)
	default:
		return fmt.Sprintf("key number %d: a value of %d bytes differs from what this workload writes at byte %d", e.Key, e.Size, e.At)
	}
}
