package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// fact is one line of classes.tsv.
type fact struct {
	name, access, class, retry string // access: R, W, - (neither), ? (not known)
}

const factsHeader = "command\tgroup\tsince\trw\tclass\tretry\tsource"

func readFacts(path string) ([]fact, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read from
	lines := bufio.NewScanner(file)
	if !lines.Scan() || lines.Text() != factsHeader {
		return nil, fmt.Errorf("%s: first line must be %q", path, factsHeader)
	}
	var facts []fact
	for n := 2; lines.Scan(); n++ {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != strings.Count(factsHeader, "\t")+1 {
			return nil, fmt.Errorf("%s:%d: %d fields", path, n, len(fields))
		}
		facts = append(facts, fact{name: fields[0], access: fields[3], class: fields[4], retry: fields[5]})
	}
	return facts, lines.Err()
}

// entry is one line of the table, its constants by name.
type entry struct {
	name                       string
	arity                      int
	flags                      []string
	firstKey, lastKey, keyStep int
	class, retry, timeout      string
	container, open            bool
}

// How the words of the sources are called in package command.
var (
	classConstants = map[string]string{
		"MUX": "ClassMux", "HEAVY": "ClassHeavy", "LOCAL": "ClassLocal", "TX": "ClassTx", "SUB": "ClassSub", "BLOCK": "ClassBlock", "BLOCK?": "ClassMaybeBlock",
		"QUAR": "ClassQuarantine", "PIN": "ClassPin", "POOLKEY": "ClassPoolKey", "CTRL": "ClassControl", "TOPO": "ClassTopology",
		"CLUSTERONLY": "ClassClusterOnly", "ADMIN": "ClassAdmin", "DENY": "ClassDeny", "N/A": "ClassSentinel",
	}
	retryConstants = map[string]string{
		"never": "RetryNever", "unsent-only": "RetryUnsentOnly", "safe": "RetrySafe", "local": "RetryLocal",
	}
	flagConstants = map[string]string{
		"readonly": "FlagReadOnly", "write": "FlagWrite", "denyoom": "FlagDenyOOM", "admin": "FlagAdmin", "pubsub": "FlagPubSub", "noscript": "FlagNoScript",
		"blocking": "FlagBlocking", "loading": "FlagLoading", "stale": "FlagStale", "skip_monitor": "FlagSkipMonitor", "skip_slowlog": "FlagSkipSlowLog",
		"asking": "FlagAsking", "fast": "FlagFast", "no_auth": "FlagNoAuth", "may_replicate": "FlagMayReplicate", "movablekeys": "FlagMovableKeys",
		"no_async_loading": "FlagNoAsyncLoading", "no_mandatory_keys": "FlagNoMandatoryKeys", "allow_busy": "FlagAllowBusy", "no_multi": "FlagNoMulti",
	}
)

// timeouts says where the timeout of each blocking command stands. COMMAND does not: its tips and COMMAND DOCS name the argument, but not its unit.
var timeouts = map[string]string{
	"BLPOP": "TimeoutLastSeconds", "BRPOP": "TimeoutLastSeconds", "BRPOPLPUSH": "TimeoutLastSeconds", "BLMOVE": "TimeoutLastSeconds",
	"BZPOPMIN": "TimeoutLastSeconds", "BZPOPMAX": "TimeoutLastSeconds",
	"BLMPOP": "TimeoutFirstSeconds", "BZMPOP": "TimeoutFirstSeconds",
	"XREAD": "TimeoutBlockOption", "XREADGROUP": "TimeoutBlockOption",
	"WAIT": "TimeoutLastMillis", "WAITAOF": "TimeoutLastMillis",
}

// blockingClasses are the classes of commands that wait on the server.
var blockingClasses = []string{"BLOCK", "BLOCK?", "QUAR"}

// readingContainers are containers that are a command in themselves, too: without a subcommand they read, and answer at length.
var readingContainers = []string{"COMMAND"}

// merge joins the sources into the table, sorted by name, and checks each against the other.
func merge(from *capture, facts []fact) ([]entry, error) {
	var problems []error
	complain := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }

	server := map[string]*captured{}
	for i := range from.Commands {
		server[from.Commands[i].Name] = &from.Commands[i]
	}
	entries := map[string]*entry{}
	for _, f := range facts {
		if entries[f.name] != nil {
			complain("%s stands twice in classes.tsv", f.name)
		}
		e, err := join(f, server[f.name])
		if err != nil {
			complain("%s: %w", f.name, err)
		}
		entries[f.name] = e
	}
	addContainers(entries, server)
	for name := range server {
		if entries[name] == nil {
			complain("%s is missing from classes.tsv", name)
		}
	}
	for name := range timeouts {
		if entries[name] == nil {
			complain("%s has a timeout, and is in neither source", name)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	sorted := make([]entry, 0, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		sorted = append(sorted, *entries[name])
	}
	return sorted, nil
}

// join makes the entry of one command; c is nil when the captured server does not have it.
func join(f fact, c *captured) (*entry, error) {
	e := &entry{name: f.name, class: classConstants[f.class], retry: retryConstants[f.retry], timeout: cmp.Or(timeouts[f.name], "TimeoutNone")}
	if e.class == "" {
		return e, fmt.Errorf("unknown class %q", f.class)
	}
	if e.retry == "" {
		return e, fmt.Errorf("unknown retry %q", f.retry)
	}
	if slices.Contains(blockingClasses, f.class) != (timeouts[f.name] != "") {
		return e, fmt.Errorf("class %s, and timeout %s: say in timeouts where it stands", f.class, e.timeout)
	}
	if f.retry == "safe" && f.access != "R" {
		return e, fmt.Errorf("retry is safe, and access %s: only what reads may be repeated", f.access)
	}
	if c == nil {
		switch f.access {
		case "R":
			e.flags = []string{"FlagReadOnly"}
		case "W", "?":
			e.flags = []string{"FlagWrite"}
		case "-":
		default:
			return e, fmt.Errorf("unknown access %q", f.access)
		}
	} else if err := e.describe(c, f.access); err != nil {
		return e, err
	}
	if timeouts[f.name] != "" && !slices.Contains(e.flags, "FlagBlocking") {
		e.flags = append(e.flags, "FlagBlocking")
	}
	return e, nil
}

// describe takes over what the server says, and compares it with the access that classes.tsv gives.
func (e *entry) describe(c *captured, access string) error {
	e.arity, e.firstKey, e.lastKey, e.keyStep = c.Arity, c.FirstKey, c.LastKey, c.KeyStep
	for _, flag := range c.Flags {
		constant := flagConstants[flag]
		if constant == "" {
			return fmt.Errorf("unknown flag %q: give it a constant in package command", flag)
		}
		e.flags = append(e.flags, constant)
	}
	writes, reads := slices.Contains(c.Flags, "write"), slices.Contains(c.Flags, "readonly")
	if writes != (access == "W") || reads && access != "R" {
		return fmt.Errorf("the server's flags are %q, and classes.tsv has access %s", c.Flags, access)
	}
	if slices.Contains(c.Flags, "blocking") && timeouts[e.name] == "" {
		return errors.New("the server says that it blocks: say in timeouts where its timeout stands")
	}
	return nil
}

// addContainers gives each container an entry of its own, also those that the captured server does not have (SENTINEL).
func addContainers(entries map[string]*entry, server map[string]*captured) {
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		container, _, ok := strings.Cut(name, " ")
		if !ok {
			continue
		}
		e := entries[container]
		if e == nil {
			e = &entry{name: container, arity: -2, class: "ClassContainer", retry: "RetryUnsentOnly", timeout: "TimeoutNone"}
			if slices.Contains(readingContainers, container) {
				e.class, e.retry = "ClassHeavy", "RetrySafe"
			}
			if c := server[container]; c != nil {
				e.arity, e.firstKey, e.lastKey, e.keyStep = c.Arity, c.FirstKey, c.LastKey, c.KeyStep
				for _, flag := range c.Flags {
					e.flags = append(e.flags, flagConstants[flag])
				}
			}
			entries[container] = e
		} else if !e.container {
			e.open = true // classes.tsv has it as a command of its own, whatever its first argument
		}
		e.container = true
	}
}
