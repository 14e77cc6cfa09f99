package bench

import (
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
)

// Every reply is in exactly one cell, in the column of its moment and the row of its time.
func TestHeatMapHasEveryReplyOnce(t *testing.T) {
	var r RunResult
	for i := range 3*heatColumns + 7 {
		h := hist.New()
		if i != 5 { // a second without a reply
			h.RecordN(50*time.Microsecond, 1000)
			h.RecordN(time.Duration(i+1)*time.Millisecond, 3)
		}
		r.Seconds = append(r.Seconds, RunSecond{T: float64(i + 1), LengthS: 1, Histogram: h})
	}
	maps := r.heatMaps()
	if len(maps) != 1 {
		t.Fatalf("%d maps, want 1", len(maps))
	}
	m := maps[0]
	if n := len(m.Counts); n > heatColumns || n < heatColumns/2 {
		t.Errorf("%d columns of %d seconds, want at most %d", n, len(r.Seconds), heatColumns)
	}
	if m.X[0] != 0 || m.X[len(m.X)-1] != float64(len(r.Seconds)) {
		t.Errorf("the columns run from %v to %v, want 0 to %d", m.X[0], m.X[len(m.X)-1], len(r.Seconds))
	}
	var sum, fast int64
	for _, column := range m.Counts {
		for j, n := range column {
			sum += n
			if m.Y[j] <= 50 && 50 < m.Y[j+1] {
				fast += n
			}
		}
	}
	seconds := int64(len(r.Seconds) - 1)
	if sum != 1003*seconds || fast != 1000*seconds {
		t.Errorf("%d replies in all and %d of 50 µs, want %d and %d", sum, fast, 1003*seconds, 1000*seconds)
	}
}

func TestNoHeatMapOfNothing(t *testing.T) {
	r := RunResult{Seconds: []RunSecond{{T: 1, LengthS: 1, Histogram: hist.New()}}}
	if maps := r.heatMaps(); maps != nil {
		t.Errorf("%d maps of no reply", len(maps))
	}
}
