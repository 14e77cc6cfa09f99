// Package cli is the command line of Evenkeel: flags and wiring, nothing that
// measures or decides. It turns arguments into an experiment's options, runs the
// experiment, and shows its result as text, JSON or HTML.
//
// What it never does: it keeps no state between runs, starts no process, ends
// none (Run returns the exit code), reads the environment only through the App,
// and prints no password. Standard output carries the result alone: progress,
// notes, warnings and errors go to standard error.
//
// Invariants: with --json standard output holds exactly one JSON document, or
// nothing when the run gave no result; an error is one line that says what to
// do; -h is always the host, and help is --help. Exit codes: 0 done, 1 findings
// or a missed threshold, 2 usage, 3 could not connect or the run failed or was
// interrupted.
//
// Start reading at app.go, then run.go.
package cli
