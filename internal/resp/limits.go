package resp

import "math"

// The defaults of Limits.
const (
	DefaultMaxDepth = 128                       // the deepest replies of known servers have fewer than ten levels
	DefaultMaxLine  = 1 << 20                   // a script may return a status line of hundreds of kilobytes
	DefaultMaxBulk  = 512 << 20                 // the servers' own default for one string
	DefaultMaxElems = 1 << 27                   // more would be over 10 GiB of values
	DefaultMaxTotal = min(4<<30, math.MaxInt-1) // of one whole reply
)

// maxHeader bounds lines that carry a number or a mark and no text, in bytes. It is also the least MaxLine, so that what
// scanScalar accepts without looking at limits is within them.
const maxHeader = 64

// Limits bound what a Parser accepts. A value that passes one is a *ProtocolError: the stream is lost, since nobody knows
// what would follow. Zero or less means the default, in every field.
type Limits struct {
	// MaxDepth is how deep aggregates and attributes may nest; a scalar has depth 0, an array of scalars 1.
	MaxDepth int
	// MaxLine is the length in bytes of a line of text: simple strings, errors, big numbers and doubles. Lines with only a
	// length, an integer or a mark are held to 64 bytes. Less than 64 counts as 64.
	MaxLine int
	// MaxBulk is the length in bytes of one bulk string, blob error, verbatim string or streamed string.
	MaxBulk int
	// MaxElems is the number of elements of one aggregate; a pair of a map or an attribute counts as two.
	MaxElems int
	// MaxTotal is the size in bytes, as sent, of one top-level value with all that it holds.
	MaxTotal int
}

// withDefaults fills in what is not set.
func (l Limits) withDefaults() Limits {
	set := func(p *int, def int) {
		if *p <= 0 {
			*p = def
		}
	}
	set(&l.MaxDepth, DefaultMaxDepth)
	set(&l.MaxLine, DefaultMaxLine)
	l.MaxLine = max(l.MaxLine, maxHeader)
	set(&l.MaxBulk, DefaultMaxBulk)
	set(&l.MaxElems, DefaultMaxElems)
	set(&l.MaxTotal, DefaultMaxTotal)
	return l
}
