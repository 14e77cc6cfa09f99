package workload

import (
	"slices"
	"strings"

	"github.com/evenkeel-go/evenkeel/internal/command"
)

// MeanSize is the expected size of a value, in bytes. The values must be valid.
func (v *Values) MeanSize() float64 {
	z := newSizer(&v.Size, v.limit())
	return z.mean()
}

// Caption is one line for a person: the Title, or the Name, or else the classes of the commands. The workload must be valid.
func (w *Workload) Caption() string {
	switch {
	case w.Title != "":
		return w.Title
	case w.Name != "":
		return w.Name
	}
	var names []string
	for i := range w.Commands {
		words, err := w.Commands[i].words()
		if err != nil {
			continue
		}
		steps, err := sequence(words)
		if err != nil {
			continue
		}
		for _, step := range steps {
			if name := classOf(step.words, w.Commands[i].Class).Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// KeysBegin reports whether every key that the commands can touch begins with the prefix. It is false where a command can touch more than the keys it names,
// such as EVAL or FLUSHALL.
func (p *Plan) KeysBegin(prefix string) bool {
	for i := range p.commands {
		for _, step := range p.commands[i].words {
			keys := keyWords(step.words)
			if len(keys) == 0 && !harmless(step.words) {
				return false
			}
			for _, word := range keys {
				// What follows the placeholder cannot change how the key begins.
				if !p.naming.literal && strings.HasPrefix(word, "__key__") {
					word = p.naming.prefix
				}
				if !strings.HasPrefix(word, prefix) {
					return false
				}
			}
		}
	}
	return true
}

// PreloadPerKey is how many requests the preload sends for each key, 0 without [Plan.CanPreload]; CleanupPerKey is the same for the clean-up, 0 where no command
// names a key by a placeholder.
func (p *Plan) PreloadPerKey() int { return p.preload.write.perKey() }

// CleanupPerKey is documented at PreloadPerKey.
func (p *Plan) CleanupPerKey() int { return p.preload.remove.perKey() }

func (s *set) perKey() int {
	if s == nil {
		return 0
	}
	return s.units[0].requests
}

// harmless reports whether a command without keys leaves the data and the server as they are.
func harmless(words []string) bool {
	info := command.Lookup(words[0], secondWord(words))
	return info != nil && !info.Flags.Has(command.FlagWrite) && !info.Flags.Has(command.FlagAdmin) && !info.Flags.Has(command.FlagMovableKeys)
}
