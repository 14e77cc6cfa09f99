package workload

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Slots is the number of hash slots of a cluster.
const Slots = 16384

// Slot is the hash slot of a key: CRC16 (the XMODEM kind) of the key, or of what stands between its first { and the next } when that is not empty, modulo Slots.
func Slot(key []byte) uint16 {
	if from := bytes.IndexByte(key, '{'); from >= 0 {
		if n := bytes.IndexByte(key[from+1:], '}'); n > 0 {
			key = key[from+1 : from+1+n]
		}
	}
	var crc uint16
	for _, b := range key {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^b]
	}
	return crc % Slots
}

var crcTable = func() (table [256]uint16) {
	const polynomial = 0x1021
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ polynomial
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()

// route keeps a stream's keys to the hash slots of one node.
type route struct {
	owns     func(slot uint16) bool
	from, to int // in buf: the first key of a request of changing length that was written last
	tags     *[Slots][tagSize]byte
	slot     uint16 // that all {tag} of a unit stand for
}

// maxTries bounds the search for a key that the node owns. A node that owns one slot of all is found with it nearly always.
const maxTries = 8 * Slots

// StreamForSlots is Stream for one node of a cluster: owns says which hash slots it serves, and only requests whose keys are in these come. It is
// asked at every request, so that a changed slot map takes effect at once; it has to be quick. In command words, {tag} becomes a hash tag of one of these slots,
// the same in all of a sequence. Which keys are popular stays as it is; requests without a key come on every node.
//
// It is an error when a command names several keys that need not be in one slot. A key of a slot that the node does not have is sent to it only when nothing else
// is found, such as a command with one literal key: the server's MOVED then shows it.
func (p *Plan) StreamForSlots(s Slice, owns func(slot uint16) bool) (*Stream, error) {
	for i := range p.commands {
		for _, step := range p.commands[i].words {
			keys := keyWords(step.words)
			for _, k := range keys {
				if len(keys) > 1 && (!strings.Contains(k, "{") || !strings.Contains(k, "}")) {
					return nil, &FieldError{Field: fmt.Sprintf("commands[%d].command", i), Problem: fmt.Sprintf(
						"%s names %d keys, which a cluster wants in one slot; put {tag} into each of them", strings.ToUpper(step.words[0]), len(keys))}
				}
			}
		}
	}
	of, err := p.encode(true)
	if err != nil {
		return nil, err
	}
	st := p.newStream(s, of)
	st.route = newRoute(owns)
	return st, nil
}

// PreloadForSlots is Preload for one node of a cluster: keys of the slice that are in slots of other nodes are passed over. Each key is written once when each
// node's stream has the same slice.
func (p *Plan) PreloadForSlots(s Slice, from int64, owns func(slot uint16) bool) *Stream {
	st := p.Preload(s, from)
	st.route = newRoute(owns)
	return st
}

// CleanupForSlots is Cleanup for one node of a cluster.
func (p *Plan) CleanupForSlots(s Slice, from int64, owns func(slot uint16) bool) *Stream {
	st := p.Cleanup(s, from)
	st.route = newRoute(owns)
	return st
}

func newRoute(owns func(slot uint16) bool) *route {
	return &route{owns: owns, tags: hashTags()}
}

// hashTags finds a hash tag of three letters or digits for each slot.
func hashTags() *[Slots][tagSize]byte {
	tags := new([Slots][tagSize]byte)
	var tag [tagSize]byte
	tag[0], tag[tagSize-1] = '{', '}'
	for i := range len(base62) * len(base62) * len(base62) {
		n := len(base62)
		tag[1], tag[2], tag[3] = base62[i%n], base62[i/n%n], base62[i/n/n]
		if at := &tags[Slot(tag[:])]; at[0] == 0 {
			*at = tag
		}
	}
	return tags
}

// choose picks the slot that all tags of the next unit stand for.
func (r *route) choose(random *random) {
	for range maxTries {
		if r.slot = uint16(random.below(Slots)); r.owns(r.slot) {
			return
		}
	}
}

// appendRouted appends a unit whose keys the node owns. The requests of a finite stream have their keys already: those of other nodes are left out.
func (s *Stream) appendRouted(u *unit) {
	s.route.choose(&s.random)
	if s.finite {
		s.appendSteps(u, true)
		return
	}
	from, tags := len(s.buf), len(s.tags)
	for range maxTries {
		if s.appendSteps(u, false) || !s.set.drawsKeys(u) {
			return // another try would give the same: the server will say so
		}
		s.buf, s.tags = s.buf[:from], s.tags[:tags]
		s.route.choose(&s.random)
	}
	s.appendSteps(u, false) // nothing fits: the server will say so
}

// drawsKeys reports whether a unit's keys can come out differently.
func (s *set) drawsKeys(u *unit) bool {
	return slices.ContainsFunc(u.steps, func(step stride) bool {
		return slices.ContainsFunc(s.templates[step.template].slots, func(sl slot) bool { return sl.kind != slotData })
	})
}

// appendSteps appends a unit and reports whether the node owns all its keys. With drop, it leaves out what the node does not own.
func (s *Stream) appendSteps(u *unit, drop bool) (owned bool) {
	s.drawn = 0
	owned = true
	for _, step := range u.steps {
		t := &s.set.templates[step.template]
		for range step.times {
			from := len(s.buf)
			tag := s.appendRequest(t)
			mine := !t.hasKey || s.route.owns(Slot(s.keyOfLast(t, from)))
			if !mine && drop {
				s.buf = s.buf[:from]
				continue
			}
			s.tags = append(s.tags, tag)
			owned = owned && mine
		}
	}
	return owned
}

// keyOfLast gives the first key of the request that was written from there on.
func (s *Stream) keyOfLast(t *template, from int) []byte {
	if t.whole != nil {
		return s.buf[from+t.keyFrom : from+t.keyTo]
	}
	return s.buf[s.route.from:s.route.to]
}
