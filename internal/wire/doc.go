// Package wire is one conn to a Redis or Valkey server: dialing it in phases with deadlines, the handshake, and from then on
// many callers who share its two byte streams without a goroutine of its own.
//
// Leader and followers. A caller encodes its command into a [Call], and under one short lock appends the bytes to the conn's
// write buffer and the Call to its reply order. If nobody is flushing, it becomes the flusher: with company it yields once, so
// that others can append too, then swaps the double buffer and writes; whoever makes the batch big enough meanwhile relieves it
// and writes at once, so that several batches are under way. If nobody is reading, it becomes the reader: it parses
// replies in order and hands each to its caller, goes on through what is already buffered after its own reply has come, and
// then passes the reader role to the oldest caller who waits. A lone caller writes and reads on its own goroutine.
//
// Invariants, each with the place that keeps it:
//
//   - A reply belongs to the oldest Call in the order; a caller that leaves turns its Call into a tombstone, which swallows
//     exactly the replies that were owed to it (call.go); tombstones that follow each other are merged (read.go).
//   - While any reply is owed, somebody holds the reader role, or a flusher is about to take it, or the role is being handed
//     over; a caller that leaves passes its roles on. When only tombstones are owed a transient drainer reads (read.go).
//   - The reader role is never handed to the flusher: it may be busy writing. It looks for itself when it has written (flush.go).
//   - Every limit has somebody who looks: the watch is set for the earliest one, and when it goes off the holder of the reader
//     role looks at the whole order. A caller has at most one signal coming, and takes it before its Call is used again
//     (watch.go, call.go).
//   - Calls are recycled process-wide, their channels only outside the bubbles of testing/synctest (conn.go).
//   - No write blocks a caller: bytes that the kernel will not take at once are left to a transient flusher (flush.go).
//   - Deadlines of reads are only set under the lock, and a timeout that is nobody's is taken as "look again" (read.go).
//   - No lock is held while anything can block: reads, blocking writes, hand-overs.
//   - An idle conn has no goroutine and no buffer (buffers.go).
//
// Wire never retries, never dials a second conn and knows no pool: that is the business of its users. Start reading at
// [Conn.RoundTrip].
package wire
