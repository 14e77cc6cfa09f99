package workload

import "math/bits"

// Stream is one worker's requests. It belongs to one goroutine.
type Stream struct {
	plan   *Plan
	random random
	set    *set
	rounds []round // for each drawer, one for what is drawn alone and one for each shared value

	buf  []byte
	tags []Tag

	single *template // the only request there is, when its length is fixed; its copies stand in buf
	copies int
	plain  bool // and its only slot is a uniform number

	waiting int // a unit that was drawn but did not fit the last batch, or -1
	left    int64
	finite  bool

	shared [sharedCount]uint64 // values that a sequence shares
	drawn  uint16              // which of them are drawn
	values []value             // of the slots of a request whose length changes
	route  *route
}

// set is what a stream chooses from.
type set struct {
	classes   []Class
	templates []template
	units     []unit
	choice    alias
}

// value is what a slot gets.
type value struct {
	key  uint64
	size int
}

// Stream makes the requests of one worker. The same slice gives the same requests.
func (p *Plan) Stream(s Slice) *Stream {
	st := p.newStream(s, p.main)
	if t := &p.main.templates[0]; len(p.main.units) == 1 && p.longest == 1 && t.whole != nil {
		st.single, st.plain = t, st.isPlain(t)
	}
	return st
}

// Classes are what this stream's tags mean: those of the Plan, or a preload's or clean-up's own. The slice is shared and must not be changed.
func (s *Stream) Classes() []Class { return s.set.classes }

func (p *Plan) newStream(s Slice, of *set) *Stream {
	st := &Stream{plan: p, random: newRandom(s.Seed, uint64(s.Index)), set: of, waiting: -1}
	st.rounds = make([]round, 0, len(p.drawers)*sharedCount)
	for range len(p.drawers) * sharedCount {
		st.rounds = append(st.rounds, newRound(max(1, p.keys), s))
	}
	most := 0
	for i := range of.templates {
		most = max(most, len(of.templates[i].slots))
	}
	st.values = make([]value, most)
	return st
}

// Batch returns the next n requests, encoded back to back, and one tag for each. Both are valid until the next call. A finite stream returns fewer at its
// end, and none from then on. A sequence is never split: when the next does not fit it waits for the next call, and only one that is longer than n
// makes the batch longer than n. A batch with n < 1 is empty.
//
// Batch allocates nothing once its buffers have grown to what n requests need.
func (s *Stream) Batch(n int) (requests []byte, tags []Tag) {
	if n < 1 {
		return nil, nil
	}
	if s.single != nil {
		return s.batchSingle(n)
	}
	s.buf, s.tags = s.buf[:0], s.tags[:0]
	for len(s.tags) < n {
		if s.finite {
			if s.left == 0 {
				break
			}
			s.left--
		}
		at := s.waiting
		if s.waiting = -1; at < 0 {
			at = s.choose()
		}
		u := &s.set.units[at]
		if len(s.tags) > 0 && len(s.tags)+u.requests > n {
			s.waiting = at
			if s.finite {
				s.left++
			}
			break
		}
		if s.route != nil {
			s.appendRouted(u)
		} else {
			s.appendUnit(u)
		}
	}
	return s.buf, s.tags
}

func (s *Stream) choose() int {
	if len(s.set.units) == 1 {
		return 0
	}
	at, fraction := bits.Mul64(s.random.next(), uint64(len(s.set.units)))
	if fraction >= s.set.choice.upTo[at] {
		return int(s.set.choice.other[at])
	}
	return int(at)
}

func (s *Stream) appendUnit(u *unit) {
	s.drawn = 0
	for _, step := range u.steps {
		t := &s.set.templates[step.template]
		for range step.times {
			s.tags = append(s.tags, s.appendRequest(t))
		}
	}
}

func (s *Stream) appendRequest(t *template) Tag {
	if t.whole == nil {
		return s.appendParts(t)
	}
	from := len(s.buf)
	s.buf = append(s.buf, t.whole...)
	return t.tag(s.fill(t, s.buf[from:]))
}

// Layout of a Tag above the class.
const (
	tagSigned   = 1 << 8
	tagKeyShift = 9
)

func (t *template) tag(key uint64) Tag {
	if t.signed {
		return Tag(t.class) | tagSigned | Tag(key)<<tagKeyShift
	}
	return Tag(t.class)
}

// batchSingle keeps copies of the one request there is and only writes what changes.
func (s *Stream) batchSingle(n int) (requests []byte, tags []Tag) {
	t := s.single
	for s.copies < n {
		s.buf = append(s.buf, t.whole...)
		s.tags = append(s.tags, t.tag(0))
		s.copies++
	}
	size := len(t.whole)
	buf, tags := s.buf[:n*size], s.tags[:n]
	switch {
	case len(t.slots) == 0:
	case s.plain:
		s.fillPlain(t, buf, n)
	default:
		for i := range tags {
			s.drawn = 0
			key := s.fill(t, buf[i*size:(i+1)*size])
			if t.signed {
				tags[i] = t.tag(key)
			}
		}
	}
	return buf, tags
}

// isPlain reports whether all that changes in a request is one number that is drawn uniformly: what redis-benchmark's tests mostly send.
func (s *Stream) isPlain(t *template) bool {
	return len(t.slots) == 1 && t.slots[0].kind == slotIndex && !t.misses && !t.signed && s.plan.drawers[t.draw].kind == Uniform
}

// fillPlain is fill for many such requests: the generator stays in registers, and nothing is decided per request.
func (s *Stream) fillPlain(t *template, buf []byte, n int) {
	r, keys, first := s.random, s.plan.drawers[t.draw].n, s.plan.naming.first
	size, at := len(t.whole), t.slots[0].at
	for range n {
		putIndex(buf[at:], first+r.below(keys))
		at += size
	}
	s.random = r
}

// fill writes the slots of a request of fixed length, and gives the key whose value a signed one asks for.
func (s *Stream) fill(t *template, request []byte) uint64 {
	for i := range t.slots {
		sl := &t.slots[i]
		field := request[sl.at : sl.at+sl.size]
		switch sl.kind {
		case slotIndex:
			key := s.drawKey(t, sl)
			s.values[i].key = key
			putIndex(field, s.plan.naming.first+key)
		case slotKey:
			key := s.drawKey(t, sl)
			s.values[i].key = key
			s.plan.naming.write(field, key)
		case slotData:
			s.plan.contents.fill(field, &s.random, s.ownerOf(sl))
		case slotTag:
			copy(field, s.route.tags[s.route.slot][:])
		}
	}
	return s.keyOf(t)
}

// keyOf gives the key whose value a signed request asks for.
func (s *Stream) keyOf(t *template) uint64 {
	if !t.signed {
		return 0
	}
	return s.values[t.owner].key
}

func (s *Stream) ownerOf(sl *slot) uint64 {
	if sl.owner < 0 {
		return 0
	}
	return s.values[sl.owner].key
}

// appendParts writes a request whose length changes: draw first, since a header says the length of what follows.
func (s *Stream) appendParts(t *template) Tag {
	p := s.plan
	for i := range t.slots {
		sl, v := &t.slots[i], &s.values[i]
		switch v.size = sl.size; sl.kind {
		case slotIndex:
			v.key = s.drawKey(t, sl)
		case slotKey:
			v.key = s.drawKey(t, sl)
			v.size = p.naming.size(v.key)
		case slotData:
			v.size = p.sizers[t.size].draw(&s.random)
		case slotTag:
		}
	}
	for i := range t.parts {
		part := &t.parts[i]
		switch {
		case part.bulk:
			n := part.base
			for _, v := range s.values[part.from:part.to] {
				n += v.size
			}
			s.buf = appendBulkHeader(s.buf, n)
			if part.isKey && s.route != nil {
				s.route.from, s.route.to = len(s.buf), len(s.buf)+n
			}
		case part.slot >= 0:
			s.appendSlot(&t.slots[part.slot], &s.values[part.slot])
		default:
			s.buf = append(s.buf, part.text...)
		}
	}
	return t.tag(s.keyOf(t))
}

func (s *Stream) appendSlot(sl *slot, v *value) {
	from := len(s.buf)
	s.buf = extend(s.buf, v.size)
	field := s.buf[from:]
	switch sl.kind {
	case slotIndex:
		putIndex(field, s.plan.naming.first+v.key)
	case slotKey:
		s.plan.naming.write(field, v.key)
	case slotData:
		s.plan.contents.fill(field, &s.random, s.ownerOf(sl))
	case slotTag:
		copy(field, s.route.tags[s.route.slot][:])
	}
}

// extend makes b longer by n bytes of any content.
func extend(b []byte, n int) []byte {
	if need := len(b) + n; need <= cap(b) {
		return b[:need]
	}
	return append(b, make([]byte, n)...)
}

// drawKey gives a slot its key: one that the sequence has drawn already, one beyond the key space for a miss, or a new one.
func (s *Stream) drawKey(t *template, sl *slot) uint64 {
	if sl.shared == 0 {
		return s.newKey(t, 0)
	}
	if s.drawn&(1<<sl.shared) == 0 {
		s.drawn |= 1 << sl.shared
		s.shared[sl.shared] = s.newKey(t, sl.shared)
	}
	return s.shared[sl.shared]
}

func (s *Stream) newKey(t *template, shared int) uint64 {
	if t.misses && s.random.float() < s.plan.missRate {
		return s.plan.keys + s.random.below(s.plan.keys)
	}
	d := &s.plan.drawers[t.draw]
	return d.draw(&s.random, &s.rounds[t.draw*sharedCount+shared])
}
