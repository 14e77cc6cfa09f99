package resp

import "unsafe"

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

// frame is an aggregate, or an attribute, whose elements are arriving.
type frame struct {
	elems     []Value
	attrs     []Value // attributes that preceded the aggregate
	left      int     // elements still to come; of a streamed one, still allowed
	kind      Kind
	attribute bool
	streamed  bool
}

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
// A value begun under SkipNext has to end there: ended here, it leaves the zero Value in v.
func (p *Parser) Next(b []byte, v *Value) (n int, done bool, err error) {
	if p.state == stateIdle {
		if n = scanScalar(b, v, p.lim.MaxBulk); n > 0 && n <= p.lim.MaxTotal {
			return n, true, nil
		}
	}
	return p.run(b, v)
}

// SkipNext is Next for a value that nobody wants: it checks lengths, line ends and nesting, not contents, and keeps
// nothing. A value begun under Next may end here, and is dropped.
func (p *Parser) SkipNext(b []byte) (n int, done bool, err error) {
	if p.state <= stateIdle && len(b) > 0 {
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

// elements reads the frequent kinds of element straight into the open aggregate.
func (p *Parser) elements(b []byte, v *Value) (pos int, done bool) {
	for len(p.stack) > 0 {
		f := &p.stack[len(p.stack)-1]
		if p.skip {
			for f.left > 0 {
				n := skipScalar(b[pos:], p.lim.MaxBulk)
				if n == 0 {
					return pos, false
				}
				pos += n
				p.hasAttr = false
				f.left--
			}
		} else {
			for f.left > 0 {
				f.grow()
				i := len(f.elems)
				e := &f.elems[:i+1][i]
				n := scanScalar(b[pos:], e, p.lim.MaxBulk)
				if n == 0 {
					return pos, false
				}
				pos += n
				if p.hasAttr {
					e.Attrs = p.takeAttrs()
				}
				f.elems = f.elems[:i+1]
				f.left--
			}
		}
		if f.streamed {
			return pos, false
		}
		if p.closeFrame(v) {
			return pos, true
		}
	}
	return pos, false
}

// grow makes room for one more element: twice as much as there is, and no more than is still to come.
func (f *frame) grow() {
	n := len(f.elems)
	if n < cap(f.elems) {
		return
	}
	more := max(n, 4)
	if more > f.left {
		more = f.left
	}
	elems := make([]Value, n, n+more)
	copy(elems, f.elems)
	f.elems = elems
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
		return min(maxHeader, p.lim.MaxLine)
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

// bulkHeader takes in the line before a payload.
func (p *Parser) bulkHeader(typ byte, body []byte, off int, v *Value) (done bool) {
	switch typ {
	case '$':
		p.kind = KindBulk
	case '=':
		p.kind = KindVerbatim
	default:
		p.kind = KindError
	}
	if typ == '$' && string(body) == "-1" {
		return p.deliver(Value{Kind: KindNull}, v)
	}
	p.length = 0
	if typ == '$' && string(body) == "?" {
		p.stream = true
		p.state = stateChunk
		return false
	}
	n, ok := parseLength(body)
	switch {
	case !ok:
		p.fail(off, "a length that is not a number")
		return false
	case n > p.lim.MaxBulk:
		p.fail(off, "a string is longer than the limit")
		return false
	case n > p.lim.MaxTotal-off-len(body)-5:
		p.fail(off, "the value is larger than the limit for one reply")
		return false
	case typ == '=' && n < 4:
		p.fail(off, "a verbatim string without a format")
		return false
	}
	p.stream = false
	p.need, p.size = n, n
	p.state = statePayload
	return false
}

// chunk takes in the line before a chunk of a streamed string, or the last one.
func (p *Parser) chunk(line []byte, off int, v *Value) (done bool) {
	if line[0] != ';' {
		p.fail(off, "no chunk in a streamed string, but type byte "+quoteByte(line[0]))
		return false
	}
	n, ok := parseLength(line[1:])
	switch {
	case !ok:
		p.fail(off, "a length that is not a number")
		return false
	case n > p.lim.MaxBulk-p.length:
		p.fail(off, "a string is longer than the limit")
		return false
	case n > p.lim.MaxTotal-off-len(line)-4:
		p.fail(off, "the value is larger than the limit for one reply")
		return false
	case n == 0:
		bulk := p.bulk
		p.bulk = nil
		p.stream = false
		tight := cap(bulk)-len(bulk) <= len(bulk)/8
		return p.payload(bulk, tight, off, v)
	}
	p.length += n
	p.need, p.size = n, p.length
	p.state = statePayload
	return false
}

// collect keeps a piece of a payload. The buffer grows with what arrives: to twice its size at most, or firstPayload, and
// never beyond the size announced. That of a streamed string is not known: there it may end up with room to spare.
func (p *Parser) collect(piece []byte) {
	p.need -= len(piece)
	if p.skip || p.size == 0 {
		return
	}
	if want := len(p.bulk) + len(piece); want > cap(p.bulk) {
		room := min(p.size, max(want, 2*len(p.bulk), firstPayload))
		if p.stream {
			room = max(room, 2*len(p.bulk))
		}
		grown := make([]byte, len(p.bulk), room)
		copy(grown, p.bulk)
		p.bulk = grown
	}
	p.bulk = append(p.bulk, piece...)
}

// payload makes a value of a whole payload. When owned, the buffer is the parser's own and no one will write to it again,
// so that it can become the string without a copy. off is the offset of its end.
func (p *Parser) payload(data []byte, owned bool, off int, v *Value) (done bool) {
	p.state = stateToken
	if p.skip {
		return p.deliver(Value{}, v)
	}
	s := Value{Kind: p.kind}
	if p.kind == KindVerbatim {
		if data[3] != ':' {
			p.fail(off, "a verbatim string without a format")
			return false
		}
		s.Int = packFormat(data[0], data[1], data[2])
		data = data[4:]
	}
	if owned {
		s.Str = unsafe.String(unsafe.SliceData(data), len(data))
	} else {
		s.Str = string(data)
	}
	return p.deliver(s, v)
}

// aggregateHeader takes in the line that begins an aggregate or an attribute.
func (p *Parser) aggregateHeader(typ byte, body []byte, off, avail int, v *Value) (done bool) {
	f := frame{attribute: typ == '|'}
	pairs := false
	switch typ {
	case '*':
		f.kind = KindArray
	case '~':
		f.kind = KindSet
	case '>':
		f.kind = KindPush
	default:
		f.kind = KindMap
		pairs = true
	}
	if typ == '*' && string(body) == "-1" {
		return p.deliver(Value{Kind: KindNull, Int: 1}, v)
	}
	if typ == '>' && len(p.stack) > 0 {
		p.fail(off, "a push inside another value")
		return false
	}
	if len(p.stack) >= p.lim.MaxDepth {
		p.fail(off, "values nest deeper than the limit")
		return false
	}
	if string(body) == "?" {
		if typ == '>' || typ == '|' {
			p.fail(off, "a push or an attribute cannot be streamed")
			return false
		}
		f.streamed = true
		f.left = p.lim.MaxElems
		if pairs {
			f.left &^= 1
		}
		f.attrs = p.takeAttrs()
		p.stack = append(p.stack, f)
		return false
	}
	n, ok := parseLength(body)
	if !ok {
		p.fail(off, "a length that is not a number")
		return false
	}
	most := p.lim.MaxElems
	if pairs {
		most /= 2
	}
	if n > most {
		p.fail(off, "an aggregate has more elements than the limit")
		return false
	}
	if pairs {
		n *= 2
	}
	switch {
	case n == 0 && f.attribute:
		p.hasAttr = true
		return false
	case n == 0:
		return p.deliver(Value{Kind: f.kind}, v)
	}
	f.left = n
	if f.attribute {
		// Attributes that follow attributes add to them.
		f.elems = p.takeAttrs()
	} else {
		f.attrs = p.takeAttrs()
		if !p.skip {
			room := firstElems
			if len(p.stack) == 0 {
				// Only the outermost may count on the bytes at hand: otherwise nested headers would count on the same bytes.
				room = max(room, avail/8)
			}
			f.elems = make([]Value, 0, min(n, room))
		}
	}
	p.stack = append(p.stack, f)
	return false
}

// endStreamed takes in the line that ends a streamed aggregate.
func (p *Parser) endStreamed(body []byte, off int, v *Value) (done bool) {
	k := len(p.stack)
	switch {
	case len(body) > 0:
		p.fail(off, "something after the end mark of a streamed aggregate")
		return false
	case k == 0 || !p.stack[k-1].streamed:
		p.fail(off, "the end mark of a streamed aggregate outside one")
		return false
	case p.hasAttr:
		p.fail(off, "an attribute without a value")
		return false
	case p.stack[k-1].kind == KindMap && (p.lim.MaxElems&^1-p.stack[k-1].left)%2 != 0:
		p.fail(off, "a key without a value")
		return false
	}
	return p.closeFrame(v)
}

// deliver puts a whole value in its place: the open aggregate, or v.
func (p *Parser) deliver(s Value, v *Value) (done bool) {
	s.Attrs = p.takeAttrs()
	if len(p.stack) == 0 {
		*v = s
		return true
	}
	f := &p.stack[len(p.stack)-1]
	if !p.skip {
		f.grow()
		f.elems = append(f.elems, s)
	}
	f.left--
	if f.left > 0 || f.streamed {
		return false
	}
	return p.closeFrame(v)
}

// closeFrame delivers the open aggregate, which is whole, and every one around it that it completes.
func (p *Parser) closeFrame(v *Value) (done bool) {
	for {
		top := len(p.stack) - 1
		f := p.stack[top]
		p.stack[top] = frame{}
		p.stack = p.stack[:top]
		if f.attribute {
			p.attrs = f.elems
			p.hasAttr = true
			return false
		}
		s := Value{Kind: f.kind, Elems: f.elems, Attrs: f.attrs}
		if len(f.elems) == 0 {
			s.Elems = nil
		}
		if p.skip {
			s = Value{}
		}
		if top == 0 {
			*v = s
			return true
		}
		up := &p.stack[top-1]
		if !p.skip {
			up.grow()
			up.elems = append(up.elems, s)
		}
		up.left--
		if up.left > 0 || up.streamed {
			return false
		}
	}
}

// takeAttrs hands over the attributes that belong to the value now beginning.
func (p *Parser) takeAttrs() []Value {
	if !p.hasAttr {
		return nil
	}
	a := p.attrs
	p.attrs = nil
	p.hasAttr = false
	return a
}
