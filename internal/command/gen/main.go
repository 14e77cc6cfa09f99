// Gen writes the command table of package command from two sources beside it: commands.json, what a server said of its commands, and classes.tsv, what
// each command means for the conn it runs on and whether it may be repeated. It needs no server. With -capture it first writes commands.json anew.
//
//	go run ./gen                              # in internal/command: write table_gen.go
//	go run ./gen -capture 127.0.0.1:6379      # ask that server first
//
// It refuses sources that contradict each other, or a command that one of them leaves out, with a line that says which.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	var (
		address = flags.String("capture", "", "ask the server at this `host:port` (or unix socket path) for its commands first")
		dir     = flags.String("dir", "gen", "`directory` of commands.json and classes.tsv")
		out     = flags.String("out", "table_gen.go", "`file` to write")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	commands, classes := filepath.Join(*dir, "commands.json"), filepath.Join(*dir, "classes.tsv")
	if *address != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		captured, err := ask(ctx, *address)
		if err != nil {
			return fmt.Errorf("capture from %s: %w", *address, err)
		}
		text, err := captured.encode()
		if err != nil {
			return err
		}
		if err := os.WriteFile(commands, text, 0o644); err != nil {
			return err
		}
	}
	source, err := generate(commands, classes)
	if err != nil {
		return err
	}
	return os.WriteFile(*out, source, 0o644)
}

// generate makes the Go source of the table from the two files.
func generate(commands, classes string) ([]byte, error) {
	captured, err := readCapture(commands)
	if err != nil {
		return nil, err
	}
	facts, err := readFacts(classes)
	if err != nil {
		return nil, err
	}
	entries, err := merge(captured, facts)
	if err != nil {
		return nil, err
	}
	return render(captured.Server, entries)
}
