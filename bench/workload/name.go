package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// naming gives each key number its name. It never changes.
type naming struct {
	prefix   string
	first    uint64
	digits   int // of the number; 0: as many as it takes
	alphabet string
	base     uint64
	pairs    []byte // two characters for each number below base², or nil
	lengths  *sizer // of whole keys; nil: digits says it
	least    int    // digits that tell all keys apart
	lines    lines
	literal  bool
}

// maxKey is the longest key that a Size of keys may draw, in bytes.
const maxKey = 512

// alphabets by name.
const (
	decimal = "0123456789"
	hex     = "0123456789abcdef"
	base62  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)

func alphabetOf(name string) string {
	switch name {
	case "", "decimal":
		return decimal
	case "hex":
		return hex
	case "base62":
		return base62
	default:
		return name
	}
}

// newNaming takes validated keys; span is how many numbers can be asked for, those of misses included.
func newNaming(k *Keys, span uint64) (naming, error) {
	n := naming{prefix: k.Prefix, first: uint64(k.First), digits: k.Digits, alphabet: alphabetOf(k.Alphabet), literal: k.Literal}
	n.base = uint64(len(n.alphabet))
	n.least = 1
	if span > 0 {
		n.least = countDigits(n.first+span-1, n.base)
	}
	if n.base <= 128 {
		n.pairs = make([]byte, 0, 2*n.base*n.base)
		for i := range n.alphabet {
			for j := range n.alphabet {
				n.pairs = append(n.pairs, n.alphabet[i], n.alphabet[j])
			}
		}
	}
	if k.Length != nil {
		z := newSizer(k.Length, maxKey)
		n.lengths = &z
	}
	if k.File == "" {
		return n, nil
	}
	l, err := readLines(k.File)
	n.lines = l
	return n, err
}

func countDigits(x, base uint64) int {
	n := 1
	for ; x >= base; x /= base {
		n++
	}
	return n
}

// fixed gives the length of all names; ok is false when they differ.
func (n *naming) fixed() (size int, ok bool) {
	if n.lines.count() > 0 || n.lengths != nil || n.digits == 0 {
		return 0, false
	}
	return len(n.prefix) + n.digits, true
}

// size is the length of one key's name.
func (n *naming) size(key uint64) int {
	switch {
	case n.lines.count() > 0:
		return len(n.prefix) + len(n.lines.at(key))
	case n.lengths != nil:
		return max(n.lengths.at(open(hash64(key+1))), len(n.prefix)+n.least)
	case n.digits == 0:
		return len(n.prefix) + countDigits(n.first+key, n.base)
	default:
		return len(n.prefix) + n.digits
	}
}

// write puts a key's name into dst, which is as long as the name.
func (n *naming) write(dst []byte, key uint64) {
	dst = dst[copy(dst, n.prefix):]
	switch {
	case n.lines.count() > 0:
		copy(dst, n.lines.at(key))
	case n.base == 10 && n.alphabet == decimal:
		putDecimal(dst, n.first+key)
	default:
		n.putNumber(dst, n.first+key)
	}
}

// putNumber fills dst from the right with the digits of x, two at a time, and with the first character of the alphabet where none are left.
func (n *naming) putNumber(dst []byte, x uint64) {
	i := len(dst)
	if n.pairs != nil {
		for square := n.base * n.base; i >= 2; i -= 2 {
			q := x / square
			p := 2 * (x - q*square)
			dst[i-2], dst[i-1] = n.pairs[p], n.pairs[p+1]
			x = q
		}
	}
	for ; i > 0; i-- {
		q := x / n.base
		dst[i-1] = n.alphabet[x-q*n.base]
		x = q
	}
}

// putDecimal fills dst with the digits of x, padded with zeros.
func putDecimal(dst []byte, x uint64) {
	i := len(dst)
	for i >= 2 {
		q := x / 100
		p := 2 * (x - 100*q)
		dst[i-1], dst[i-2] = decimalPairs[p+1], decimalPairs[p]
		x = q
		i -= 2
	}
	if i > 0 {
		dst[0] = '0' + byte(x%10)
	}
}

// putIndex is putDecimal for the 12 digits of __rand_int__: two halves whose divisions do not wait for each other.
func putIndex(dst []byte, x uint64) {
	d := (*[indexDigits]byte)(dst)
	high := uint32(x / 1_000_000)
	low := uint32(x - uint64(high)*1_000_000)
	putPair(d[0:2], high/10_000)
	putPair(d[2:4], high/100%100)
	putPair(d[4:6], high%100)
	putPair(d[6:8], low/10_000)
	putPair(d[8:10], low/100%100)
	putPair(d[10:12], low%100)
}

func putPair(dst []byte, x uint32) {
	dst[1], dst[0] = decimalPairs[2*x+1], decimalPairs[2*x]
}

const decimalPairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// lines are the keys of a file, back to back.
type lines struct {
	text []byte
	ends []uint32 // where each ends in text
}

// Bounds of a file of keys.
const (
	maxKeyFile  = 1 << 30
	maxKeyLines = 1 << 27
	maxKeyLine  = 64 << 10
)

func (l *lines) count() int { return len(l.ends) }

func (l *lines) at(i uint64) []byte {
	var from uint32
	if i > 0 {
		from = l.ends[i-1]
	}
	return l.text[from:l.ends[i]]
}

func readLines(path string) (lines, error) {
	f, err := os.Open(path)
	if err != nil {
		return lines{}, &FieldError{Field: "keys.file", Problem: err.Error()}
	}
	defer func() { _ = f.Close() }() // nothing was written
	l, err := scanLines(f)
	if err != nil {
		return lines{}, &FieldError{Field: "keys.file", Problem: path + ": " + err.Error()}
	}
	return l, nil
}

// scanLines reads one key per line; empty lines are passed over, and so is a carriage return at the end of a line.
func scanLines(r io.Reader) (lines, error) {
	var l lines
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), maxKeyLine)
	for s.Scan() {
		if len(s.Bytes()) == 0 {
			continue
		}
		if len(l.text)+len(s.Bytes()) > maxKeyFile || len(l.ends) == maxKeyLines {
			return l, fmt.Errorf("holds more than %d bytes or %d keys; give a part of it", maxKeyFile, maxKeyLines)
		}
		l.text = append(l.text, s.Bytes()...)
		l.ends = append(l.ends, uint32(len(l.text)))
	}
	if err := s.Err(); err != nil {
		return l, fmt.Errorf("line %d: %w", len(l.ends)+1, err)
	}
	if len(l.ends) == 0 {
		return l, errors.New("holds no key; give one key per line")
	}
	return l, nil
}
