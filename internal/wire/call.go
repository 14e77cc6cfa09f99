package wire

import (
	"sync"
	"sync/atomic"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// The states of a Call in a conn's reply order. Whoever wins the compare-and-swap away from pending owns what follows.
const (
	pending   uint32 = iota // its caller waits
	done                    // its replies or its error are in place, a signal is on its way (or it is the reader's own)
	leading                 // its caller has been handed the reader role
	abandoned               // a tombstone: the conn owns it and frees it
	nudged                  // pending, and its caller has been signalled to mind its context from now on
)

// maxKeptScratch bounds the encoding buffer that a pooled Call keeps, in bytes.
const maxKeptScratch = 4 << 10

// A Call is one request on its way: the bytes of one or more commands and, afterwards, their replies. Get one with NewCall,
// fill it with Command or Raw, and hand it to [Conn.RoundTrip]. A Call is used by one goroutine.
type Call struct {
	state atomic.Uint32
	ch    chan struct{} // one slot: signals done or leading, never both at once; made by RoundTrip
	next  *Call         // reply order, or the reader's list of callers to wake

	buf  []byte // encoded commands, owned
	ext  []byte // encoded commands, borrowed from the caller until RoundTrip has copied them
	want int    // replies owed in all
	got  int    // replies that have come

	at       int64 // enqueued, nanoseconds since the conn was born
	deadline int64 // the conn times the call out then; 0: the caller's context does
	nudge    int64 // unanswered by then, its caller is told to mind its context; 0: it does so already, or has none
	due      int64 // unanswered by then, the conn has stalled; 0: never (it may wait on the server for ever)
	stall    int64 // how long after it was enqueued that is, and after its last reply when it gets several
	seen     int   // replies that had come when due was put off last
	end      int64 // position of its last byte in the conn's write stream
	size     int64 // its bytes in the write stream

	one  resp.Value // the reply, when there is no sink
	sink Sink       // where the replies go
	err  error

	pump    *pump // a long pipeline that is sent in windows; nil for all else
	virtual bool  // ch belongs to a synctest bubble

	onLost func(resp.Value) // told of a reply that came after the caller had left
}

var calls = sync.Pool{New: func() any { return new(Call) }}

// NewCall returns an empty Call from a pool.
func NewCall() *Call { return calls.Get().(*Call) } //nolint:errcheck // the pool holds nothing else

// Free gives the Call back. Only a Call that RoundTrip returned without an error, or that was never sent, may be freed.
func (k *Call) Free() {
	if cap(k.buf) > maxKeptScratch {
		k.buf = nil
	}
	k.buf = k.buf[:0]
	k.ext, k.want, k.got, k.next = nil, 0, 0, nil
	k.deadline, k.due, k.nudge, k.stall, k.seen = 0, 0, 0, 0, 0
	k.one, k.sink, k.err, k.pump, k.onLost = resp.Value{}, nil, nil, nil, nil
	k.size = 0
	if k.virtual {
		k.ch, k.virtual = nil, false
	}
	k.state.Store(pending)
	calls.Put(k)
}

// Command appends one command. The arguments do not escape. On an error the Call is as before.
func (k *Call) Command(args []any) error {
	b, err := resp.AppendCommand(k.buf, args)
	if err != nil {
		return err
	}
	k.buf = b
	k.want++
	return nil
}

// Words appends one command made of strings.
func (k *Call) Words(words ...string) {
	k.buf = resp.AppendArrayHeader(k.buf, len(words))
	for _, w := range words {
		k.buf = resp.AppendBulkString(k.buf, w)
	}
	k.want++
}

// Raw sets n encoded commands that the caller keeps owning: b is not read any more once RoundTrip has returned.
func (k *Call) Raw(b []byte, n int) { k.ext, k.want = b, n }

// A Sink is where the replies of a Call go, so that they need not be copied there afterwards. Slot(i) is asked for by whoever
// reads the conn; after an error of RoundTrip other than a *ConnError the conn may still write to it.
type Sink interface{ Slot(i int) *resp.Value }

// Into has the replies parsed into a sink. A Call of several commands needs one to keep more than the last reply.
func (k *Call) Into(s Sink) { k.sink = s }

// Reply is the reply to a Call of one command that has no sink.
func (k *Call) Reply() *resp.Value { return &k.one }

// OnLost has f told of each reply that comes after the caller has left: f is called by whoever reads then and must not block.
func (k *Call) OnLost(f func(resp.Value)) { k.onLost = f }

// Bytes reports the encoded size so far.
func (k *Call) Bytes() int { return len(k.buf) + len(k.ext) }

// slot is where the next reply goes.
func (k *Call) slot() *resp.Value {
	if k.sink != nil {
		return k.sink.Slot(k.got)
	}
	return &k.one
}

// accept counts the reply that was parsed into slot and reports whether it was the last one owed.
func (k *Call) accept() bool {
	k.got++
	return k.got == k.want
}

// leave makes the Call a tombstone and reports whether it could: false means that a signal has been or is being sent.
func (k *Call) leave() bool { return k.state.CompareAndSwap(pending, abandoned) }

// settle takes the Call out of its caller's hands: to done when its outcome is in place, to leading when it shall read. It
// reports false for a tombstone, and whether the caller must be signalled: one that was nudged has a signal coming already.
func (k *Call) settle(to uint32) (ok, signal bool) {
	for {
		switch s := k.state.Load(); s {
		case pending, nudged:
			if k.state.CompareAndSwap(s, to) {
				return true, s == pending
			}
		default:
			return false, false
		}
	}
}

// plainTombstone reports whether nobody and nothing but the order of replies has to do with the Call any more.
func (k *Call) plainTombstone() bool {
	return k.state.Load() == abandoned && k.pump == nil && k.onLost == nil
}

func (k *Call) signal() { k.ch <- struct{}{} } // never blocks: one slot, at most one signal under way
