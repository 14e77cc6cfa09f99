package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/evenkeel-go/evenkeel/report"
)

// Result is what any experiment gives: a JSON document that can be shown.
type Result interface {
	// Page describes the result for a reader.
	Page() report.Page
}

// saved makes an empty result for each schema that can be read.
var saved = map[string]func() Result{
	RunSchema:         func() Result { return &RunResult{} },
	ChurnSchema:       func() Result { return &ChurnResult{} },
	ConnectSchema:     func() Result { return &ConnectResult{} },
	StormSchema:       func() Result { return &StormResult{} },
	IdleSchema:        func() Result { return &IdleResult{} },
	MaxClientsSchema:  func() Result { return &MaxClientsResult{} },
	SlowReadersSchema: func() Result { return &SlowReadersResult{} },
	LayersSchema:      func() Result { return &LayersResult{} },
	ZonesSchema:       func() Result { return &ZonesResult{} },
	PipelineSchema:    func() Result { return &PipelineResult{} },
	PoolSchema:        func() Result { return &PoolResult{} },
	CompareSchema:     func() Result { return &CompareResult{} },
	SLOSchema:         func() Result { return &SLOResult{} },
	DepthSchema:       func() Result { return &DepthResult{} },
	PoolSizeSchema:    func() Result { return &PoolSizeResult{} },
	DemoSchema:        func() Result { return &DemoResult{} },
}

// maxResult is more than any result takes, in bytes.
const maxResult = 1 << 30

// ReadResult reads what an experiment has saved: its JSON document, or the journal of a
// run, also one that a crash has cut.
func ReadResult(data io.Reader) (Result, error) {
	in := bufio.NewReaderSize(data, 1<<20)
	head, err := in.Peek(len(JournalSchema) + 20)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(head) == 0:
		return nil, errors.New("it is empty")
	case bytes.Contains(head, []byte(JournalSchema)):
		h, err := readJournal(in)
		if err != nil {
			return nil, err
		}
		return h.result, nil
	}
	text, err := io.ReadAll(io.LimitReader(in, maxResult))
	if err != nil {
		return nil, err
	}
	var kind struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, fmt.Errorf("it is no saved result: %w; save one with --json", err)
	}
	empty, known := saved[kind.Schema]
	if !known {
		return nil, fmt.Errorf("its schema is %q, and what can be read is %s", kind.Schema, strings.Join(slices.Sorted(maps.Keys(saved)), ", "))
	}
	r := empty()
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("it is no %s: %w", kind.Schema, err)
	}
	if run, ok := r.(*RunResult); ok {
		return run, run.check()
	}
	return r, nil
}

// check refuses a document that was cut or edited so that it cannot be shown.
func (r *RunResult) check() error {
	open := r.Loop == LoopOpen
	classes := append([]RunClass{r.Total}, r.Classes...)
	for i := range classes {
		c := &classes[i]
		if !c.Service.whole() || open != (c.Response != nil) || open && !c.Response.whole() {
			return fmt.Errorf("the times of %q are missing or damaged", c.Name)
		}
	}
	if open && (!r.Busy.whole() || !r.Late.whole()) {
		return errors.New("the lags are missing or damaged")
	}
	for _, s := range r.Seconds {
		if s.Histogram == nil || s.LengthS < 0 {
			return fmt.Errorf("the point of the time series at %v s is damaged", s.T)
		}
	}
	if !slices.IsSortedFunc(r.Seconds, func(a, b RunSecond) int { return cmp.Compare(a.T, b.T) }) {
		return errors.New("the time series is out of order")
	}
	return nil
}

// whole reports whether a reader finds in t what newRunTimes puts there.
func (t *RunTimes) whole() bool {
	return t != nil && t.Histogram != nil && t.Histogram.Count() == t.Count
}
