package workload

import (
	"fmt"
	"time"
)

// Workload describes what is sent. It is data: copy it, change it, encode it. Validate says what is wrong with it, Compile makes it ready to send.
type Workload struct {
	// Name identifies the workload in results, such as "twitter-storage".
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Title is one line for a person. Empty: the Name, or the commands.
	Title string `yaml:"title,omitempty" json:"title,omitempty"`
	// Source says where the numbers come from, and under which licence; may be empty.
	Source string `yaml:"source,omitempty" json:"source,omitempty"`
	// Keys is the key space. It may stay zero when no command has a placeholder for a key.
	Keys Keys `yaml:"keys,omitempty" json:"keys,omitzero"`
	// Values are what __data__ stands for. It may stay zero when no command has that placeholder.
	Values Values `yaml:"values,omitempty" json:"values,omitzero"`
	// Commands are what is sent, each request drawn by its weight. At least one.
	Commands []Command `yaml:"commands" json:"commands"`
	// MissRate is the share, 0 to 1, of reads that go to keys that nothing ever writes, from beyond the key space: 1 minus the hit rate aimed at. 0: reads go to
	// the same keys as writes. It holds once the keys are there: preload them.
	MissRate float64 `yaml:"miss_rate,omitempty" json:"miss_rate,omitempty"`
	// Verify makes each value say whose it is, so that Stream.Verify can tell a wrong, cut or damaged reply from a right one. Everything that writes to
	// these keys must then write __data__ as a whole value.
	Verify bool `yaml:"verify,omitempty" json:"verify,omitempty"`
	// Preload is the command that writes one key before the run, such as "HSET __key__ field __data__". Empty: SET of the first key that the commands name,
	// where all of them treat their keys as strings; otherwise there is no preload.
	Preload string `yaml:"preload,omitempty" json:"preload,omitempty"`
	// Setup are commands, word by word and without placeholders, that one conn sends once before all else: a library of functions, an index.
	Setup [][]string `yaml:"setup,omitempty" json:"setup,omitempty"`
}

// Keys is a key space: Count keys, how each is named, and how often each is drawn. Only Count, Prefix and Digits are common; the rest may stay zero.
type Keys struct {
	// Count is the number of keys, 1 to 1e15. 0 only with a File (its lines are the keys), with Literal, or where no command names a key.
	Count int64 `yaml:"count,omitempty" json:"count,omitempty"`
	// First is the number of the first key: names run from First to First+Count-1.
	First int64 `yaml:"first,omitempty" json:"first,omitempty"`
	// Prefix stands before the number in what __key__ is replaced by.
	Prefix string `yaml:"prefix,omitempty" json:"prefix,omitempty"`
	// Digits is how long the number is, padded with the alphabet's first character (zeros). 0: as long as it comes out, so that key lengths vary.
	Digits int `yaml:"digits,omitempty" json:"digits,omitempty"`
	// Alphabet is what numbers are written with: "" for the ten digits, "base62" for a-z, A-Z and 0-9, "hex", or the characters themselves.
	Alphabet string `yaml:"alphabet,omitempty" json:"alphabet,omitempty"`
	// Length draws the length of the whole key, prefix included, from a distribution instead of Digits. A key has its length for good. Lengths too short to
	// tell the keys apart are raised to the least that does.
	Length *Size `yaml:"length,omitempty" json:"length,omitempty"`
	// File names a file with one key per line, at most 1 GiB and 2^27 lines. __key__ is then a line; Prefix stands before it, and the other fields above must stay zero.
	File string `yaml:"file,omitempty" json:"file,omitempty"`
	// Dist says how often each key is drawn. Zero: uniform.
	Dist Dist `yaml:"dist,omitempty" json:"dist,omitzero"`
	// Literal leaves the placeholders for keys as they stand, as redis-benchmark does without -r: all requests then go to one key.
	Literal bool `yaml:"literal,omitempty" json:"literal,omitempty"`
}

// DistKind names a distribution of keys.
type DistKind string

// The distributions.
const (
	// Uniform: each key as often as any other. The zero DistKind means this one.
	Uniform DistKind = "uniform"
	// Sequential: one after the other, and again from the start; each worker has its own part of the key space.
	Sequential DistKind = "sequential"
	// Zipf: the k-th most popular key has the share k^-Exponent of the first.
	Zipf DistKind = "zipf"
	// Gaussian: a bell over the key numbers, cut at the ends of the key space.
	Gaussian DistKind = "gaussian"
	// HotSet: a share of the keys gets a share of the requests, in one or more steps.
	HotSet DistKind = "hotset"
)

// Dist says how often each key of a key space is drawn.
type Dist struct {
	// Kind is the distribution. Empty: Uniform.
	Kind DistKind `yaml:"kind,omitempty" json:"kind,omitempty"`
	// Exponent is Zipf's, 0 (uniform) to 20.
	Exponent float64 `yaml:"exponent,omitempty" json:"exponent,omitempty"`
	// Mean and StdDev are Gaussian's, in keys, counted from the first one. A StdDev of 0 draws one key only and is refused.
	Mean   float64 `yaml:"mean,omitempty" json:"mean,omitempty"`
	StdDev float64 `yaml:"stddev,omitempty" json:"stddev,omitempty"`
	// Steps are HotSet's, both shares rising: {0.01, 0.7}, {0.1, 0.9} says that 1 % of the keys get 70 % of the requests and 10 % get 90 %. The rest of the
	// keys gets the rest.
	Steps []HotStep `yaml:"steps,omitempty" json:"steps,omitempty"`
	// Ordered leaves the popular keys of Zipf and HotSet side by side at the beginning of the key space. Otherwise they are spread over it.
	Ordered bool `yaml:"ordered,omitempty" json:"ordered,omitempty"`
}

// HotStep says that the most popular Keys of all keys get Requests of all requests; both are shares, more than 0 and less than 1.
type HotStep struct {
	Keys     float64 `yaml:"keys" json:"keys"`
	Requests float64 `yaml:"requests" json:"requests"`
}

// Values are what __data__ stands for.
type Values struct {
	// Size is how many bytes, drawn anew for each write.
	Size Size `yaml:"size,omitempty" json:"size,omitzero"`
	// Max caps every size, in bytes, up to 512 MiB, which is the protocol's limit. 0: 64 MiB.
	Max int64 `yaml:"max,omitempty" json:"max,omitempty"`
	// Compressible is the share of each value, 0 to 1, that is one byte repeated. The rest is random text that does not compress below 6 bits a byte.
	Compressible float64 `yaml:"compressible,omitempty" json:"compressible,omitempty"`
	// Same gives all values the same contents (those of redis-benchmark), cut to their sizes. Verify needs false.
	Same bool `yaml:"same,omitempty" json:"same,omitempty"`
}

// SizeKind names a distribution of sizes.
type SizeKind string

// The distributions of sizes. All are rounded down to whole bytes and clamped to Min and Max.
const (
	// Fixed: always Bytes. The zero SizeKind means this one.
	Fixed SizeKind = "fixed"
	// Range: each size from Min to Max alike.
	Range SizeKind = "range"
	// List: the sizes of List, by weight.
	List SizeKind = "list"
	// Quantiles: what the table of Quantiles says, in between by a straight line over the logarithm of the size.
	Quantiles SizeKind = "quantiles"
	// GPareto: generalized Pareto with Location, Scale and Shape.
	GPareto SizeKind = "gpareto"
	// GEV: generalized extreme value with Location, Scale and Shape.
	GEV SizeKind = "gev"
	// LogNormal: e to the power of a normal variable with mean Mu and standard deviation Sigma.
	LogNormal SizeKind = "lognormal"
	// Mix: one of Parts, by weight.
	Mix SizeKind = "mix"
)

// Size is a distribution of sizes, in bytes. Fields that its kind does not use must stay zero.
type Size struct {
	// Kind is the distribution. Empty: Fixed.
	Kind SizeKind `yaml:"kind,omitempty" json:"kind,omitempty"`
	// Bytes is Fixed's.
	Bytes int64 `yaml:"bytes,omitempty" json:"bytes,omitempty"`
	// Min and Max bound what is drawn, except for Fixed and List. A Max of 0 means no bound but that of the Values (or of a key: 512 bytes).
	Min int64 `yaml:"min,omitempty" json:"min,omitempty"`
	Max int64 `yaml:"max,omitempty" json:"max,omitempty"`
	// List is List's.
	List []WeightedSize `yaml:"list,omitempty" json:"list,omitempty"`
	// Quantiles is Quantiles's, both columns rising. Below the first and above the last, the nearest of the two holds; use a share of 0 and one of 1 for the ends.
	Quantiles []Quantile `yaml:"quantiles,omitempty" json:"quantiles,omitempty"`
	// Location, Scale and Shape are GPareto's and GEV's.
	Location float64 `yaml:"location,omitempty" json:"location,omitempty"`
	Scale    float64 `yaml:"scale,omitempty" json:"scale,omitempty"`
	Shape    float64 `yaml:"shape,omitempty" json:"shape,omitempty"`
	// Mu and Sigma are LogNormal's.
	Mu    float64 `yaml:"mu,omitempty" json:"mu,omitempty"`
	Sigma float64 `yaml:"sigma,omitempty" json:"sigma,omitempty"`
	// Parts are Mix's. A part is no mix itself.
	Parts []SizePart `yaml:"parts,omitempty" json:"parts,omitempty"`
}

// WeightedSize is a size with its weight, relative to the others of its list.
type WeightedSize struct {
	Bytes  int64   `yaml:"bytes" json:"bytes"`
	Weight float64 `yaml:"weight" json:"weight"`
}

// Quantile says that the share P, 0 to 1, of all sizes is at most Bytes.
type Quantile struct {
	P     float64 `yaml:"p" json:"p"`
	Bytes int64   `yaml:"bytes" json:"bytes"`
}

// SizePart is a part of a mix with its weight, relative to the others.
type SizePart struct {
	Weight float64 `yaml:"weight" json:"weight"`
	Size   Size    `yaml:"size" json:"size"`
}

// Command is one kind of request, or a sequence of requests that one conn sends in one go.
type Command struct {
	// Command is the command as it is typed: words with spaces between, quoted as in redis-cli where needed. A word that is ";" begins the next command of a
	// sequence, and a number before a command repeats it. Placeholders are listed in the package's documentation of workloads. Either this or Args is given.
	Command string `yaml:"command,omitempty" json:"command,omitempty"`
	// Args is the same as a list of words, for what is awkward to quote.
	Args []string `yaml:"args,omitempty" json:"args,omitempty"`
	// Weight is how often this is drawn, relative to the others. Where no command has one, all weigh the same.
	Weight float64 `yaml:"weight,omitempty" json:"weight,omitempty"`
	// Class names what results are split by. Empty: the command's own name, such as "GET" or "CLIENT LIST".
	Class string `yaml:"class,omitempty" json:"class,omitempty"`
	// TTL draws an expiry for each request: appended to SET as EX or PX, or put in place of __ttl__ (seconds) or __pttl__ (milliseconds).
	TTL []TTL `yaml:"ttl,omitempty" json:"ttl,omitempty"`
	// Dist, when set, draws this command's keys instead of the key space's own.
	Dist *Dist `yaml:"dist,omitempty" json:"dist,omitempty"`
	// Size, when set, draws this command's sizes instead of the Values' own.
	Size *Size `yaml:"size,omitempty" json:"size,omitempty"`
	// Inline sends the words on one line without the array form, as a person in telnet would.
	Inline bool `yaml:"inline,omitempty" json:"inline,omitempty"`
}

// TTL is an expiry with its weight, relative to the others of its list; all weights zero means all alike.
type TTL struct {
	// After is the expiry, in whole milliseconds. 0: none, for this share of the requests.
	After  Duration `yaml:"after" json:"after"`
	Weight float64  `yaml:"weight,omitempty" json:"weight,omitempty"`
}

// Duration is a time.Duration that files write as "90s" or "12h".
type Duration time.Duration

// MarshalText gives the form of time.Duration.String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is no duration: give a number with a unit, such as 90s, 15m or 12h", text)
	}
	*d = Duration(v)
	return nil
}

// Class is what results are split by. A miss is no class of its own: the engine counts hits and misses of what reads.
type Class struct {
	Name string `json:"name"`
	// Read and Write say whether the command reads the data set or may change it; neither holds for PING and the like. A command that the table of commands
	// does not have counts as a write.
	Read  bool `json:"read,omitempty"`
	Write bool `json:"write,omitempty"`
}

// Tag goes with one request: its class, and what Verify needs to know of it.
type Tag uint64

// Class is the index of the request's class in Plan.Classes.
func (t Tag) Class() int { return int(t & 0xff) }

// Slice is one stream's part of a run: stream Index of Count, 0 ≤ Index < Count; a Count of 0 means 1. Streams of different Index draw different random numbers from one Seed, and
// share sequential keys and the keys of a preload without overlap or gap.
type Slice struct {
	Seed         uint64
	Index, Count int
}

// FieldError says which field of a workload is wrong, and what would be right.
type FieldError struct {
	// Field is the path as a file spells it, such as "commands[1].ttl[0].after".
	Field string
	// Problem says what is wrong and what to do.
	Problem string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }
