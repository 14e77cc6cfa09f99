package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTableIsUpToDate: the committed table is what the generator makes of the committed sources.
func TestTableIsUpToDate(t *testing.T) {
	want, err := generate("commands.json", "classes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "table_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("table_gen.go is not up to date, run go generate ./internal/command (-want +got):\n%s", diff)
	}
}

func TestRunWritesTheTable(t *testing.T) {
	out := filepath.Join(t.TempDir(), "table.go")
	if err := run([]string{"-dir", ".", "-out", out}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(got), "// Code generated ") {
		t.Errorf("table begins with %.60q", got)
	}
	if err := run([]string{"-dir", t.TempDir(), "-out", out}); err == nil {
		t.Error("no error without sources")
	}
}

// TestMergeRefuses: sources that contradict each other make no table.
func TestMergeRefuses(t *testing.T) {
	server := func(commands ...captured) *capture { return &capture{Commands: commands} }
	get := captured{Name: "GET", Arity: 2, Flags: []string{"readonly"}}
	for want, test := range map[string]struct {
		from  *capture
		facts []fact
	}{
		"GET is missing from classes.tsv":        {server(get), nil},
		"GET stands twice":                       {server(get), []fact{{"GET", "R", "MUX", "safe"}, {"GET", "R", "MUX", "safe"}}},
		"GET: unknown class":                     {server(get), []fact{{"GET", "R", "MIX", "safe"}}},
		"GET: unknown retry":                     {server(get), []fact{{"GET", "R", "MUX", "maybe"}}},
		"GET: the server's flags are":            {server(get), []fact{{"GET", "W", "MUX", "unsent-only"}}},
		"GET: class BLOCK":                       {server(get), []fact{{"GET", "R", "BLOCK", "safe"}}},
		"SET: retry is safe":                     {server(), []fact{{"SET", "W", "MUX", "safe"}}},
		"SET: unknown access":                    {server(), []fact{{"SET", "x", "MUX", "never"}}},
		"NEW: unknown flag":                      {server(captured{Name: "NEW", Flags: []string{"odd"}}), []fact{{"NEW", "-", "MUX", "never"}}},
		"NEW: the server says that it blocks":    {server(captured{Name: "NEW", Flags: []string{"blocking"}}), []fact{{"NEW", "-", "MUX", "never"}}},
		"BLPOP has a timeout, and is in neither": {server(), nil},
	} {
		_, err := merge(test.from, test.facts)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestReadFactsRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty":  "",
		"header": "command\tclass\n",
		"fields": factsHeader + "\nGET\tR\n",
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readFacts(path); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReadReply(t *testing.T) {
	for _, test := range []struct {
		in      string
		want    any
		wantErr bool
	}{
		{"+OK\r\n", "OK", false},
		{":-3\r\n", int64(-3), false},
		{"$-1\r\n", nil, false},
		{"$5\r\na\r\nbc\r\n", "a\r\nbc", false},
		{"*2\r\n*0\r\n$0\r\n\r\n", []any{[]any{}, ""}, false},
		{"-ERR no\r\n", nil, true},
		{"\r\n", nil, true},
		{"", nil, true},
		{":x\r\n", nil, true},
		{"$5\r\nab", nil, true},
		{"*2\r\n:1\r\n", nil, true},
		{"%1\r\n", nil, true},
	} {
		got, err := readReply(bufio.NewReader(strings.NewReader(test.in)))
		if (err != nil) != test.wantErr {
			t.Errorf("%q: error %v", test.in, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" && !test.wantErr {
			t.Errorf("%q (-want +got):\n%s", test.in, diff)
		}
	}
}

func TestCaptureRefuses(t *testing.T) {
	for _, reply := range []any{nil, "OK", []any{"GET"}, []any{[]any{"get", int64(2)}}, []any{[]any{"get", "2", nil, nil, nil, nil, nil, nil, nil, nil}}} {
		if err := new(capture).add(reply); err == nil {
			t.Errorf("%v: no error", reply)
		}
	}
}
