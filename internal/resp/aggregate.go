package resp

// frame is an aggregate, or an attribute, whose elements are arriving.
type frame struct {
	elems     []Value
	attrs     []Value // attributes that preceded the aggregate
	left      int     // elements still to come; of a streamed one, still allowed
	kind      Kind
	attribute bool
	streamed  bool
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
	if !f.attribute { // others may follow it, and add to it
		more = min(more, f.left)
	}
	elems := make([]Value, n, n+more)
	copy(elems, f.elems)
	f.elems = elems
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
		p.fail(off, "a length that is no number, or too large a one")
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
		if len(f.elems)+n > p.lim.MaxElems {
			p.fail(off, "attributes before one value have more elements than the limit")
			return false
		}
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
