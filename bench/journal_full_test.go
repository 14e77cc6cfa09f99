package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
)

// While a journal cannot be written, as on a full disk, intervals are kept; once it can,
// nothing is missing. It is said once, and once when it is over.
func TestJournalThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	j, err := createJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultRunOptions()
	if err := j.begin(NewRunResult(Environment{}, o)); err != nil {
		t.Fatal(err)
	}
	var notes []string
	say := Progress(func(e Event) { notes = append(notes, e.Note) })
	interval := func(n int) {
		h := hist.New()
		h.RecordN(time.Millisecond, int64(n))
		j.interval(&raw.Interval{
			Counts: raw.Counts{
				Classes: []raw.ClassResult{{Class: workload.Class{Name: "GET"}, OK: int64(n), Service: h}},
				Errors:  map[string]int64{}, Failures: map[string]int64{}, Connect: hist.New(),
			},
			Elapsed: time.Second,
		}, time.Duration(n)*time.Second, say)
	}
	interval(1)
	writable := j.f
	if j.f, err = os.Open(path); err != nil {
		t.Fatal(err)
	}
	interval(2)
	interval(3)
	if j.err == nil || len(notes) != 1 || !strings.Contains(notes[0], "cannot be written") {
		t.Errorf("%v, notes %q", j.err, notes)
	}
	if err := j.f.Close(); err != nil {
		t.Fatal(err)
	}
	j.f = writable
	interval(4)
	if j.err != nil || len(notes) != 2 || !strings.Contains(notes[1], "nothing is missing") {
		t.Errorf("%v, notes %q", j.err, notes)
	}
	r := NewRunResult(Environment{}, o)
	if err := j.end(r); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadResult(bytes.NewReader(data))
	got, ok := read.(*RunResult)
	if err != nil || !ok {
		t.Fatalf("%T, %v", read, err)
	}
	if got.OK != 10 || got.ElapsedS != 4 || got.Total.Service.Count != 10 || got.Interrupted {
		t.Errorf("%d OK in %v s, %d times, interrupted %v", got.OK, got.ElapsedS, got.Total.Service.Count, got.Interrupted)
	}
}

// A series of any length keeps to its bound, and loses nothing.
func TestSeriesFolds(t *testing.T) {
	s := newSeries(time.Second)
	const intervals = 10*maxSeries + 7
	for n := range intervals {
		h := hist.New()
		h.Record(time.Duration(n) * time.Microsecond)
		i := &raw.Interval{Counts: raw.Counts{Classes: []raw.ClassResult{{OK: 1, Service: h}}}, Elapsed: time.Second}
		s.add(i, time.Duration(n+1)*time.Second)
		if n%100 == 50 { // a sliver, as around the end of the warm-up
			s.add(&raw.Interval{Elapsed: time.Millisecond}, time.Duration(n+1)*time.Second)
		}
	}
	points := s.seconds()
	if len(points) > maxSeries || len(points) < maxSeries/2 {
		t.Fatalf("%d points", len(points))
	}
	var ok, times int64
	last := 0.0
	for _, p := range points {
		ok, times = ok+p.OK, times+p.Histogram.Count()
		if p.T <= last || p.LengthS <= 0 {
			t.Fatalf("a point at %v after %v, of %v s", p.T, last, p.LengthS)
		}
		last = p.T
	}
	if ok != intervals || times != intervals || last != intervals {
		t.Errorf("%d OK, %d times, until %v of %d", ok, times, last, intervals)
	}
}
