package workload

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/evenkeel-go/evenkeel/internal/command"
)

// Plan is a workload made ready to send. It never changes and may be used from any number of goroutines.
type Plan struct {
	keys     uint64
	naming   naming
	drawers  []drawer
	sizers   []sizer
	contents contents
	main     *set
	missRate float64
	longest  int // requests of the longest unit

	setup    []byte
	setups   int
	commands []compiled // the same before encoding, for routed streams
	preload  preload
}

// unit is what a weight applies to: one request, or a sequence that one conn sends in one go.
type unit struct {
	steps    []stride
	requests int
}

type stride struct{ template, times int }

// compiled is a unit's source.
type compiled struct {
	words  []repeated
	weight float64
	class  string
	inline bool
	draw   int
	size   int
}

// Compile checks the workload and makes it ready to send. It reads the file of keys, if one is named. Errors are *FieldError.
func (w *Workload) Compile() (*Plan, error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	p := &Plan{missRate: w.MissRate, keys: uint64(w.Keys.Count)}
	span := p.keys
	if p.missRate > 0 {
		span *= 2
	}
	var err error
	if p.naming, err = newNaming(&w.Keys, span); err != nil {
		return nil, err
	}
	if w.Keys.File != "" {
		p.keys = uint64(p.naming.lines.count())
	}
	for _, words := range w.Setup {
		p.setup = appendWords(p.setup, words)
		p.setups++
	}
	limit := w.Values.limit()
	p.contents = newContents(&w.Values, w.Verify)
	p.drawers = append(p.drawers, newDrawer(&w.Keys.Dist, max(1, p.keys)))
	p.sizers = append(p.sizers, newSizer(&w.Values.Size, limit))
	for i := range w.Commands {
		p.addCommand(&w.Commands[i], limit)
	}
	if p.main, err = p.encode(false); err != nil {
		return nil, err
	}
	for i := range p.main.units {
		p.longest = max(p.longest, p.main.units[i].requests)
	}
	if err := p.planPreload(w); err != nil {
		return nil, err
	}
	return p, nil
}

// addCommand notes a validated command, once per TTL that it draws.
func (p *Plan) addCommand(c *Command, limit int64) {
	one := compiled{weight: c.Weight, class: c.Class, inline: c.Inline}
	if c.Dist != nil {
		p.drawers = append(p.drawers, newDrawer(c.Dist, max(1, p.keys)))
		one.draw = len(p.drawers) - 1
	}
	if c.Size != nil {
		p.sizers = append(p.sizers, newSizer(c.Size, limit))
		one.size = len(p.sizers) - 1
	}
	words, _ := c.words() // validated
	steps, _ := sequence(words)
	if len(c.TTL) == 0 {
		one.words = steps
		p.commands = append(p.commands, one)
		return
	}
	weights := make([]float64, len(c.TTL))
	for i, t := range c.TTL {
		weights[i] = t.Weight
	}
	for i, share := range shares(weights) {
		if share == 0 {
			continue
		}
		variant := one
		variant.weight = share * c.Weight
		if c.Weight == 0 {
			variant.weight = share
		}
		for _, s := range steps {
			variant.words = append(variant.words, repeated{words: expire(s.words, c.TTL[i].After), times: s.times})
		}
		p.commands = append(p.commands, variant)
	}
}

// shares scales weights to a sum of 1; all zero means all alike.
func shares(weights []float64) []float64 {
	var sum float64
	for _, w := range weights {
		sum += w
	}
	out := make([]float64, len(weights))
	for i, w := range weights {
		if sum == 0 {
			out[i] = 1 / float64(len(weights))
		} else {
			out[i] = w / sum
		}
	}
	return out
}

// expire puts an expiry into a command.
func expire(words []string, after Duration) []string {
	ms := after.milliseconds()
	out := make([]string, 0, len(words)+2)
	for _, w := range words {
		w = strings.ReplaceAll(w, millisWord, strconv.FormatInt(ms, 10))
		out = append(out, strings.ReplaceAll(w, secondsWord, strconv.FormatInt((ms+999)/1000, 10)))
	}
	if !strings.EqualFold(words[0], "SET") || ms == 0 || mentionsTTL(words) {
		return out
	}
	if ms%1000 == 0 {
		return append(out, "EX", strconv.FormatInt(ms/1000, 10))
	}
	return append(out, "PX", strconv.FormatInt(ms, 10))
}

func mentionsTTL(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, secondsWord) || strings.Contains(w, millisWord) })
}

// encode makes the templates of all commands and the choice among them.
func (p *Plan) encode(routed bool) (*set, error) {
	of := &set{}
	weights := make([]float64, len(p.commands))
	for i := range p.commands {
		u, err := p.addUnit(of, &p.commands[i], routed)
		if err != nil {
			return nil, err
		}
		of.units = append(of.units, u)
		weights[i] = p.commands[i].weight
	}
	of.choice = newAlias(shares(weights))
	return of, nil
}

// addUnit encodes one command or sequence, and notes its classes.
func (p *Plan) addUnit(of *set, c *compiled, routed bool) (unit, error) {
	var u unit
	for _, s := range c.words {
		t := makeTemplate(s.words, c.inline, routed, &p.naming, &p.sizers[c.size], &p.contents)
		class := classOf(s.words, c.class)
		at := slices.IndexFunc(of.classes, func(have Class) bool { return have.Name == class.Name })
		if at < 0 {
			if len(of.classes) == maxClasses {
				return u, &FieldError{Field: "commands", Problem: "have more than 256 classes; give some of them the same class"}
			}
			at = len(of.classes)
			of.classes = append(of.classes, class)
		}
		of.classes[at].Read = of.classes[at].Read || class.Read
		of.classes[at].Write = of.classes[at].Write || class.Write
		t.class, t.draw, t.size = at, c.draw, c.size
		t.misses = p.missRate > 0 && class.Read && !class.Write
		t.owner = slices.IndexFunc(t.slots, func(s slot) bool { return s.kind == slotKey || s.kind == slotIndex })
		t.signed = p.contents.verify && returnsValue(s.words) && t.owner >= 0
		of.templates = append(of.templates, t)
		u.steps = append(u.steps, stride{template: len(of.templates) - 1, times: s.times})
		u.requests += s.times
	}
	return u, nil
}

// maxClasses is what a Tag has room for.
const maxClasses = 256

// classOf tells what a command's results are counted under.
func classOf(words []string, name string) Class {
	info := command.Lookup(words[0], secondWord(words))
	c := Class{Name: name, Write: info == nil}
	if info != nil {
		c.Read, c.Write = info.Flags.Has(command.FlagReadOnly), info.Flags.Has(command.FlagWrite)
	}
	if c.Name == "" {
		c.Name = strings.ToUpper(words[0])
		if info != nil {
			c.Name = info.Name
		}
	}
	return c
}

// Classes are what results are split by; a Tag's Class is an index into them. The slice is shared and must not be changed.
func (p *Plan) Classes() []Class { return p.main.classes }

// Setup is what one conn sends once before all else, encoded, and how many replies it brings.
func (p *Plan) Setup() (requests []byte, replies int) { return p.setup, p.setups }

// Keys is the number of keys in the key space, without those that only misses ask for.
func (p *Plan) Keys() int64 { return int64(p.keys) }

// MaxSequence is the number of requests in the longest sequence: the most that Batch returns beyond what it was asked for is one less. It is 1 where
// no command is a sequence.
func (p *Plan) MaxSequence() int { return p.longest }

// MeanValue is the expected size of a value, in bytes, and MaxValue the largest that can come.
func (p *Plan) MeanValue() float64 { return p.sizers[0].mean() }

// MaxValue is the largest value that can come, in bytes.
func (p *Plan) MaxValue() int64 {
	most := 0
	for i := range p.sizers {
		most = max(most, p.sizers[i].largest())
	}
	return int64(most)
}

// MeanKey is about the mean length of a key's name, in bytes, from up to a thousand of them.
func (p *Plan) MeanKey() float64 {
	const sample = 1000
	n := min(sample, p.keys)
	if n == 0 {
		return 0
	}
	sum := 0
	for i := range n {
		sum += p.naming.size(i * (p.keys / n))
	}
	return float64(sum) / float64(n)
}

// Key is the name that __key__ has for a number, 0 ≤ i < Keys.
func (p *Plan) Key(i int64) string {
	name := make([]byte, p.naming.size(uint64(i)))
	p.naming.write(name, uint64(i))
	return string(name)
}

// alias picks one of several by weight with one random number and two look-ups, however many there are (Vose's form of Walker's alias method).
type alias struct {
	upTo  []uint64 // below this fraction of 2^64 it is the entry itself
	other []uint32 // otherwise this one
}

func newAlias(share []float64) alias {
	n := len(share)
	a := alias{upTo: make([]uint64, n), other: make([]uint32, n)}
	rest := make([]float64, n)
	var small, large []int
	for i, s := range share {
		rest[i] = s * float64(n)
		if rest[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		a.upTo[s], a.other[s] = uint64(rest[s]*(1<<63))<<1, uint32(l)
		if rest[l] -= 1 - rest[s]; rest[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, i := range append(small, large...) {
		a.upTo[i], a.other[i] = math.MaxUint64, uint32(i)
	}
	return a
}
