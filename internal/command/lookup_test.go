package command

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/evenkeel-go/evenkeel/internal/race"
)

func TestLookup(t *testing.T) {
	tests := []struct {
		name, sub, want string // want "" means nil
	}{
		{"GET", "", "GET"},
		{"get", "a key", "GET"},
		{"gEt", "KILL", "GET"},
		{"CLIENT", "KILL", "CLIENT KILL"},
		{"client", "no-evict", "CLIENT NO-EVICT"},
		{"CLIENT", "", "CLIENT"},
		{"CLIENT", "NOSUCH", ""},
		{"CLIENT KILL", "", "CLIENT KILL"}, // the full name is a name, too
		{"client kill", "x", "CLIENT KILL"},
		{"COMMAND", "", "COMMAND"},
		{"COMMAND", "docs", "COMMAND DOCS"},
		{"COMMAND", "NOSUCH", ""},
		{"DEBUG", "SLEEP", "DEBUG"}, // the server lists no subcommands: any argument is DEBUG's own
		{"DEBUG", "object", "DEBUG OBJECT"},
		{"SENTINEL", "masters", "SENTINEL MASTERS"},
		{"XINFO", "STREAM", "XINFO STREAM"},
		{"", "", ""},
		{"", "KILL", ""},
		{"NOSUCH", "", ""},
		{"GE", "", ""},
		{"GETT", "", ""},
		{"ſET", "", ""}, // a long s is no S
		{"CLIENT", strings.Repeat("K", 1<<20), ""},
		{strings.Repeat("G", 1<<20), "", ""},
	}
	for _, test := range tests {
		got := ""
		if info := Lookup(test.name, test.sub); info != nil {
			got = info.Name
		}
		if got != test.want {
			t.Errorf("Lookup(%.20q, %.20q) = %q, want %q", test.name, test.sub, got, test.want)
		}
	}
}

// TestLookupFindsEveryEntry, in random case, by its words and by its whole name.
func TestLookupFindsEveryEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		info := &table[rapid.IntRange(0, len(table)-1).Draw(t, "entry")]
		bits := rapid.Uint64().Draw(t, "case")
		mixed := []byte(info.Name)
		for i, c := range mixed {
			if bits&(1<<i) != 0 {
				mixed[i] = strings.ToLower(string(c))[0]
			}
		}
		name, sub, _ := strings.Cut(string(mixed), " ")
		if got := Lookup(name, sub); got != info {
			t.Fatalf("Lookup(%q, %q) = %v, want %q", name, sub, got, info.Name)
		}
	})
}

// TestLookupOfAnything compares with a plain map: no word finds an entry of another name.
func TestLookupOfAnything(t *testing.T) {
	names := map[string]bool{}
	for info := range All {
		names[info.Name] = true
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z_. -]{0,12}`).Draw(t, "name")
		sub := rapid.StringMatching(`[A-Za-z-]{0,8}`).Draw(t, "sub")
		info := Lookup(name, sub)
		upper := strings.ToUpper(name)
		switch {
		case info == nil && names[upper] && sub == "":
			t.Fatalf("Lookup(%q, %q) finds nothing", name, sub)
		case info != nil && info.Name != upper && info.Name != upper+" "+strings.ToUpper(sub):
			t.Fatalf("Lookup(%q, %q) = %q", name, sub, info.Name)
		}
	})
}

func TestLookupDoesNotAllocate(t *testing.T) {
	calls := [][2]string{{"GET", "a key"}, {"client", "no-evict"}, {"XREADGROUP", "GROUP"}, {"NOSUCH", ""}, {"CLIENT", "NOSUCH"}}
	allocs := testing.AllocsPerRun(100, func() {
		for _, call := range calls {
			if info := Lookup(call[0], call[1]); info.MayBlock() {
				if _, _, blocks := info.BlockTimeoutAt(3, func(int) string { return "STREAMS" }); blocks {
					t.Error("blocks without BLOCK")
				}
			}
		}
	})
	if allocs != 0 && !race.Enabled {
		t.Errorf("%v allocations in %d lookups, want none", allocs, len(calls))
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, call := range [][2]string{{"GET", "a key"}, {"get", "a key"}, {"ZRANGEBYSCORE", "key"}, {"CLIENT", "TRACKINGINFO"}, {"NOSUCH", ""}} {
		b.Run(call[0]+"_"+strings.ReplaceAll(call[1], " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Lookup(call[0], call[1])
			}
		})
	}
}
