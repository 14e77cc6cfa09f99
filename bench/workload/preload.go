package workload

import (
	"slices"
	"strings"

	"github.com/evenkeel-go/evenkeel/internal/command"
)

// preload writes each key of the key space, and cleanup removes what the workload's commands may have written.
type preload struct {
	write, remove *set
	literal       []string
}

// stringCommands treat their keys as strings and never as numbers, so that a SET beforehand suits them.
var stringCommands = []string{
	"APPEND", "DEL", "DUMP", "EXISTS", "EXPIRE", "EXPIREAT", "EXPIRETIME", "GET", "GETDEL", "GETEX", "GETRANGE", "GETSET", "MGET", "MSET", "MSETNX", "OBJECT ENCODING",
	"OBJECT FREQ", "OBJECT IDLETIME", "OBJECT REFCOUNT", "PERSIST", "PEXPIRE", "PEXPIREAT", "PEXPIRETIME", "PSETEX", "PTTL", "SET", "SETEX", "SETNX", "SETRANGE", "STRLEN",
	"SUBSTR", "TOUCH", "TTL", "TYPE", "UNLINK",
}

// planPreload finds out what the workload's keys are called, and how one is written. The words were validated.
func (p *Plan) planPreload(w *Workload) error {
	var patterns []string
	first, isString := "", true
	for i := range p.commands {
		for _, step := range p.commands[i].words {
			for _, word := range keyWords(step.words) {
				switch {
				case p.naming.literal || !namesKey(word):
					if !slices.Contains(p.preload.literal, word) {
						p.preload.literal = append(p.preload.literal, word)
					}
					continue
				case !slices.Contains(patterns, word):
					patterns = append(patterns, word)
				}
				if first == "" && isStringCommand(step.words) {
					first = word
				}
				isString = isString && (word != first || isStringCommand(step.words))
			}
		}
	}
	p.drawers = append(p.drawers, drawer{kind: Sequential, n: max(1, p.keys)})
	given := len(p.drawers) - 1
	var writers []repeated
	switch {
	case w.Preload != "":
		words, _ := splitWords(w.Preload)
		writers, _ = sequence(words)
		for _, step := range writers {
			for _, word := range keyWords(step.words) {
				if namesKey(word) && !p.naming.literal && !slices.Contains(patterns, word) {
					patterns = append(patterns, word)
				}
			}
		}
	case first != "" && isString:
		writers = []repeated{{words: []string{"SET", first, "__data__"}, times: 1}}
	}
	if len(writers) > 0 && !p.naming.literal {
		s, err := p.finiteSet(writers, given)
		if err != nil {
			return err
		}
		p.preload.write = s
	}
	var removers []repeated
	for _, pattern := range patterns {
		removers = append(removers, repeated{words: []string{"UNLINK", pattern}, times: 1})
	}
	if len(removers) > 0 {
		s, err := p.finiteSet(removers, given)
		if err != nil {
			return err
		}
		p.preload.remove = s
	}
	return nil
}

// givenKey is the shared value through which every placeholder of a finite stream's unit gets the same key.
const givenKey = 1

// finiteSet compiles what is done once for each key.
func (p *Plan) finiteSet(steps []repeated, draw int) (*set, error) {
	of := &set{}
	c := compiled{words: steps, draw: draw}
	u, err := p.addUnit(of, &c, false)
	if err != nil {
		return nil, err
	}
	for i := range of.templates {
		t := &of.templates[i]
		t.misses, t.signed = false, false
		for j := range t.slots {
			t.slots[j].shared = givenKey
		}
	}
	of.units = []unit{u}
	return of, nil
}

// isStringCommand reports whether a command treats its key as a string.
func isStringCommand(words []string) bool {
	info := command.Lookup(words[0], secondWord(words))
	return info != nil && slices.Contains(stringCommands, info.Name)
}

func secondWord(words []string) string {
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

// keyWords gives all of a command's words that are keys, as far as the table of commands says where they are.
func keyWords(words []string) []string {
	first := firstKeyWord(words)
	if first == 0 {
		return nil
	}
	info := command.Lookup(words[0], secondWord(words))
	if info == nil || info.KeyStep == 0 || info.FirstKey == 0 {
		return words[first : first+1]
	}
	last := info.LastKey
	if last < 0 {
		last += len(words)
	}
	var keys []string
	for i := first; i <= last && i < len(words); i += info.KeyStep {
		keys = append(keys, words[i])
	}
	return keys
}

// namesKey reports whether a word has a placeholder for a key.
func namesKey(word string) bool {
	for _, p := range placeholders {
		if (p.kind == slotKey || p.kind == slotIndex) && strings.Contains(word, p.word) {
			return true
		}
	}
	return false
}

// CanPreload reports whether there is a command that writes a key beforehand.
func (p *Plan) CanPreload() bool { return p.preload.write != nil }

// Preload writes each key of this slice exactly once, in the order of their numbers, from the from-th of the slice on: to go on with what was broken off,
// give the number of keys that are done. The stream ends after PreloadCount keys; without CanPreload it is empty.
func (p *Plan) Preload(s Slice, from int64) *Stream { return p.finite(p.preload.write, s, from) }

// PreloadCount is the number of keys in the slice.
func (p *Plan) PreloadCount(s Slice) int64 {
	return int64(part(p.keys, s.Index+1, s.Count) - part(p.keys, s.Index, s.Count))
}

// Cleanup removes with UNLINK each key of this slice that the workload's commands can have written, from the from-th key of the slice on. Keys that are spelt
// without a placeholder are not among them: LiteralKeys lists those. Keys that only misses ask for are never written.
func (p *Plan) Cleanup(s Slice, from int64) *Stream { return p.finite(p.preload.remove, s, from) }

// LiteralKeys are the keys that the commands name without a placeholder, such as "mylist". The slice is shared and must not be changed.
func (p *Plan) LiteralKeys() []string { return p.preload.literal }

func (p *Plan) finite(of *set, s Slice, from int64) *Stream {
	if of == nil || p.keys == 0 {
		return &Stream{plan: p, finite: true, set: &set{}, waiting: -1}
	}
	st := p.newStream(s, of)
	st.random = newRandom(s.Seed^weyl, uint64(s.Index)<<40^uint64(from)) // a resumed preload draws other sizes than the beginning did
	begin, end := part(p.keys, s.Index, s.Count), part(p.keys, s.Index+1, s.Count)
	begin = min(end, begin+uint64(max(0, from)))
	for i := range st.rounds {
		st.rounds[i] = round{at: begin, from: begin, to: end}
	}
	st.finite, st.left = true, int64(end-begin)
	return st
}
