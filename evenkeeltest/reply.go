package evenkeeltest

import (
	"time"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// Reply is what a [Fake] does about one request. The constructors make the value;
// the methods, which return a changed copy, add the faults.
type Reply struct {
	kind  replyKind
	value resp.Value
	raw   string
	delay time.Duration
	limit int // bytes sent before silence, when cut is set
	half  bool
	cut   bool
	then  afterReply
}

type replyKind uint8

const (
	replyDefault replyKind = iota // what the fake does by itself
	replyValue
	replyRaw
	replyOmit
)

type afterReply uint8

const (
	thenGoOn afterReply = iota
	thenSilence
	thenClose
	thenReset
)

// Default is the zero Reply: let the fake answer as it does by itself.
func Default() Reply { return Reply{} }

// Simple is a status such as OK.
func Simple(s string) Reply { return valueReply(resp.Value{Kind: resp.KindSimple, Str: s}) }

// OK is the status OK.
func OK() Reply { return Simple("OK") }

// Err is an error reply; the text begins with its code word, such as "ERR".
func Err(s string) Reply { return valueReply(resp.Value{Kind: resp.KindError, Str: s}) }

// Bulk is a string of any bytes.
func Bulk(s string) Reply { return valueReply(resp.Value{Kind: resp.KindBulk, Str: s}) }

// Int is an integer.
func Int(n int64) Reply { return valueReply(resp.Value{Kind: resp.KindInteger, Int: n}) }

// Double is a floating point number; a bulk string in RESP2.
func Double(f float64) Reply { return valueReply(resp.DoubleValue(f)) }

// Bool is a boolean; an integer in RESP2.
func Bool(b bool) Reply {
	v := resp.Value{Kind: resp.KindBoolean}
	if b {
		v.Int = 1
	}
	return valueReply(v)
}

// Null is the null.
func Null() Reply { return valueReply(resp.Value{Kind: resp.KindNull}) }

// NullArray is the null as blocking commands and EXEC spell it in RESP2.
func NullArray() Reply { return valueReply(resp.Value{Kind: resp.KindNull, Int: 1}) }

// Array is an array of replies, of which only the values count.
func Array(elems ...Reply) Reply { return aggregate(resp.KindArray, elems) }

// Map is a map of the form key, value, key, value; a flat array in RESP2.
func Map(elems ...Reply) Reply { return aggregate(resp.KindMap, elems) }

// Set is a set; an array in RESP2.
func Set(elems ...Reply) Reply { return aggregate(resp.KindSet, elems) }

// Push is an out-of-band message, for [FakeConn.Push]; an array in RESP2.
func Push(elems ...Reply) Reply { return aggregate(resp.KindPush, elems) }

// Strings is an array of bulk strings.
func Strings(elems ...string) Reply {
	rs := make([]Reply, len(elems))
	for i, e := range elems {
		rs[i] = Bulk(e)
	}
	return Array(rs...)
}

// Raw sends these bytes instead of a reply, well-formed or not.
func Raw(b string) Reply { return Reply{kind: replyRaw, raw: b} }

// Omit sends nothing, while later requests are answered: every reply from here on
// is one early.
func Omit() Reply { return Reply{kind: replyOmit} }

// Silence answers neither this request nor any later one on the conn, which stays
// open.
func Silence() Reply { return Reply{kind: replyOmit, then: thenSilence} }

// Hangup closes the conn instead of answering.
func Hangup() Reply { return Reply{kind: replyOmit, then: thenClose} }

// After delays the reply, and so all that follow on the conn.
func (r Reply) After(d time.Duration) Reply {
	r.delay = d
	return r
}

// Half sends the first half of the reply's bytes, and then nothing on the conn.
func (r Reply) Half() Reply {
	r.half, r.then = true, thenSilence
	return r
}

// CutAt sends the first n bytes of the reply, and then nothing on the conn unless
// ThenClose or ThenReset follows.
func (r Reply) CutAt(n int) Reply {
	r.cut, r.limit, r.then = true, max(n, 0), thenSilence
	return r
}

// ThenClose closes the conn after the reply.
func (r Reply) ThenClose() Reply {
	r.then = thenClose
	return r
}

// ThenReset resets the conn after the reply, which the client may not get to read.
func (r Reply) ThenReset() Reply {
	r.then = thenReset
	return r
}

func valueReply(v resp.Value) Reply { return Reply{kind: replyValue, value: v} }

func aggregate(kind resp.Kind, elems []Reply) Reply {
	v := resp.Value{Kind: kind, Elems: make([]resp.Value, len(elems))}
	for i := range elems {
		v.Elems[i] = elems[i].value
	}
	return valueReply(v)
}

// encode appends the bytes to be sent to b.
func (r *Reply) encode(b []byte, proto int) []byte {
	start := len(b)
	switch r.kind {
	case replyValue:
		b = resp.AppendValue(b, &r.value, proto)
	case replyRaw:
		b = append(b, r.raw...)
	case replyDefault, replyOmit:
	}
	switch n := len(b) - start; {
	case r.half:
		b = b[:start+n/2]
	case r.cut:
		b = b[:start+min(n, r.limit)]
	}
	return b
}
