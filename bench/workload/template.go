package workload

import (
	"slices"
	"strconv"
	"strings"

	"github.com/evenkeel-go/evenkeel/internal/command"
	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// slotKind is what a placeholder is replaced by.
type slotKind uint8

const (
	slotKey   slotKind = iota // a key's name
	slotIndex                 // a key's number, 12 digits
	slotData                  // a value
	slotTag                   // the hash tag of a routed stream
)

// indexDigits is how long __rand_int__ and its like are: as long as the placeholder itself.
const indexDigits = 12

// slot is a place in a request that is written anew each time.
type slot struct {
	kind   slotKind
	shared int // 0: drawn for this place alone; n: the n-th value that all places of a sequence share
	at     int // offset in a request of fixed length
	size   int // of the field, where it is fixed; otherwise -1
	owner  int // for slotData: the slot with the value's key, or -1
}

// template is one request ready to be written.
type template struct {
	class  int
	draw   int // which drawer its keys come from
	size   int // which sizer its values come from
	misses bool
	signed bool // the reply is the value of the key in slot owner
	owner  int

	whole []byte // the encoded request, where its length is fixed
	slots []slot
	parts []piece // where it is not

	hasKey         bool
	keyFrom, keyTo int // the first key in whole
}

// piece is text, a slot, or the header of a bulk string of changing length.
type piece struct {
	text  []byte
	slot  int // -1: none
	bulk  bool
	base  int // for bulk: the bytes of its text; the slots from to before add theirs
	from  int
	to    int
	isKey bool // for bulk: the first key
}

// placeholder is a word that is replaced, with what by.
type placeholder struct {
	word   string
	kind   slotKind
	shared int
}

// placeholders are all words that are replaced in every workload; __ttl__ and __pttl__ are replaced before, and {tag} in routed streams only.
var placeholders = [...]placeholder{
	{"__key__", slotKey, 0},
	{"__data__", slotData, 0},
	{"__rand_int__", slotIndex, 0},
	{"__rand_1st__", slotIndex, 1},
	{"__rand_2nd__", slotIndex, 2},
	{"__rand_3rd__", slotIndex, 3},
	{"__rand_4th__", slotIndex, 4},
	{"__rand_5th__", slotIndex, 5},
	{"__rand_6th__", slotIndex, 6},
	{"__rand_7th__", slotIndex, 7},
	{"__rand_8th__", slotIndex, 8},
	{"__rand_9th__", slotIndex, 9},
	{"{tag}", slotTag, 0},
}

const (
	secondsWord = "__ttl__"
	millisWord  = "__pttl__"
	tagSize     = len("{tag}")
	sharedCount = 10 // shared values 1 to 9; 0 is none
)

// nextPlaceholder finds the first placeholder in text, and which of placeholders it is; at is -1 when there is none.
func nextPlaceholder(text string) (at, which int) {
	at = -1
	for n := range placeholders {
		if i := strings.Index(text, placeholders[n].word); i >= 0 && (at < 0 || i < at) {
			at, which = i, n
		}
	}
	return at, which
}

// firstKeyWord is the place of the first key among a command's words, or 0 when there is none that we know of.
func firstKeyWord(words []string) int {
	info := command.Lookup(words[0], secondWord(words))
	at := 1 // a command that is not in the table: most have their key first
	switch {
	case info == nil:
	case info.FirstKey > 0:
		at = info.FirstKey
	case info.Flags.Has(command.FlagMovableKeys):
		at = 3 // script or function, number of keys, keys
		if len(words) > 2 && words[2] == "0" {
			return 0
		}
	default:
		return 0
	}
	if at >= len(words) {
		return 0
	}
	return at
}

// templateMaker turns words into a template.
type templateMaker struct {
	naming *naming
	sizer  *sizer
	values *contents
	routed bool // {tag} is a placeholder
	t      template
	text   []byte // what has been encoded since the last piece
	fixed  bool
}

// makeTemplate encodes a command's words; those without a placeholder once and for all.
func makeTemplate(words []string, inline, routed bool, n *naming, z *sizer, v *contents) template {
	m := templateMaker{naming: n, sizer: z, values: v, routed: routed, fixed: true}
	if inline {
		m.t.whole = append([]byte(strings.Join(words, " ")), '\r', '\n')
		return m.t
	}
	m.text = resp.AppendArrayHeader(nil, len(words))
	key := firstKeyWord(words)
	for i, w := range words {
		m.word(w, i == key && i > 0)
	}
	m.flush()
	if m.fixed {
		m.join()
	}
	return m.t
}

// word adds one bulk string. One without a placeholder is plain text, unless it is the first key, whose place must be known.
func (m *templateMaker) word(w string, isKey bool) {
	found := m.split(w)
	if !isKey && !slices.ContainsFunc(found, func(p piece) bool { return p.slot >= 0 }) {
		var text []byte // split joins what is text into one piece
		if len(found) > 0 {
			text = found[0].text
		}
		m.text = resp.AppendBulk(m.text, text)
		return
	}
	m.flush()
	head := piece{slot: -1, bulk: true, from: len(m.t.slots), isKey: isKey}
	for i := range found {
		if f := &found[i]; f.slot >= 0 {
			m.t.slots = append(m.t.slots, m.newSlot(placeholders[f.slot]))
			f.slot = len(m.t.slots) - 1
		} else {
			head.base += len(f.text)
		}
	}
	head.to = len(m.t.slots)
	m.t.parts = append(append(m.t.parts, head), found...)
	m.t.hasKey = m.t.hasKey || isKey
	m.text = append(m.text, '\r', '\n')
}

// split cuts a word at its placeholders. In each piece, slot is the number of a placeholder, or -1 for text.
func (m *templateMaker) split(w string) []piece {
	var found []piece
	var text []byte
	flush := func() {
		if len(text) > 0 {
			found = append(found, piece{text: text, slot: -1})
			text = nil
		}
	}
	for w != "" {
		at, i := nextPlaceholder(w)
		if at < 0 {
			text = append(text, w...)
			break
		}
		p := &placeholders[i]
		text = append(text, w[:at]...)
		w = w[at+len(p.word):]
		if p.kind == slotTag && !m.routed || (p.kind == slotKey || p.kind == slotIndex) && m.naming.literal {
			text = append(text, p.word...)
			continue
		}
		if p.kind == slotData && m.values.same && m.sizer.fixed >= 0 { // the same bytes always
			text = append(text, make([]byte, m.sizer.fixed)...)
			m.values.cut(text[len(text)-m.sizer.fixed:], 0)
			continue
		}
		flush()
		found = append(found, piece{slot: i})
	}
	flush()
	return found
}

func (m *templateMaker) newSlot(p placeholder) slot {
	s := slot{kind: p.kind, shared: p.shared, size: -1, owner: -1}
	switch p.kind {
	case slotKey:
		if n, ok := m.naming.fixed(); ok {
			s.size = n
		}
	case slotIndex:
		s.size = indexDigits
	case slotTag:
		s.size = tagSize
	case slotData:
		s.size = m.sizer.fixed
		for i, before := range slices.Backward(m.t.slots) {
			if before.kind == slotKey || before.kind == slotIndex {
				s.owner = i
				break
			}
		}
	}
	m.fixed = m.fixed && s.size >= 0
	return s
}

func (m *templateMaker) flush() {
	if len(m.text) > 0 {
		m.t.parts = append(m.t.parts, piece{text: m.text, slot: -1})
		m.text = nil
	}
}

// join makes one text of the parts of a request whose length never changes.
func (m *templateMaker) join() {
	t := &m.t
	for _, p := range t.parts {
		switch {
		case p.bulk:
			n := p.base
			for _, s := range t.slots[p.from:p.to] {
				n += s.size
			}
			t.whole = appendBulkHeader(t.whole, n)
			if p.isKey {
				t.keyFrom, t.keyTo = len(t.whole), len(t.whole)+n
			}
		case p.slot >= 0:
			s := &t.slots[p.slot]
			s.at = len(t.whole)
			t.whole = append(t.whole, make([]byte, s.size)...)
		default:
			t.whole = append(t.whole, p.text...)
		}
	}
	t.parts = nil
}

// appendBulkHeader appends the line that begins a bulk string of n bytes.
func appendBulkHeader(b []byte, n int) []byte {
	b = append(b, '$')
	if n < 10 {
		b = append(b, '0'+byte(n))
	} else {
		b = strconv.AppendUint(b, uint64(n), 10)
	}
	return append(b, '\r', '\n')
}
