package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Options are what redis-benchmark's flags say about a test.
type Options struct {
	// DataSize is -d, in bytes, 0 to 512 MiB. redis-benchmark's own default is 3.
	DataSize int64
	// KeySpace is -r: the number of keys. 0, as without -r: the placeholder itself is the one key.
	KeySpace int64
	// Cluster is --cluster: keys carry the hash tag {tag}.
	Cluster bool
	// Sequential is --sequential: keys one after the other instead of at random.
	Sequential bool
	// Functions is --num-functions, the functions of the library of function_load. 0: 10.
	Functions int
	// FCallKeys is --num-keys-in-fcall, up to 10,000. 0, as there: none; redis-benchmark's own default is 1.
	FCallKeys int
}

// test is one of redis-benchmark's.
type test struct {
	name, title string
	words       string // parted by blanks; %T is the hash tag, %S zadd's score
	usual       bool   // runs without -t
	alias       string // another word of -t that runs it
}

// lrangeFill is the test that fills the list of the lrange tests. -t has no word for it alone.
const lrangeFill = "lrange_fill"

// tests stand in the order in which redis-benchmark runs them. Their commands and titles are facts of its interface, as recorded from 7.0.15; mget, xadd and the
// functions are valkey-benchmark's.
var tests = [...]test{
	{"ping_inline", "PING_INLINE", "PING", true, "ping"},
	{"ping_mbulk", "PING_MBULK", "PING", true, "ping"},
	{"set", "SET", "SET key%T:__rand_int__ __data__", true, ""},
	{"get", "GET", "GET key%T:__rand_int__", true, ""},
	{"incr", "INCR", "INCR counter%T:__rand_int__", true, ""},
	{"lpush", "LPUSH", "LPUSH mylist%T __data__", true, ""},
	{"rpush", "RPUSH", "RPUSH mylist%T __data__", true, ""},
	{"lpop", "LPOP", "LPOP mylist%T", true, ""},
	{"rpop", "RPOP", "RPOP mylist%T", true, ""},
	{"sadd", "SADD", "SADD myset%T element:__rand_int__", true, ""},
	{"hset", "HSET", "HSET myhash%T element:__rand_int__ __data__", true, ""},
	{"spop", "SPOP", "SPOP myset%T", true, ""},
	{"zadd", "ZADD", "ZADD myzset%T %S element:__rand_int__", true, ""},
	{"zpopmin", "ZPOPMIN", "ZPOPMIN myzset%T", true, ""},
	{lrangeFill, "LPUSH (needed to benchmark LRANGE)", "LPUSH mylist%T __data__", true, ""},
	{"lrange_100", "LRANGE_100 (first 100 elements)", "LRANGE mylist%T 0 99", true, "lrange"},
	{"lrange_300", "LRANGE_300 (first 300 elements)", "LRANGE mylist%T 0 299", true, "lrange"},
	{"lrange_500", "LRANGE_500 (first 500 elements)", "LRANGE mylist%T 0 499", true, "lrange"},
	{"lrange_600", "LRANGE_600 (first 600 elements)", "LRANGE mylist%T 0 599", true, "lrange"},
	{"mset", "MSET (10 keys)", "MSET" + strings.Repeat(" key%T:__rand_int__ __data__", 10), true, ""},
	{"mget", "MGET (10 keys)", "MGET" + strings.Repeat(" key%T:__rand_int__", 10), false, ""},
	{"xadd", "XADD", "XADD mystream%T * myfield __data__", false, ""},
	{"function_load", "FUNCTION LOAD", "function load replace", false, ""},
	{"fcall", "FCALL", "fcall foo1", false, ""},
}

// Tests gives the names of the tests that redis-benchmark runs for the words of -t, in its order: "ping" stands for two of them, "lrange" for five, and one test of
// LRANGE brings with it the test that fills its list. Without words it gives all that redis-benchmark 7.0.15 runs without -t; mget, xadd, function_load and
// fcall run when they are named. An unknown word is an error that tells what is spelt alike (redis-benchmark passes over it in silence). Words may be in any case.
func Tests(words ...string) ([]string, error) {
	var names, known []string
	for _, t := range tests {
		if t.name != lrangeFill {
			known = append(known, t.name)
		}
	}
	known = append(known, "ping", "lrange")
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = strings.ToLower(w)
		if !slices.Contains(known, lower[i]) {
			return nil, fmt.Errorf("there is no test %q; %s", w, near(w, known))
		}
	}
	lrange := slices.ContainsFunc(lower, func(w string) bool { return strings.HasPrefix(w, "lrange") })
	for _, t := range tests {
		if len(words) == 0 && t.usual || slices.Contains(lower, t.name) || t.alias != "" && slices.Contains(lower, t.alias) || t.name == lrangeFill && lrange {
			names = append(names, t.name)
		}
	}
	return names, nil
}

// Test gives one of redis-benchmark's tests by a name of Tests: the same bytes on the wire, and its title as Workload.Title. Without a KeySpace, keys are the literal
// placeholder, as there.
func Test(name string, o Options) (*Workload, error) {
	at := slices.IndexFunc(tests[:], func(t test) bool { return t.name == strings.ToLower(name) })
	if at < 0 {
		names := make([]string, len(tests))
		for i, t := range tests {
			names[i] = t.name
		}
		return nil, fmt.Errorf("there is no test %q; %s", name, near(name, names))
	}
	t := tests[at]
	tag, score := "", "0"
	if o.Cluster {
		tag = ":{tag}"
	}
	if o.KeySpace > 0 {
		score = "__rand_int__"
	}
	c := Command{Args: strings.Fields(strings.NewReplacer("%T", tag, "%S", score).Replace(t.words)), Weight: 1}
	w := &Workload{
		Name: t.name, Title: t.title,
		Keys:   Keys{Count: o.KeySpace, Literal: o.KeySpace == 0},
		Values: Values{Size: Size{Bytes: o.DataSize}, Max: max(1, o.DataSize), Same: true},
	}
	if o.Sequential {
		w.Keys.Dist.Kind = Sequential
	}
	switch t.name {
	case "ping_inline":
		c.Inline = true
	case "function_load":
		functions := o.Functions
		if functions == 0 {
			functions = 10
		}
		if functions < 1 || functions > 10_000 {
			return nil, &FieldError{Field: "num-functions", Problem: fmt.Sprintf("%d is out of bounds; give 1 to 10000", functions)}
		}
		c.Args = append(c.Args, library(functions, false))
	case "fcall":
		if o.FCallKeys < 0 || o.FCallKeys > 10_000 {
			return nil, &FieldError{Field: "num-keys-in-fcall", Problem: fmt.Sprintf("%d is out of bounds; give 0 to 10000", o.FCallKeys)}
		}
		c.Args = append(c.Args, strconv.Itoa(o.FCallKeys))
		for i := range o.FCallKeys {
			c.Args = append(c.Args, fmt.Sprintf("key%d", i+1))
		}
		w.Setup = [][]string{{"FUNCTION", "LOAD", "REPLACE", library(1, o.FCallKeys > 0)}}
	}
	w.Commands = []Command{c}
	return w, w.Validate()
}

// library writes n functions that do next to nothing, foo1 to foon. The global is called redis, which Redis and Valkey both know.
func library(n int, readsKey bool) string {
	var b strings.Builder
	b.WriteString("#!lua name=benchlib\n")
	for i := range n {
		if readsKey {
			fmt.Fprintf(&b, "local function foo%d(keys, args)\nreturn keys[1]\nend\n", i+1)
		} else {
			fmt.Fprintf(&b, "local function foo%d()\nreturn 0\nend\n", i+1)
		}
		fmt.Fprintf(&b, "redis.register_function('foo%d', foo%d)\n", i+1, i+1)
	}
	return b.String()
}
