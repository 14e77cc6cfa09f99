package resp

import "unsafe"

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
		p.fail(off, "a length that is no number, or too large a one")
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
		p.fail(off, "a length that is no number, or too large a one")
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
