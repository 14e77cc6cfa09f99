package command

import (
	"slices"
	"strings"
	"testing"
)

func TestTableIsSortedAndUnique(t *testing.T) {
	for i := 1; i < len(table); i++ {
		if table[i-1].Name >= table[i].Name {
			t.Errorf("%q stands before %q", table[i-1].Name, table[i].Name)
		}
	}
	for info := range All {
		if info.Name != strings.ToUpper(info.Name) || info.Name == "" {
			t.Errorf("name %q is not in upper case", info.Name)
		}
		for word := range strings.SplitSeq(info.Name, " ") {
			if len(word) > maxWord {
				t.Errorf("%s: longer than maxWord, so that Lookup would miss it", info.Name)
			}
		}
	}
}

// TestEveryEntryIsConsistent: what the engine concludes from one field never contradicts another.
func TestEveryEntryIsConsistent(t *testing.T) {
	for info := range All {
		complain := func(format string, args ...any) {
			t.Helper()
			t.Errorf("%s: "+format, append([]any{info.Name}, args...)...)
		}
		if info.Class.String() == "invalid" {
			complain("class %d", info.Class)
		}
		if info.Flags.Has(FlagReadOnly) && info.Flags.Has(FlagWrite) {
			complain("reads only, and writes")
		}
		if info.Retry == RetrySafe {
			if info.Flags.Has(FlagWrite) || info.Class == ClassBlock || info.Class == ClassAdmin {
				complain("safe to repeat, with class %v and flags %v", info.Class, info.Flags)
			}
			if info.FirstKey != 0 && !info.Flags.Has(FlagReadOnly) {
				complain("safe to repeat, has keys, and is not read-only")
			}
		}
		waits := slices.Contains([]Class{ClassBlock, ClassMaybeBlock, ClassQuarantine}, info.Class)
		if info.MayBlock() != waits || info.Flags.Has(FlagBlocking) != waits {
			complain("class %v, flags %v, timeout %v: all or none of them say that it waits", info.Class, info.Flags, info.Timeout)
		}
		if (info.FirstKey == 0) != (info.KeyStep == 0) {
			complain("first key %d, step %d", info.FirstKey, info.KeyStep)
		}
		if info.container && strings.Contains(info.Name, " ") {
			complain("a subcommand with subcommands")
		}
	}
}

// TestClassesThatDecide: the few entries whose class decides over correctness.
func TestClassesThatDecide(t *testing.T) {
	tests := []struct {
		name, sub string
		class     Class
		retry     Retry
	}{
		{"GET", "", ClassMux, RetrySafe},
		{"SET", "", ClassMux, RetryUnsentOnly},
		{"INCR", "", ClassMux, RetryUnsentOnly},
		{"HGETALL", "", ClassHeavy, RetrySafe},
		{"EVAL", "", ClassHeavy, RetryUnsentOnly},
		{"BLPOP", "", ClassBlock, RetryNever},
		{"XREAD", "", ClassMaybeBlock, RetrySafe},
		{"XREADGROUP", "", ClassMaybeBlock, RetryUnsentOnly},
		{"WAIT", "", ClassQuarantine, RetryNever},
		{"WAITAOF", "", ClassQuarantine, RetryNever},
		{"MULTI", "", ClassTx, RetryNever},
		{"EXEC", "", ClassTx, RetryNever},
		{"WATCH", "", ClassTx, RetryNever},
		{"SUBSCRIBE", "", ClassSub, RetryNever},
		{"SSUBSCRIBE", "", ClassSub, RetryNever},
		{"PUBLISH", "", ClassMux, RetryUnsentOnly},
		{"SELECT", "", ClassPoolKey, RetryLocal},
		{"AUTH", "", ClassPoolKey, RetryLocal},
		{"HELLO", "", ClassPoolKey, RetryLocal},
		{"QUIT", "", ClassLocal, RetryLocal},
		{"RESET", "", ClassLocal, RetryLocal},
		{"CLIENT", "REPLY", ClassLocal, RetryLocal},
		{"CLIENT", "TRACKING", ClassPin, RetryUnsentOnly},
		{"SCRIPT", "KILL", ClassControl, RetryNever},
		{"MONITOR", "", ClassAdmin, RetryNever},
		{"SHUTDOWN", "", ClassAdmin, RetryNever},
		{"PSYNC", "", ClassDeny, RetryNever},
		{"ASKING", "", ClassClusterOnly, RetryUnsentOnly},
		{"CLUSTER", "SHARDS", ClassTopology, RetryUnsentOnly},
		{"SENTINEL", "MASTERS", ClassSentinel, RetryUnsentOnly},
		{"CLIENT", "", ClassContainer, RetryUnsentOnly},
	}
	for _, test := range tests {
		info := Lookup(test.name, test.sub)
		if info == nil {
			t.Errorf("%s %s is not in the table", test.name, test.sub)
			continue
		}
		if info.Class != test.class || info.Retry != test.retry {
			t.Errorf("%s: class %v, retry %v, want %v, %v", info.Name, info.Class, info.Retry, test.class, test.retry)
		}
	}
}

func TestStrings(t *testing.T) {
	if got, want := Lookup("BLPOP", "").Flags.String(), "write noscript blocking"; got != want {
		t.Errorf("flags of BLPOP: %q, want %q", got, want)
	}
	for got, want := range map[string]string{
		ClassMaybeBlock.String():           "BLOCK?",
		Class(0).String():                  "invalid",
		Class(200).String():                "invalid",
		Retry(0).String():                  "never",
		Retry(200).String():                "invalid",
		TimeoutLastMillis.String():         "last argument, milliseconds",
		TimeoutArg(200).String():           "invalid",
		Flags(0).String():                  "",
		FlagNoMulti.String():               "no_multi",
		(FlagFast | FlagReadOnly).String(): "readonly fast",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSearchIsShort: the hash spreads the names, so that a lookup compares few of them.
func TestSearchIsShort(t *testing.T) {
	total, longest := 0, 0
	for i := range table {
		steps := 1
		for at := slot(foldHash(0, table[i].Name)); slots[at] != uint16(i+1); at = (at + 1) % slotCount {
			steps++
		}
		total, longest = total+steps, max(longest, steps)
	}
	if mean := float64(total) / float64(len(table)); mean > 1.3 || longest > 8 {
		t.Errorf("a search takes %.2f steps on average and up to %d", mean, longest)
	}
	t.Logf("%d names: %d steps in all, %d at most", len(table), total, longest)
}
