package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/typo"
)

// Bounds of a workload.
const (
	maxKeys         = 1e15
	maxIndex        = 1e12 // what 12 digits can say
	defaultMaxValue = 64 << 20
	protocolMax     = 512 << 20
	maxCommands     = 1024
	maxEntries      = 1 << 16 // of a list or table
	maxTTL          = 100 * 365 * 24 * time.Hour
)

func (v *Values) limit() int64 {
	if v.Max == 0 {
		return defaultMaxValue
	}
	return v.Max
}

func (d Duration) milliseconds() int64 { return time.Duration(d).Milliseconds() }

// check keeps the first fault, so that what is wrong reads as a list.
type check struct{ err error }

func (c *check) that(ok bool, field, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
	}
}

// share wants a number from 0 to 1.
func (c *check) share(x float64, field string) {
	c.that(x >= 0 && x <= 1, field, "%v is no share; give a number from 0 to 1", x)
}

func (c *check) finite(x, low, high float64, field string) {
	c.that(x >= low && x <= high, field, "%v is out of bounds; give %v to %v", x, low, high)
}

func (c *check) bytes(n, limit int64, field string) {
	c.that(n >= 0 && n <= limit, field, "%d bytes are out of bounds; give 0 to %d", n, limit)
}

// Validate says what is out of bounds and what to do. The error is a *FieldError. A file of keys is read by Compile only.
func (w *Workload) Validate() error {
	c := &check{}
	uses := w.uses(c)
	for i, words := range w.Setup {
		c.that(len(words) > 0 && words[0] != "", fmt.Sprintf("setup[%d]", i), "is empty; give the words of a command, or leave it out")
	}
	c.that(len(w.Setup) <= maxCommands, "setup", "has more than %d commands", maxCommands)
	c.share(w.MissRate, "miss_rate")
	w.Keys.validate(c, &uses, w.MissRate > 0)
	w.Values.validate(c)
	if w.Verify {
		c.that(!w.Values.Same, "values.same", "cannot be with verify: values that are all the same do not say whose they are")
		c.that(uses.values && !w.Keys.Literal, "verify", "applies to nothing: no GET names a key with a placeholder")
	}
	if w.MissRate > 0 {
		c.that(uses.reads, "miss_rate", "applies to nothing: no command only reads a key with a placeholder")
		c.that(w.Keys.File == "", "miss_rate", "needs keys beyond the key space, which a file of keys does not have; leave it out")
		c.that(!w.Keys.Literal, "miss_rate", "needs keys; leave out keys.literal")
	}
	return c.err
}

// uses is what the commands need.
type uses struct {
	key, index, data bool // placeholders
	reads, values    bool // some command reads keys with a placeholder, or a value of one
}

// uses validates the commands, and says what placeholders they have.
func (w *Workload) uses(c *check) uses {
	var u uses
	c.that(len(w.Commands) > 0, "commands", "are missing; give at least one, such as {command: GET __key__}")
	c.that(len(w.Commands) <= maxCommands, "commands", "are more than %d", maxCommands)
	weighted := slices.ContainsFunc(w.Commands, func(c Command) bool { return c.Weight != 0 })
	for i := range w.Commands {
		field := fmt.Sprintf("commands[%d]", i)
		one := &w.Commands[i]
		if weighted {
			c.finite(one.Weight, math.SmallestNonzeroFloat64, 1e12, field+".weight")
		}
		words, err := one.words()
		if err != nil {
			c.that(false, field+".command", "%v", err)
			return u
		}
		one.validateTTL(c, words, field)
		if one.Dist != nil {
			one.Dist.validate(c, field+".dist", w.Keys.Count)
		}
		if one.Size != nil {
			one.Size.validate(c, field+".size", protocolMax)
		}
		if steps, ok := validateSequence(c, words, field+".command"); ok {
			for _, s := range steps {
				u.add(w, c, s.words, one.Inline, field+".command")
			}
		}
	}
	if w.Preload != "" {
		words, err := splitWords(w.Preload)
		c.that(err == nil, "preload", "%v", err)
		if steps, ok := validateSequence(c, words, "preload"); ok {
			for _, s := range steps {
				u.add(w, c, s.words, false, "preload")
				c.that(!mentionsTTL(s.words), "preload", "has no list of expiries to draw from; write the number itself")
				c.that(w.Keys.Literal || slices.ContainsFunc(s.words, namesKey), "preload", "names no key; give a command with __key__ in it")
			}
		}
	}
	return u
}

func validateSequence(c *check, words []string, field string) ([]repeated, bool) {
	steps, err := sequence(words)
	c.that(err == nil, field, "%v", err)
	c.that(err != nil || len(steps) > 0, field, "is empty; give a command, such as GET __key__")
	return steps, err == nil
}

// add notes one command's placeholders.
func (u *uses) add(w *Workload, c *check, words []string, inline bool, field string) {
	names := false
	for i, word := range words {
		for rest := word; ; {
			at, which := nextPlaceholder(rest)
			if at < 0 {
				break
			}
			p := &placeholders[which]
			switch p.kind {
			case slotKey:
				u.key, names = true, true
			case slotIndex:
				u.index, names = true, true
			case slotData:
				u.data = true
			case slotTag:
			}
			c.that(i > 0 || p.kind == slotTag, field, "begins with %s; give the name of a command first", p.word)
			c.that(!inline || p.kind == slotTag || w.Keys.Literal && p.kind != slotData, field, "has the placeholder %s, which an inline command cannot have; leave out inline", p.word)
			rest = rest[at+len(p.word):]
		}
		misspelt(c, word, field)
	}
	class := classOf(words, "")
	u.values = u.values || names && returnsValue(words)
	u.reads = u.reads || names && class.Read && !class.Write
	if w.Verify && names && class.Write {
		c.that(keepsSignature(words), field, "cannot be with verify: %s would leave values there that do not say whose they are; write whole values with SET __key__ __data__, or leave out verify", class.Name)
	}
}

// keepsSignature reports whether a write leaves nothing under its key, or a whole value of it.
func keepsSignature(words []string) bool {
	var at int
	switch strings.ToUpper(words[0]) {
	case "DEL", "UNLINK", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "GETEX", "GETDEL":
		return true
	case "SET", "SETNX", "GETSET":
		at = 2
	case "SETEX", "PSETEX":
		at = 3
	case "MSET", "MSETNX":
		for i := 1; i+1 < len(words); i += 2 {
			if namesKey(words[i]) && words[i+1] != "__data__" {
				return false
			}
		}
		return true
	default:
		return false
	}
	return at < len(words) && words[at] == "__data__"
}

// misspelt refuses what looks like a placeholder and is none: it would be sent as it stands, to one key.
func misspelt(c *check, word, field string) {
	for {
		from := strings.Index(word, "__")
		if from < 0 {
			return
		}
		rest := word[from+2:]
		to := strings.Index(rest, "__")
		if to < 0 {
			return
		}
		inner := "__" + rest[:to] + "__"
		known, near := inner == secondsWord || inner == millisWord, ""
		for _, p := range placeholders {
			known = known || inner == p.word
			if d := typo.Distance(inner, p.word); d <= 2 && near == "" {
				near = p.word
			}
		}
		if !known {
			c.that(near == "", field, "%s is no placeholder; did you mean %s?", inner, near)
			c.that(!strings.HasPrefix(inner, "__field:"), field, "%s: fields of a data set are not supported", inner)
		}
		word = rest[to+2:]
		if !known {
			word = rest[to:] // the closing pair may open the next one
		}
	}
}

func (c *Command) validateTTL(k *check, words []string, field string) {
	weighted := slices.ContainsFunc(c.TTL, func(t TTL) bool { return t.Weight > 0 })
	for j, t := range c.TTL {
		f := fmt.Sprintf("%s.ttl[%d]", field, j)
		d := time.Duration(t.After)
		k.that(d >= 0 && d <= maxTTL && d%time.Millisecond == 0, f+".after", "%v is no expiry; give whole milliseconds up to 100 years", d)
		k.finite(t.Weight, 0, 1e12, f+".weight")
		k.that(t.Weight > 0 || !weighted, f+".weight", "is missing, but others have one; give each one, or none")
		k.that(d > 0 || !mentionsTTL(words), f+".after", "0 means no expiry, but the command has a place for one; give at least 1ms")
	}
	k.that(len(c.TTL) <= maxCommands, field+".ttl", "has more than %d entries", maxCommands)
	k.that(len(c.TTL) == 0 || mentionsTTL(words) || slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, "SET") }), field+".ttl",
		"goes with SET only; in other commands put __ttl__ (seconds) or __pttl__ (milliseconds) where it belongs")
	k.that(len(c.TTL) > 0 || !mentionsTTL(words), field+".ttl", "is missing, but the command has __ttl__ or __pttl__; give a list such as [{after: 1h}]")
}

func (k *Keys) validate(c *check, u *uses, misses bool) {
	named := (u.key || u.index) && !k.Literal
	if k.File != "" {
		c.that(k.Count == 0 && k.First == 0 && k.Digits == 0 && k.Alphabet == "" && k.Length == nil, "keys.file",
			"gives the keys; leave out count, first, digits, alphabet and length")
		c.that(!k.Literal, "keys.literal", "leaves placeholders as they are; leave out file")
		k.Dist.validate(c, "keys.dist", 0)
		return
	}
	c.that(!named || k.Count > 0, "keys.count", "is missing, but a command has a placeholder for a key; give the number of keys, or keys.literal to send the placeholder itself")
	c.that(k.Count >= 0 && k.Count <= maxKeys, "keys.count", "%d is out of bounds; give 1 to %d", k.Count, int64(maxKeys))
	c.that(k.First >= 0 && k.First <= maxKeys, "keys.first", "%d is out of bounds; give 0 to %d", k.First, int64(maxKeys))
	c.that(k.Digits >= 0 && k.Digits <= maxKey, "keys.digits", "%d is out of bounds; give 0 to %d", k.Digits, maxKey)
	c.that(len(k.Prefix) <= maxKey, "keys.prefix", "is longer than %d bytes", maxKey)
	alphabet := alphabetOf(k.Alphabet)
	c.that(len(alphabet) >= 2 && len(alphabet) <= 256, "keys.alphabet", "%q has too few or too many characters; give base62, hex, or 2 to 256 bytes", k.Alphabet)
	for i := range len(alphabet) {
		c.that(strings.IndexByte(alphabet[i+1:], alphabet[i]) < 0, "keys.alphabet", "has %q twice, so that two numbers would be one key", alphabet[i])
	}
	if c.err != nil || k.Count == 0 {
		return
	}
	last := uint64(k.First + k.Count - 1)
	beyond := ""
	if misses {
		last += uint64(k.Count)
		beyond = " (those that misses ask for included)"
	}
	if need := countDigits(last, uint64(len(alphabet))); k.Digits > 0 && k.Length == nil {
		c.that(k.Digits >= need, "keys.digits", "%d are too few for numbers up to %d%s; give at least %d, or fewer keys", k.Digits, last, beyond, need)
	}
	c.that(!u.index || last < maxIndex, "keys.count", "%d is the last number%s, more than the 12 digits of __rand_int__ can say; use __key__", last, beyond)
	if k.Length != nil {
		c.that(k.Digits == 0, "keys.digits", "cannot be with keys.length; leave one out")
		k.Length.validate(c, "keys.length", maxKey)
	}
	k.Dist.validate(c, "keys.dist", k.Count)
}

func (d *Dist) validate(c *check, field string, keys int64) {
	kinds := []DistKind{"", Uniform, Sequential, Zipf, Gaussian, HotSet}
	c.that(slices.Contains(kinds, d.Kind), field+".kind", "%q is unknown%s; give uniform, sequential, zipf, gaussian or hotset", d.Kind, suggest(string(d.Kind), kinds))
	c.that(d.Exponent == 0 || d.Kind == Zipf, field+".exponent", "is zipf's alone")
	c.that(d.Mean == 0 && d.StdDev == 0 || d.Kind == Gaussian, field+".mean", "and stddev are gaussian's alone")
	c.that(len(d.Steps) == 0 || d.Kind == HotSet, field+".steps", "are hotset's alone")
	c.that(!d.Ordered || d.Kind == Zipf || d.Kind == HotSet, field+".ordered", "goes with zipf and hotset only")
	switch d.Kind {
	case Zipf:
		c.finite(d.Exponent, 0, 20, field+".exponent")
	case Gaussian:
		c.finite(d.Mean, 0, maxKeys, field+".mean")
		c.that(keys == 0 || d.Mean <= float64(keys), field+".mean", "%v is beyond the %d keys", d.Mean, keys)
		c.finite(d.StdDev, 1e-3, maxKeys, field+".stddev")
	case HotSet:
		c.that(len(d.Steps) > 0 && len(d.Steps) <= 64, field+".steps", "has %d entries; give 1 to 64, such as [{keys: 0.01, requests: 0.7}]", len(d.Steps))
		var before HotStep
		for i, s := range d.Steps {
			f := fmt.Sprintf("%s.steps[%d]", field, i)
			c.that(s.Keys > before.Keys && s.Keys < 1, f+".keys", "%v is out of order; give shares that rise, over 0 and under 1", s.Keys)
			c.that(s.Requests > before.Requests && s.Requests < 1, f+".requests", "%v is out of order; give shares that rise, over 0 and under 1", s.Requests)
			before = s
		}
	default:
	}
}

func suggest[T ~string](got string, known []T) string {
	for _, k := range known {
		if k != "" && typo.Distance(strings.ToLower(got), string(k)) <= 2 {
			return fmt.Sprintf(" (did you mean %s?)", k)
		}
	}
	return ""
}

func (v *Values) validate(c *check) {
	c.that(v.Max >= 0 && v.Max <= protocolMax, "values.max", "%d bytes are out of bounds; give 1 to %d, which is the protocol's limit", v.Max, protocolMax)
	c.share(v.Compressible, "values.compressible")
	v.Size.validate(c, "values.size", v.limit())
}

func (z *Size) validate(c *check, field string, limit int64) {
	kinds := []SizeKind{"", Fixed, Range, List, Quantiles, GPareto, GEV, LogNormal, Mix}
	c.that(slices.Contains(kinds, z.Kind), field+".kind", "%q is unknown%s; give fixed, range, list, quantiles, gpareto, gev, lognormal or mix", z.Kind, suggest(string(z.Kind), kinds))
	fixed := z.Kind == "" || z.Kind == Fixed
	bounded := !fixed && z.Kind != List && z.Kind != Mix
	extreme := z.Kind == GPareto || z.Kind == GEV
	c.that(z.Bytes == 0 || fixed, field+".bytes", "is fixed's alone")
	c.that(z.Min == 0 && z.Max == 0 || bounded, field+".min", "and max go with range, quantiles, gpareto, gev and lognormal only")
	c.that(len(z.List) == 0 || z.Kind == List, field+".list", "is list's alone")
	c.that(len(z.Quantiles) == 0 || z.Kind == Quantiles, field+".quantiles", "are quantiles's alone")
	c.that(z.Location == 0 && z.Scale == 0 && z.Shape == 0 || extreme, field+".location", "scale and shape are gpareto's and gev's alone")
	c.that(z.Mu == 0 && z.Sigma == 0 || z.Kind == LogNormal, field+".mu", "and sigma are lognormal's alone")
	c.that(len(z.Parts) == 0 || z.Kind == Mix, field+".parts", "are mix's alone")
	c.bytes(z.Min, limit, field+".min")
	c.bytes(z.Max, limit, field+".max")
	c.that(z.Max == 0 || z.Min <= z.Max, field+".min", "%d is more than max, %d", z.Min, z.Max)
	switch z.Kind {
	case Range:
		c.that(z.Max > 0, field+".max", "is missing; give the largest size")
	case List:
		z.validateList(c, field, limit)
	case Quantiles:
		z.validateQuantiles(c, field, limit)
	case GPareto, GEV:
		c.finite(z.Location, -1e9, 1e9, field+".location")
		c.finite(z.Scale, 1e-9, 1e9, field+".scale")
		c.finite(z.Shape, -10, 10, field+".shape")
	case LogNormal:
		c.finite(z.Mu, -20, 20, field+".mu")
		c.finite(z.Sigma, 0, 10, field+".sigma")
	case Mix:
		c.that(len(z.Parts) > 0 && len(z.Parts) <= 64, field+".parts", "has %d entries; give 1 to 64", len(z.Parts))
		for i := range z.Parts {
			f := fmt.Sprintf("%s.parts[%d]", field, i)
			c.finite(z.Parts[i].Weight, math.SmallestNonzeroFloat64, 1e12, f+".weight")
			c.that(z.Parts[i].Size.Kind != Mix, f+".size.kind", "a part of a mix cannot be a mix; list its parts here")
			z.Parts[i].Size.validate(c, f+".size", limit)
		}
	default:
		c.bytes(z.Bytes, limit, field+".bytes")
	}
}

func (z *Size) validateList(c *check, field string, limit int64) {
	c.that(len(z.List) > 0 && len(z.List) <= maxEntries, field+".list", "has %d entries; give 1 to %d", len(z.List), maxEntries)
	for i, e := range z.List {
		f := fmt.Sprintf("%s.list[%d]", field, i)
		c.bytes(e.Bytes, limit, f+".bytes")
		c.finite(e.Weight, math.SmallestNonzeroFloat64, 1e12, f+".weight")
	}
}

func (z *Size) validateQuantiles(c *check, field string, limit int64) {
	c.that(len(z.Quantiles) > 1 && len(z.Quantiles) <= maxEntries, field+".quantiles", "has %d entries; give 2 to %d", len(z.Quantiles), maxEntries)
	before := Quantile{P: -1}
	for i, q := range z.Quantiles {
		f := fmt.Sprintf("%s.quantiles[%d]", field, i)
		c.that(q.P > before.P && q.P <= 1, f+".p", "%v is out of order; give shares that rise from 0 to 1", q.P)
		c.that(q.Bytes >= before.Bytes, f+".bytes", "%d is less than the entry before", q.Bytes)
		c.bytes(q.Bytes, limit, f+".bytes")
		before = q
	}
}
