package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// Schema names the form of a line. It changes when a reader of the old form would
// misread the new one.
const Schema = "evenkeel.benchmarks/v1"

// line is one line of a file: exactly one of the two pointers is set.
type line struct {
	Schema      string       `json:"schema,omitempty"`
	Environment *Environment `json:"environment,omitempty"`
	Slot        *Slot        `json:"slot,omitempty"`
}

// Run is a whole file.
type Run struct {
	Environment Environment
	Slots       []Slot
}

// Writer writes a run, line by line.
type Writer struct {
	mu  sync.Mutex
	out io.Writer
}

// NewWriter begins a run by writing its environment.
func NewWriter(out io.Writer, env Environment) (*Writer, error) {
	w := &Writer{out: out}
	return w, w.write(line{Schema: Schema, Environment: &env})
}

// Slot writes one slot. A metric that is not a finite number is an error.
func (w *Writer) Slot(s Slot) error {
	for name, value := range s.Metrics {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return fmt.Errorf("record: %s of %s, %s %s, is %v", name, s.Client, s.Experiment, s.Case, value)
		}
	}
	return w.write(line{Slot: &s})
}

func (w *Writer) write(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.out.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// Read reads a run back. A last line cut short, as a killed run may leave it, is an
// error that comes with all the slots before it.
func Read(in io.Reader) (Run, error) {
	decoder := json.NewDecoder(in)
	var first line
	if err := decoder.Decode(&first); err != nil {
		return Run{}, fmt.Errorf("record: no environment: %w", err)
	}
	if first.Schema != Schema || first.Environment == nil {
		return Run{}, fmt.Errorf("record: the first line has schema %q, want %q with an environment", first.Schema, Schema)
	}
	run := Run{Environment: *first.Environment}
	for number := 2; ; number++ {
		var l line
		err := decoder.Decode(&l)
		switch {
		case errors.Is(err, io.EOF):
			return run, nil
		case err != nil:
			return run, fmt.Errorf("record: line %d: %w", number, err)
		case l.Slot == nil:
			return run, fmt.Errorf("record: line %d is no slot", number)
		}
		run.Slots = append(run.Slots, *l.Slot)
	}
}
