// Package resp turns bytes into values and values into bytes: the whole of RESP2 and RESP3, the protocols of Redis and
// Valkey.
//
// It knows no sockets, no commands and no time. It never logs, never blocks, never starts a goroutine, and never panics on
// what the network sends.
//
// Invariants:
//
//   - A [Parser] can stop at any byte and resume with the next. How the bytes are cut into pieces changes neither the
//     values nor the errors.
//   - A parsed value shares no memory with the caller's buffer.
//   - A length on the wire is a claim. Memory is taken for what has arrived, and in advance for no more than 64 KiB of
//     payload, 64 elements per open aggregate, and for the outermost one an element per eight bytes at hand.
//   - Nesting uses a stack of its own with a depth cap, never the goroutine's.
//   - Whatever is not well formed is an error and ends the stream: a reply order that is in doubt is worse than a closed
//     connection.
//   - Encoders append to the caller's buffer and allocate only when it must grow. Arguments of a command do not escape to
//     the heap.
//
// Start reading at [Value], then [Parser.Next] in parser.go; [AppendCommand] is the way out.
package resp
