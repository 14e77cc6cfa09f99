package resp

import "strconv"

// ProtocolError says that the bytes received are not RESP, or pass a limit. The stream has no known position after it, so
// its connection is of no more use.
//
// It is safe to log: it quotes at most one byte of what was received.
type ProtocolError struct {
	// Offset is where the trouble is, in bytes from the start of the top-level value.
	Offset int64
	// Msg says what is wrong.
	Msg string
}

// Error describes the trouble and its place.
func (e *ProtocolError) Error() string {
	return "resp: " + e.Msg + " (byte " + strconv.FormatInt(e.Offset, 10) + " of the reply)"
}

// ArgumentError says that an argument of a command has no one form on the wire. Nothing was encoded.
type ArgumentError struct {
	// Index is the place of the argument; 0 is the name of the command.
	Index int
	// Type is the argument's Go type, "nil" for a nil interface, or "" when there are no arguments at all.
	Type string
	// Msg says what is wrong and what to pass instead. It never holds the argument's value.
	Msg string
}

// Error describes the trouble and the remedy.
func (e *ArgumentError) Error() string { return e.Msg }

// quoteByte shows one received byte.
func quoteByte(c byte) string {
	if c >= 0x20 && c < 0x7f {
		return strconv.QuoteRune(rune(c))
	}
	const hex = "0123456789abcdef"
	return "0x" + string([]byte{hex[c>>4], hex[c&15]})
}

// unknownType names a first byte that begins no value, with a guess at what speaks there when it is the first of a reply.
func unknownType(c byte, first bool) string {
	msg := "unknown type byte " + quoteByte(c)
	if !first {
		return msg
	}
	switch c {
	case 'H':
		return msg + ": is this an HTTP server?"
	case 0x15, 0x16:
		return msg + ": does this port speak TLS?"
	case 'S':
		return msg + ": is this an SSH server?"
	}
	return msg
}
