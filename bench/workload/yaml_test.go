package workload

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := Parse(strings.NewReader(`
name: shop
keys: {count: 1000, prefix: "cart:", digits: 6, dist: {kind: zipf, exponent: 0.9}}
values: {size: {kind: lognormal, mu: 5, sigma: 1}, compressible: 0.3}
miss_rate: 0.1
commands:
  - {command: GET __key__, weight: 9}
  - args: [SET, __key__, __data__]
    weight: 1
    ttl: [{after: 90s, weight: 1}, {after: 12h, weight: 2}]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Workload{
		Name: "shop", Keys: Keys{Count: 1000, Prefix: "cart:", Digits: 6, Dist: Dist{Kind: Zipf, Exponent: 0.9}},
		Values: Values{Size: Size{Kind: LogNormal, Mu: 5, Sigma: 1}, Compressible: 0.3}, MissRate: 0.1,
		Commands: []Command{
			{Command: "GET __key__", Weight: 9},
			{Args: []string{"SET", "__key__", "__data__"}, Weight: 1, TTL: []TTL{{Duration(90 * time.Second), 1}, {Duration(12 * time.Hour), 2}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// A workload goes through JSON unchanged, as results carry it.
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var back Workload
	if err := json.Unmarshal(text, &back); err != nil || !cmp.Equal(*want, back) {
		t.Errorf("%v: %s", err, text)
	}
}

// TestMistakes: each says where it is and what to do, and none passes.
func TestMistakes(t *testing.T) {
	const get = "commands: [{command: GET __key__}]\n"
	for text, want := range map[string]string{
		"":                                   "empty",
		"# nothing":                          "empty",
		"keys: {count: 5}":                   "commands: are missing",
		"commands: [{comand: PING}]":         "[1:13]",
		"name: a\nkeys:\n  cuont: 5\n" + get: "[3:3]",
		"keys: {count: many}\n" + get:        "[1:15]",
		"commands: [{command: SET __key__ v, ttl: [{after: 90}]}]": "90s",
		get:                                     "keys.count: is missing",
		"keys: {count: -1}\n" + get:             "keys.count",
		"keys: {count: 100, digits: 1}\n" + get: "at least 2",
		"keys: {count: 6, digits: 1}\nmiss_rate: 0.5\n" + get:                                                               "those that misses ask for",
		"keys: {count: 2000000000000}\ncommands: [{command: GET __rand_int__}]":                                             "use __key__",
		"keys: {count: 5, alphabet: aa}\n" + get:                                                                            "twice",
		"keys: {count: 5, dist: {kind: zipff}}\n" + get:                                                                     "did you mean zipf",
		"keys: {count: 5, dist: {kind: zipf, exponent: -1}}\n" + get:                                                        "keys.dist.exponent",
		"keys: {count: 5, dist: {exponent: 1}}\n" + get:                                                                     "zipf's alone",
		"keys: {count: 5, dist: {kind: zipf, exponent: .nan}}\n" + get:                                                      "keys.dist.exponent",
		"keys: {count: 5, dist: {kind: gaussian, mean: 2}}\n" + get:                                                         "keys.dist.stddev",
		"keys: {count: 5, dist: {kind: hotset}}\n" + get:                                                                    "keys.dist.steps",
		"keys: {count: 5, dist: {kind: hotset, steps: [{keys: 0.5, requests: 0.9}, {keys: 0.4, requests: 0.95}]}}\n" + get:  "keys.dist.steps[1].keys",
		"keys: {count: 5}\nmiss_rate: 2\n" + get:                                                                            "miss_rate",
		"miss_rate: 0.5\ncommands: [{command: PING}]":                                                                       "no command only reads",
		"keys: {count: 5}\nvalues: {size: {bytes: 67108865}}\n" + get:                                                       "values.size.bytes",
		"keys: {count: 5}\nvalues: {max: 536870913}\n" + get:                                                                "protocol's limit",
		"keys: {count: 5}\nvalues: {size: {kind: range}}\n" + get:                                                           "values.size.max",
		"keys: {count: 5}\nvalues: {size: {kind: list, list: [{bytes: 5, weight: 0}]}}\n" + get:                             "values.size.list[0].weight",
		"keys: {count: 5}\nvalues: {size: {kind: quantiles, quantiles: [{p: 0.5, bytes: 9}, {p: 0.4, bytes: 10}]}}\n" + get: "quantiles[1].p",
		"keys: {count: 5}\nvalues: {size: {kind: mix, parts: [{weight: 1, size: {kind: mix}}]}}\n" + get:                    "cannot be a mix",
		"keys: {count: 5}\nvalues: {size: {bytes: 5, sigma: 2}}\n" + get:                                                    "lognormal's alone",
		"commands: [{command: PING, weight: 1}, {command: PING}]":                                                           "commands[1].weight",
		"commands: [{command: 'PING \"'}]":                                                                                  "quote is not closed",
		"commands: [{command: ''}]":                                                                                         "is empty",
		"commands: [{command: ';'}]":                                                                                        "nothing before",
		"commands: [{command: PING, args: [PING]}]":                                                                         "not both",
		"keys: {count: 5}\ncommands: [{command: GET __keys__}]":                                                             "did you mean __key__",
		"keys: {count: 5}\ncommands: [{command: 'SET a __field:name__'}]":                                                   "not supported",
		"keys: {count: 5}\ncommands: [{command: __key__}]":                                                                  "name of a command first",
		"keys: {count: 5}\ncommands: [{command: GET __key__, inline: true}]":                                                "inline",
		"keys: {count: 5}\ncommands: [{command: EXPIRE __key__ __ttl__}]":                                                   "commands[0].ttl: is missing",
		"keys: {count: 5}\ncommands: [{command: GET __key__, ttl: [{after: 5s}]}]":                                          "goes with SET only",
		"keys: {count: 5}\ncommands: [{command: SET __key__ v, ttl: [{after: 5us}]}]":                                       "whole milliseconds",
		"keys: {count: 5}\nverify: true\ncommands: [{command: GET __key__}, {command: APPEND __key__ x}]":                   "APPEND",
		"keys: {count: 5}\nverify: true\ncommands: [{command: PING}]":                                                       "applies to nothing",
		"keys: {count: 5}\nverify: true\nvalues: {same: true}\n" + get:                                                      "values.same",
		"keys: {count: 5}\npreload: SET a b\n" + get:                                                                        "names no key",
		"keys: {file: x, count: 5}\n" + get:                                                                                 "leave out count",
		"setup: [[]]\ncommands: [{command: PING}]":                                                                          "setup[0]",
		strings.Repeat("#", maxFile+1):                                                                                      "longer than",
	} {
		_, err := Parse(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120q: %v, want %q in it", text, err, want)
		}
	}
	var field *FieldError
	if _, err := Parse(strings.NewReader(get)); !errors.As(err, &field) || field.Field != "keys.count" {
		t.Errorf("%v has no field", err)
	}
}

// TestDocumentation: the file that the documentation shows is one that works, and every preset and placeholder is spoken of.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/bench/workloads.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	examples := strings.Split(doc, "```yaml\n")[1:]
	if len(examples) == 0 {
		t.Fatal("there is no example")
	}
	for i, e := range examples {
		e, _, _ = strings.Cut(e, "```")
		w, err := Parse(strings.NewReader(e))
		if err != nil {
			t.Fatalf("example %d: %v", i, err)
		}
		requests(t, compile(t, w).Stream(one()), 100)
	}
	for _, name := range Presets() {
		if !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("the preset %s is not documented", name)
		}
	}
	for _, p := range placeholders {
		if !strings.Contains(doc, p.word) && p.shared < 2 {
			t.Errorf("the placeholder %s is not documented", p.word)
		}
	}
}

// FuzzParse: whatever a file says, it is refused with an error or gives whole requests.
func FuzzParse(f *testing.F) {
	for _, name := range Presets() {
		f.Add(string(must(PresetFile(name))))
	}
	f.Add("keys: {count: 9, length: {kind: gev, scale: 2}}\ncommands: [{command: \"5 SET __rand_1st__ x ; GET a__key__\", ttl: [{after: 1ms}]}]")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		w.Keys.File = "" // the fuzzer reads no files
		w.Values.Max = min(max(1, w.Values.Max), 1<<12)
		if w.Validate() != nil {
			return
		}
		p, err := w.Compile()
		if err != nil {
			t.Fatal(err)
		}
		if p.longest > 1000 {
			return
		}
		b, tags := p.Stream(Slice{Seed: 1, Index: 1, Count: 3}).Batch(20)
		for i := range w.Commands {
			if w.Commands[i].Inline {
				return
			}
		}
		if got := len(split(t, b)); got != len(tags) || got < 1 {
			t.Fatalf("%d requests, %d tags", got, len(tags))
		}
	})
}
