package workload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRedisBenchmarkBytes compares each test with what redis-benchmark 7.0.15 was recorded to send with -d 5, without -r.
func TestRedisBenchmarkBytes(t *testing.T) {
	const key, data = "$16\r\nkey:__rand_int__\r\n", "$5\r\nVXKeH\r\n"
	want := map[string]string{
		"ping_inline": "PING\r\n",
		"ping_mbulk":  "*1\r\n$4\r\nPING\r\n",
		"set":         "*3\r\n$3\r\nSET\r\n" + key + data,
		"get":         "*2\r\n$3\r\nGET\r\n" + key,
		"incr":        "*2\r\n$4\r\nINCR\r\n$20\r\ncounter:__rand_int__\r\n",
		"lpush":       "*3\r\n$5\r\nLPUSH\r\n$6\r\nmylist\r\n" + data,
		"rpush":       "*3\r\n$5\r\nRPUSH\r\n$6\r\nmylist\r\n" + data,
		"lpop":        "*2\r\n$4\r\nLPOP\r\n$6\r\nmylist\r\n",
		"rpop":        "*2\r\n$4\r\nRPOP\r\n$6\r\nmylist\r\n",
		"sadd":        "*3\r\n$4\r\nSADD\r\n$5\r\nmyset\r\n$20\r\nelement:__rand_int__\r\n",
		"hset":        "*4\r\n$4\r\nHSET\r\n$6\r\nmyhash\r\n$20\r\nelement:__rand_int__\r\n" + data,
		"spop":        "*2\r\n$4\r\nSPOP\r\n$5\r\nmyset\r\n",
		"zadd":        "*4\r\n$4\r\nZADD\r\n$6\r\nmyzset\r\n$1\r\n0\r\n$20\r\nelement:__rand_int__\r\n",
		"zpopmin":     "*2\r\n$7\r\nZPOPMIN\r\n$6\r\nmyzset\r\n",
		lrangeFill:    "*3\r\n$5\r\nLPUSH\r\n$6\r\nmylist\r\n" + data,
		"lrange_100":  "*4\r\n$6\r\nLRANGE\r\n$6\r\nmylist\r\n$1\r\n0\r\n$2\r\n99\r\n",
		"lrange_300":  "*4\r\n$6\r\nLRANGE\r\n$6\r\nmylist\r\n$1\r\n0\r\n$3\r\n299\r\n",
		"lrange_500":  "*4\r\n$6\r\nLRANGE\r\n$6\r\nmylist\r\n$1\r\n0\r\n$3\r\n499\r\n",
		"lrange_600":  "*4\r\n$6\r\nLRANGE\r\n$6\r\nmylist\r\n$1\r\n0\r\n$3\r\n599\r\n",
		"mset":        "*21\r\n$4\r\nMSET\r\n" + strings.Repeat(key+data, 10),
	}
	names, err := Tests()
	if err != nil || len(names) != len(want) {
		t.Fatalf("%d tests, want %d: %v", len(names), len(want), err)
	}
	for _, name := range names {
		w, err := Test(name, Options{DataSize: 5})
		if err != nil {
			t.Fatal(err)
		}
		for _, depth := range []int{1, 3} {
			got, tags := compile(t, w).Stream(one()).Batch(depth)
			if diff := cmp.Diff(strings.Repeat(want[name], depth), string(got)); diff != "" || len(tags) != depth {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// TestRedisBenchmarkKeySpace: with -r, each placeholder becomes a number of the key space, and the score of zadd one more.
func TestRedisBenchmarkKeySpace(t *testing.T) {
	for name, numbers := range map[string]int{"set": 1, "incr": 1, "sadd": 1, "zadd": 2, "mset": 10, "lpush": 0} {
		w, err := Test(name, Options{DataSize: 3, KeySpace: 1000})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, words := range requests(t, compile(t, w).Stream(one()), 200) {
			text := strings.Join(words, " ")
			if strings.Contains(text, "__") || strings.Count(text, "000000000") < numbers {
				t.Fatalf("%s: %q", name, text)
			}
			seen[text] = true
		}
		if numbers > 0 && len(seen) < 50 {
			t.Errorf("%s: only %d different requests of 200", name, len(seen))
		}
	}
	w, err := Test("set", Options{DataSize: 1, KeySpace: 3, Sequential: true, Cluster: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, words := range requests(t, compile(t, w).Stream(one()), 4) {
		got = append(got, words[1])
	}
	if diff := cmp.Diff([]string{"key:{tag}:000000000000", "key:{tag}:000000000001", "key:{tag}:000000000002", "key:{tag}:000000000000"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTestsByName(t *testing.T) {
	for words, want := range map[string]string{
		"set,get":       "[set get]",
		"GET,SET":       "[set get]",
		"ping":          "[ping_inline ping_mbulk]",
		"lrange":        "[lrange_fill lrange_100 lrange_300 lrange_500 lrange_600]",
		"lrange_300":    "[lrange_fill lrange_300]",
		"mget,xadd":     "[mget xadd]",
		"fcall,lpush":   "[lpush fcall]",
		"function_load": "[function_load]",
	} {
		got, err := Tests(strings.Split(words, ",")...)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s gives %v, %v; want %s", words, got, err, want)
		}
	}
	if _, err := Tests("sett"); err == nil || !strings.Contains(err.Error(), "did you mean set") {
		t.Errorf("sett: %v", err)
	}
	if _, err := Test("gte", Options{}); err == nil || !strings.Contains(err.Error(), "get") {
		t.Errorf("gte: %v", err)
	}
}

func TestFunctions(t *testing.T) {
	w, err := Test("fcall", Options{FCallKeys: 2})
	if err != nil {
		t.Fatal(err)
	}
	p := compile(t, w)
	if got := requests(t, p.Stream(one()), 1)[0]; fmt.Sprint(got) != "[fcall foo1 2 key1 key2]" {
		t.Errorf("%q", got)
	}
	setup, replies := p.Setup()
	if load := split(t, setup); replies != 1 || len(load) != 1 || load[0][1] != "LOAD" || !strings.Contains(load[0][3], "foo1(keys, args)") {
		t.Errorf("%d replies to %q", replies, setup)
	}
	if w, err = Test("function_load", Options{Functions: 3}); err != nil {
		t.Fatal(err)
	}
	if got := requests(t, compile(t, w).Stream(one()), 1)[0]; len(got) != 4 || strings.Count(got[3], "register_function") != 3 {
		t.Errorf("%q", got)
	}
}
