package resp

// state is where a Parser stands between two bytes.
type state uint8

const (
	stateFresh      state = iota // limits not yet resolved
	stateIdle                    // between two top-level values
	stateToken                   // in a value, at the start of a line or inside one
	stateChunk                   // in a streamed string, at the start of the line of a chunk or inside it
	statePayload                 // in the payload of a bulk string or chunk
	statePayloadEnd              // after a payload, before the LF that ends it
	stateFailed                  // after an error
)

const (
	firstPayload = 64 << 10 // bytes taken at most for a payload of which nothing has arrived
	firstElems   = 64       // elements taken at most for an aggregate of which nothing has arrived
	keepLine     = 128      // bytes of line buffer kept between values
	keepStack    = 8        // frames kept between values
)

// Parser reads values from a stream of bytes that arrives in pieces. The zero Parser is ready to use, with the default
// limits. It is not safe for concurrent use. Idle, it holds no memory of the values it has read, and a few hundred bytes
// of its own.
type Parser struct {
	state   state
	skip    bool // the value under way is being discarded
	gotCR   bool // in statePayloadEnd: the CR has come
	stream  bool // the payload belongs to a streamed string
	hasAttr bool // attributes have been read whose value has not begun
	kind    Kind // of the payload under way

	lim    Limits
	total  int     // bytes of the value under way that earlier calls consumed
	need   int     // in statePayload: bytes still to come
	size   int     // in statePayload: bytes that payload will hold in the end, as far as announced
	length int     // payload bytes of a streamed string so far, counted also when skipping
	line   []byte  // the beginning of a line whose end has not arrived
	bulk   []byte  // the beginning of a payload whose end has not arrived
	attrs  []Value // the attributes of hasAttr
	stack  []frame
	err    *ProtocolError
}

// NewParser returns a Parser with limits of its own.
func NewParser(l Limits) *Parser {
	p := new(Parser)
	p.SetLimits(l)
	return p
}

// SetLimits sets the limits and does what Reset does.
func (p *Parser) SetLimits(l Limits) {
	p.lim = l.withDefaults()
	p.Reset()
}

// Reset forgets the value under way and any error, for a new stream. Limits stay.
func (p *Parser) Reset() {
	if p.state == stateFresh {
		p.lim = p.lim.withDefaults()
	}
	*p = Parser{state: stateIdle, lim: p.lim}
}

// Pending reports whether the parser is inside a value, or has failed: whether more bytes are due before the stream can
// be at rest.
func (p *Parser) Pending() bool { return p.state > stateIdle }

// Next parses at most one top-level value from b into v, and consumes n bytes of b.
//
// When done is false, all of b was consumed and is kept inside the parser, so that the caller may reuse b at once. When
// done is true, v holds the value and b[n:] belongs to the next one. v has no meaning unless done. Nothing in v aliases b.
//
// The error is always a *ProtocolError. After one the parser stays failed and returns it again until Reset.
//
// A value begun or taken over by SkipNext has to end there: ended here, it leaves the zero Value in v.
func (p *Parser) Next(b []byte, v *Value) (n int, done bool, err error) {
	if p.state == stateIdle {
		if n = scanScalar(b, v, p.lim.MaxBulk); n > 0 && n <= p.lim.MaxTotal {
			return n, true, nil
		}
	}
	return p.run(b, v)
}

// SkipNext is Next for a value that nobody wants: it checks lengths, line ends and nesting, not contents, and keeps
// nothing. It may take over a value begun under Next, and drops what there is of it.
func (p *Parser) SkipNext(b []byte) (n int, done bool, err error) {
	switch {
	case len(b) == 0 || p.state == stateFailed || p.skip:
	case p.state > stateIdle:
		p.abandon()
	default:
		if p.state == stateFresh {
			p.Reset()
		}
		if n = skipScalar(b, p.lim.MaxBulk); n > 0 && n <= p.lim.MaxTotal {
			return n, true, nil
		}
		p.skip = true
	}
	var none Value
	return p.run(b, &none)
}

// abandon lets go of what has arrived of the value under way.
func (p *Parser) abandon() {
	p.skip = true
	p.bulk, p.attrs = nil, nil
	for i := range p.stack {
		p.stack[i].elems, p.stack[i].attrs = nil, nil
	}
}

// run is Next for whatever scanScalar leaves.
func (p *Parser) run(b []byte, v *Value) (n int, done bool, err error) {
	switch {
	case p.state == stateFailed:
		return 0, false, p.err
	case len(b) == 0:
		return 0, false, nil
	case p.state == stateFresh:
		p.Reset()
	}
	if p.state == stateIdle {
		p.state = stateToken
	}
	// Cutting b at MaxTotal makes the limit independent of how the bytes were cut into pieces.
	if room := p.lim.MaxTotal - p.total; len(b) > room {
		b = b[:room]
	}
	n, done = p.advance(b, v)
	if p.err == nil && !done {
		p.total += n
		if p.total >= p.lim.MaxTotal {
			p.fail(p.total, "the value is larger than the limit for one reply")
		}
	}
	switch {
	case p.err != nil:
		p.state = stateFailed
		p.line, p.bulk, p.attrs, p.stack = nil, nil, nil, nil
		return 0, false, p.err
	case done:
		p.finish()
		return n, true, nil
	}
	return n, false, nil
}

// finish goes back to rest after a whole value.
func (p *Parser) finish() {
	p.state = stateIdle
	p.skip = false
	p.total = 0
	if cap(p.stack) > keepStack {
		p.stack = nil
	}
}

// fail records the first error.
func (p *Parser) fail(offset int, msg string) {
	if p.err == nil {
		p.err = &ProtocolError{Offset: int64(offset), Msg: msg}
	}
}

// advance runs through b until the value is whole, b is used up, or an error is recorded.
func (p *Parser) advance(b []byte, v *Value) (pos int, done bool) {
	for {
		switch p.state {
		case stateToken:
			if len(p.stack) > 0 && len(p.line) == 0 {
				var n int
				n, done = p.elements(b[pos:], v)
				pos += n
				if done {
					return pos, true
				}
			}
			line, n := p.readLine(b[pos:], p.total+pos)
			pos += n
			if line == nil {
				return pos, false
			}
			done = p.token(line, p.total+pos-2-len(line), len(b)-pos, v)
			p.dropLine()
			if done || p.err != nil {
				return pos, done
			}
		case stateChunk:
			line, n := p.readLine(b[pos:], p.total+pos)
			pos += n
			if line == nil {
				return pos, false
			}
			done = p.chunk(line, p.total+pos-2-len(line), v)
			p.dropLine()
			if done || p.err != nil {
				return pos, done
			}
		case statePayload:
			rest := b[pos:]
			if k := p.need; !p.stream && len(p.bulk) == 0 && p.need == p.size && len(rest)-2 >= k && rest[k] == '\r' && rest[k+1] == '\n' {
				pos += k + 2
				if done = p.payload(rest[:k], false, p.total+pos, v); done || p.err != nil {
					return pos, done
				}
				continue
			}
			k := min(p.need, len(rest))
			p.collect(rest[:k])
			pos += k
			if p.need > 0 {
				return pos, false
			}
			p.state = statePayloadEnd
			p.gotCR = false
		case statePayloadEnd:
			if pos == len(b) {
				return pos, false
			}
			c := b[pos]
			want := byte('\r')
			if p.gotCR {
				want = '\n'
			}
			if c != want {
				p.fail(p.total+pos, "no CRLF after a payload, but "+quoteByte(c))
				return pos, false
			}
			pos++
			if !p.gotCR {
				p.gotCR = true
				continue
			}
			if p.stream {
				p.state = stateChunk
				continue
			}
			bulk := p.bulk
			p.bulk = nil
			if done = p.payload(bulk, true, p.total+pos, v); done || p.err != nil {
				return pos, done
			}
		default: // stateFresh, stateIdle and stateFailed do not come here
			return pos, false
		}
	}
}

// readLine returns the next line without its CRLF, or nil when its end is not in b, or on an error. off is the offset of
// b[0] in the value. The line is valid until dropLine.
func (p *Parser) readLine(b []byte, off int) (line []byte, n int) {
	if len(b) == 0 {
		return nil, 0
	}
	have := len(p.line)
	typ := b[0]
	if have > 0 {
		typ = p.line[0]
		if p.line[have-1] == '\r' {
			if b[0] != '\n' {
				p.fail(off, "a CR without LF, but "+quoteByte(b[0]))
				return nil, 0
			}
			return p.line[:have-1], 1
		}
	}
	limit := p.lineLimit(typ)
	if limit < 0 {
		p.fail(off, unknownType(typ, off == 0))
		return nil, 0
	}
	i := indexLineEnd(b)
	end := i
	if i < 0 {
		end = len(b)
	}
	switch {
	case have+end > 1+limit:
		p.fail(off-have, "a line is longer than the limit")
		return nil, 0
	case i < 0 || i+1 == len(b) && b[i] == '\r':
		p.line = append(p.line, b...)
		return nil, len(b)
	case b[i] == '\n':
		p.fail(off+i, "an LF without CR")
		return nil, 0
	case b[i+1] != '\n':
		p.fail(off+i+1, "a CR without LF, but "+quoteByte(b[i+1]))
		return nil, 0
	case have == 0:
		return b[:i], i + 2
	}
	p.line = append(p.line, b[:i]...)
	return p.line, i + 2
}

// lineLimit returns how many bytes may follow the type byte, or -1 when it is none.
func (p *Parser) lineLimit(typ byte) int {
	switch typ {
	case '+', '-', '(', ',':
		return p.lim.MaxLine
	case ':', '$', '*', '%', '~', '>', '|', '=', '!', '#', '_', '.', ';':
		return maxHeader
	}
	return -1
}

// dropLine ends the use of a line.
func (p *Parser) dropLine() {
	if cap(p.line) > keepLine {
		p.line = nil
		return
	}
	p.line = p.line[:0]
}

// token takes in a line that begins a value or ends a streamed aggregate. off is its offset, avail how many bytes follow
// it in the buffer.
func (p *Parser) token(line []byte, off, avail int, v *Value) (done bool) {
	typ, body := line[0], line[1:]
	if typ == '.' {
		return p.endStreamed(body, off, v)
	}
	if k := len(p.stack); k > 0 && p.stack[k-1].streamed && p.stack[k-1].left == 0 {
		p.fail(off, "a streamed aggregate has more elements than the limit")
		return false
	}
	switch typ {
	case '$', '=', '!':
		return p.bulkHeader(typ, body, off, v)
	case '*', '~', '%', '>', '|':
		return p.aggregateHeader(typ, body, off, avail, v)
	case ';':
		p.fail(off, "a chunk outside a streamed string")
		return false
	}
	var s Value
	if !p.skip {
		if msg := parseScalar(typ, body, &s); msg != "" {
			p.fail(off, msg)
			return false
		}
	}
	return p.deliver(s, v)
}
