package hist

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// wire is the saved form. The buckets are pairs, flat: how many buckets to go on
// from the last one (from bucket 0 at first), and the count there.
type wire struct {
	Grid    int     `json:"grid"`
	Count   int64   `json:"count"`
	SumNs   float64 `json:"sum_ns"`
	MinNs   int64   `json:"min_ns"`
	MaxNs   int64   `json:"max_ns"`
	Buckets []int64 `json:"buckets"`
}

// MarshalJSON implements json.Marshaler: the exact figures and the buckets that hold
// something, about six bytes each.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	if h == nil {
		return []byte("null"), nil
	}
	w := wire{Grid: gridSize, Count: h.count, SumNs: h.sum, MinNs: int64(h.Min()), MaxNs: int64(h.max), Buckets: []int64{}}
	last := 0
	for b := range h.Buckets() {
		i := index(uint64(b.Low))
		w.Buckets = append(w.Buckets, int64(i-last), b.Count)
		last = i
	}
	return json.Marshal(w)
}

// UnmarshalJSON implements json.Unmarshaler. It replaces what h held, and leaves h as
// it was when the data contradict themselves.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	read, err := w.histogram()
	if err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	*h = *read
	return nil
}

// histogram checks what was read: a saved file may have been cut, or edited.
func (w *wire) histogram() (*Histogram, error) {
	switch {
	case w.Grid != gridSize:
		return nil, fmt.Errorf("the grid is %d, and only %d can be read", w.Grid, gridSize)
	case len(w.Buckets)%2 != 0:
		return nil, errors.New("the buckets are not pairs")
	case w.Count < 0 || w.MinNs < 0 || w.MaxNs < w.MinNs:
		return nil, errors.New("count, minimum or maximum cannot be")
	case math.IsNaN(w.SumNs) || w.SumNs < 0:
		return nil, errors.New("the sum cannot be")
	}
	h := New()
	at := int64(0)
	for i := 0; i < len(w.Buckets); i += 2 {
		step, n := w.Buckets[i], w.Buckets[i+1]
		if step < 0 || step == 0 && i > 0 || step >= buckets-at || n < 1 || n > math.MaxInt64-h.count {
			return nil, errors.New("a bucket is out of bounds")
		}
		at += step
		h.counts[at] = n
		h.count += n
	}
	if h.count != w.Count {
		return nil, fmt.Errorf("the buckets hold %d, and the count is %d", h.count, w.Count)
	}
	if h.count == 0 {
		return h, nil
	}
	h.sum, h.min, h.max = w.SumNs, time.Duration(w.MinNs), time.Duration(w.MaxNs)
	if h.counts[index(uint64(h.min))] == 0 || h.counts[index(uint64(h.max))] == 0 || int64(index(uint64(h.max))) != at {
		return nil, errors.New("minimum or maximum are in no bucket")
	}
	return h, nil
}
