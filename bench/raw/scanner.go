package raw

import (
	"bytes"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// What a value that came was.
type outcome uint8

const (
	unfinished outcome = iota // more bytes are needed
	okReply
	nullReply
	errorReply
	pushed // out of band: no reply to anything
)

// headSize is how much of a value's beginning is kept: enough to tell what it is, and
// what an error says.
const headSize = 128

// scanner finds where replies end, however they were cut into pieces, and says no more
// of one than whether it was a success, a null or an error. Bodies are skipped, not
// read. The frequent replies never come here: see plain.
type scanner struct {
	parser resp.Parser
	head   [headSize]byte
	kept   int
	inside bool
	value  bool // an attribute came first, and so the value is parsed to see what it is
	parsed resp.Value
}

// next consumes at most one value of b. The text of an error is valid until the next
// call. The error is a *resp.ProtocolError, and final.
func (s *scanner) next(b []byte) (n int, o outcome, text []byte, err error) {
	if len(b) == 0 {
		return 0, unfinished, nil, nil
	}
	if !s.inside {
		s.inside, s.kept, s.value = true, 0, b[0] == '|'
	}
	var done bool
	if s.value {
		n, done, err = s.parser.Next(b, &s.parsed)
	} else {
		n, done, err = s.parser.SkipNext(b)
	}
	if err != nil {
		return 0, unfinished, nil, err
	}
	s.kept += copy(s.head[s.kept:], b[:n])
	if !done {
		return n, unfinished, nil, nil
	}
	s.inside = false
	if s.value {
		o, text = classify(&s.parsed)
		s.parsed = resp.Value{}
		return n, o, text, nil
	}
	o, text = glance(s.head[:s.kept])
	return n, o, text, nil
}

// glance tells what a value is from its beginning.
func glance(head []byte) (o outcome, text []byte) {
	switch head[0] {
	case '>':
		return pushed, nil
	case '_':
		return nullReply, nil
	case '$', '*':
		if head[1] == '-' { // only -1 passes the parser
			return nullReply, nil
		}
	case '-':
		return errorReply, firstLine(head[1:])
	case '!':
		_, text, _ := bytes.Cut(head, []byte("\r\n"))
		return errorReply, firstLine(text)
	}
	return okReply, nil
}

func firstLine(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte{'\r'})
	return line
}

func classify(v *resp.Value) (o outcome, text []byte) {
	switch v.Kind {
	case resp.KindPush:
		return pushed, nil
	case resp.KindNull:
		return nullReply, nil
	case resp.KindError:
		return errorReply, []byte(v.Str[:min(len(v.Str), headSize)])
	default:
		return okReply, nil
	}
}

// plain counts the replies at the beginning of b that are whole and of a frequent kind:
// short status lines, integers, bulk strings and nulls; at most limit of them. size is
// their length. Everything else, and whatever is not well formed, is left to a scanner.
func plain(b []byte, limit int) (replies, nulls, size int) {
	for replies < limit {
		n, null := plainOne(b[size:])
		if n == 0 {
			break
		}
		if null {
			nulls++
		}
		replies++
		size += n
	}
	return replies, nulls, size
}

// maxPlain is the longest status line or integer that plainOne takes.
const maxPlain = 24

func plainOne(b []byte) (n int, null bool) {
	if len(b) < 3 {
		return 0, false
	}
	switch b[0] {
	case '+', ':':
		if b[0] == '+' && len(b) >= 5 && b[1] == 'O' && b[2] == 'K' && b[3] == '\r' && b[4] == '\n' {
			return 5, false
		}
		for i := 1; i < min(len(b)-1, maxPlain); i++ {
			switch b[i] {
			case '\r':
				if b[i+1] == '\n' {
					return i + 2, false
				}
				return 0, false
			case '\n':
				return 0, false
			}
		}
	case '$':
		if b[1] == '-' {
			if len(b) >= 5 && b[2] == '1' && b[3] == '\r' && b[4] == '\n' {
				return 5, true
			}
			return 0, false
		}
		length, i := 0, 1
		for ; i < min(len(b), 10); i++ {
			d := b[i] - '0'
			if d > 9 {
				break
			}
			length = length*10 + int(d)
		}
		// Nine digits cannot overflow, and an odd length is the parser's to judge.
		if i == 1 || i > 2 && b[1] == '0' || length > resp.DefaultMaxBulk {
			return 0, false
		}
		end := i + 2 + length
		if len(b) < end+2 || b[i] != '\r' || b[i+1] != '\n' || b[end] != '\r' || b[end+1] != '\n' {
			return 0, false
		}
		return end + 2, false
	case '_':
		if b[1] == '\r' && b[2] == '\n' {
			return 3, true
		}
	}
	return 0, false
}
