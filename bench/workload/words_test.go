package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                               nil,
		"  GET  a\t":                     {"GET", "a"},
		`SET "a b" 'c "d"'`:              {"SET", "a b", `c "d"`},
		`SET k "\x00\xff\n\r\t\"\\\a\b"`: {"SET", "k", "\x00\xff\n\r\t\"\\\a\b"},
		`SET k 'it\'s' ""`:               {"SET", "k", "it's", ""},
		`SET k "\xzz"`:                   {"SET", "k", "xzz"},
		`SET k a"b c"`:                   {"SET", "k", "ab c"},
	} {
		got, err := splitWords(line)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", line, err, diff)
		}
	}
	for _, line := range []string{`"`, `GET "a`, `GET 'a`, `GET "a"b`, `GET "a\`} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("%s gives %q without an error", line, got)
		}
	}
}

func TestSequence(t *testing.T) {
	got, err := sequence(strings.Fields("5 SET k v ; GET k ;"))
	want := []repeated{{[]string{"SET", "k", "v"}, 5}, {[]string{"GET", "k"}, 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(repeated{})); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"; GET k", "GET k ; ; GET k", "5", "0 GET k", "GET k ; 3", "70000 GET k"} {
		if got, err := sequence(strings.Fields(bad)); err == nil {
			t.Errorf("%s gives %v without an error", bad, got)
		}
	}
}
