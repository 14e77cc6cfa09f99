package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
)

// JournalSchema names the form of a run's journal: one JSON document a line. The first
// says what runs, each further one is an interval, and the last, which is missing after
// a crash, how it ended. A run that goes on adds another first line.
const JournalSchema = "evenkeel.bench.journal/v1"

// maxJournalLine is more than any interval takes, in bytes.
const maxJournalLine = 64 << 20

// journalLine is any line of a journal; just one of its parts is there.
type journalLine struct {
	Schema   string           `json:"schema,omitempty"`
	Begin    *journalBegin    `json:"begin,omitempty"`
	Interval *journalInterval `json:"interval,omitempty"`
	End      *journalEnd      `json:"end,omitempty"`
}

type journalBegin struct {
	Time        time.Time         `json:"time"`
	Environment Environment       `json:"environment"`
	Params      RunParams         `json:"params"`
	Workload    workload.Workload `json:"workload"`
	Loop        Loop              `json:"loop"`
	IdlePing    *RunTimes         `json:"idle_ping"`
	Preload     *RunPreload       `json:"preload"`
}

type journalInterval struct {
	// T is its end, in seconds of the measured part.
	T        float64          `json:"t"`
	LengthS  float64          `json:"length_s"`
	Conns    int              `json:"conns"`
	Overdue  int64            `json:"overdue"`
	Classes  []journalClass   `json:"classes"`
	Errors   map[string]int64 `json:"errors,omitempty"`
	Failures map[string]int64 `json:"conn_failures,omitempty"`
	Opened   int64            `json:"opened,omitempty"`
	Lost     int64            `json:"lost,omitempty"`
	Connect  *hist.Histogram  `json:"connect,omitempty"`
	Busy     *hist.Histogram  `json:"lag_busy,omitempty"`
	Late     *hist.Histogram  `json:"lag_late,omitempty"`
}

type journalClass struct {
	Name     string          `json:"name"`
	OK       int64           `json:"ok"`
	Hits     int64           `json:"hits,omitempty"`
	Misses   int64           `json:"misses,omitempty"`
	Failed   int64           `json:"failed,omitempty"`
	BytesIn  int64           `json:"bytes_in"`
	BytesOut int64           `json:"bytes_out"`
	Service  *hist.Histogram `json:"service"`
	Response *hist.Histogram `json:"response,omitempty"`
}

// journalEnd is what no interval says.
type journalEnd struct {
	Time               time.Time  `json:"time"`
	Interrupted        bool       `json:"interrupted"`
	Fault              string     `json:"fault,omitempty"`
	ElapsedS           float64    `json:"elapsed_s"`
	Unanswered         int64      `json:"unanswered"`
	OldestUnansweredUs float64    `json:"oldest_unanswered_us"`
	Scheduled          int64      `json:"scheduled"`
	Backlog            int64      `json:"backlog"`
	Engine             string     `json:"engine"`
	Timer              string     `json:"timer"`
	Verdict            RunVerdict `json:"verdict"`
	Server             *RunServer `json:"server"`
}

// journal appends to a file. It belongs to the goroutine that observes a run. An interval
// that cannot be written, as on a full disk, is kept and written with the next one.
type journal struct {
	f       *os.File
	at      int64 // the end of the last whole line
	pending *raw.Interval
	err     error // of the last write; nil once one succeeded again
	failed  bool  // it has been said
}

// createJournal begins a journal at a path where there is no file, or an empty one.
func createJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // a result is for others to read
	if err != nil {
		return nil, fmt.Errorf("--journal: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("is no regular file; give another")
	case err == nil && info.Size() > 0:
		err = errors.New("is not empty; give another file, or --resume to go on with it")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--journal: %s: %w", path, err), f.Close())
	}
	return &journal{f: f}, nil
}

// write appends one line, whole or not at all, and has it on the disk.
func (j *journal) write(l journalLine) error {
	b, err := json.Marshal(l)
	if err == nil {
		_, err = j.f.WriteAt(append(b, '\n'), j.at)
	}
	if err == nil {
		err = j.f.Sync()
	}
	if err != nil {
		// What is there of the line would be taken for a damaged one.
		j.err = errors.Join(err, j.f.Truncate(j.at))
		return j.err
	}
	j.at += int64(len(b)) + 1
	j.err = nil
	return nil
}

func (j *journal) begin(r *RunResult) error {
	return j.write(journalLine{Schema: JournalSchema, Begin: &journalBegin{
		Time: time.Now().UTC(), Environment: r.Environment, Params: r.Params, Workload: r.Workload, Loop: r.Loop, IdlePing: r.IdlePing, Preload: r.Preload,
	}})
}

// interval appends an interval that ended at t of the measured part. It says once that
// it cannot.
func (j *journal) interval(i *raw.Interval, t time.Duration, p Progress) {
	if j.pending != nil {
		earlier := j.pending
		earlier.Merge(&i.Counts)
		earlier.Elapsed += i.Elapsed
		earlier.Open, earlier.Backlog = i.Open, i.Backlog
		i, j.pending = earlier, nil
	}
	if err := j.write(journalLine{Interval: journalIntervalOf(i, t)}); err != nil {
		j.pending = i
		if !j.failed {
			p.Send(Event{Note: "the journal cannot be written (" + err.Error() + "): results are kept in memory until it can"})
		}
		j.failed = true
		return
	}
	if j.failed {
		p.Send(Event{Note: "the journal can be written again, and nothing is missing from it"})
	}
	j.failed = false
}

// end appends how the run ended, and closes the file.
func (j *journal) end(r *RunResult) error {
	if j.pending != nil {
		if err := j.write(journalLine{Interval: journalIntervalOf(j.pending, ofSeconds(r.ElapsedS))}); err != nil {
			return errors.Join(fmt.Errorf("the journal lacks the run's last part: %w", err), j.f.Close())
		}
	}
	err := j.write(journalLine{End: &journalEnd{
		Time: time.Now().UTC(), Interrupted: r.Interrupted, Fault: r.Fault, ElapsedS: r.ElapsedS,
		Unanswered: r.Unanswered, OldestUnansweredUs: r.OldestUnansweredUs, Scheduled: r.Scheduled, Backlog: r.Backlog,
		Engine: r.Params.Engine, Timer: r.Params.Timer, Verdict: r.Verdict, Server: r.Server,
	}})
	return errors.Join(err, j.f.Close())
}

func journalIntervalOf(i *raw.Interval, t time.Duration) *journalInterval {
	out := &journalInterval{
		T: t.Seconds(), LengthS: i.Elapsed.Seconds(), Conns: i.Open, Overdue: i.Backlog, Errors: i.Errors, Failures: i.Failures,
		Opened: i.Opened, Lost: i.Lost, Busy: i.Busy, Late: i.Late,
	}
	if i.Connect.Count() > 0 {
		out.Connect = i.Connect
	}
	for n := range i.Classes {
		c := &i.Classes[n]
		out.Classes = append(out.Classes, journalClass{
			Name: c.Class.Name, OK: c.OK, Hits: c.Hits, Misses: c.Misses, Failed: c.Errors, BytesIn: c.BytesIn, BytesOut: c.BytesOut,
			Service: c.Service, Response: c.Response,
		})
	}
	return out
}

// interval is the inverse of journalIntervalOf.
func (i *journalInterval) interval() *raw.Interval {
	out := &raw.Interval{
		Counts: raw.Counts{
			Errors: orEmpty(i.Errors), Failures: orEmpty(i.Failures), Opened: i.Opened, Lost: i.Lost,
			Connect: i.Connect, Busy: i.Busy, Late: i.Late,
		},
		Elapsed: ofSeconds(i.LengthS), Open: i.Conns, Backlog: i.Overdue,
	}
	if out.Connect == nil {
		out.Connect = hist.New()
	}
	for _, c := range i.Classes {
		out.Classes = append(out.Classes, raw.ClassResult{
			Class: workload.Class{Name: c.Name}, OK: c.OK, Hits: c.Hits, Misses: c.Misses, Errors: c.Failed, BytesIn: c.BytesIn, BytesOut: c.BytesOut,
			Service: c.Service, Response: c.Response,
		})
	}
	return out
}

func orEmpty(m map[string]int64) map[string]int64 {
	if m == nil {
		return map[string]int64{}
	}
	return m
}

// history is what a journal holds.
type history struct {
	result  *RunResult
	series  *series
	total   *raw.Counts
	elapsed time.Duration // of the measured part
	ended   bool
	whole   int64 // the bytes of its whole lines
}

// readJournal reads a journal up to its last whole line.
func readJournal(r io.Reader) (*history, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	h := &history{}
	for n := 1; ; n++ {
		text, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err != nil { // what stands after the last line's end was never finished
			break
		}
		var l journalLine
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := h.add(&l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		h.whole += int64(len(text))
	}
	if h.result == nil {
		return nil, errors.New("it has no line that says what was run")
	}
	h.finish()
	return h, nil
}

// readLine returns a line with its end, or io.EOF where there is none.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxJournalLine:
			return nil, errors.New("it is longer than any line of a journal")
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		default:
			return line, nil
		}
	}
}

func (h *history) add(l *journalLine) error {
	switch {
	case l.Begin != nil:
		if l.Schema != JournalSchema {
			return fmt.Errorf("its schema is %q, and only %s can be read", l.Schema, JournalSchema)
		}
		h.ended = false
		if h.result != nil { // the run went on
			return nil
		}
		b := l.Begin
		h.result = &RunResult{
			Schema: RunSchema, Environment: b.Environment, Params: b.Params, Workload: b.Workload, Loop: b.Loop, Begin: b.Time,
			IdlePing: b.IdlePing, Preload: b.Preload, Classes: []RunClass{}, Errors: map[string]int64{}, ConnFailures: map[string]int64{},
		}
		h.series = newSeries(ofSeconds(b.Params.IntervalS))
		return nil
	case h.result == nil:
		return errors.New("it comes before what says what was run; is the beginning of the file missing?")
	case l.Interval != nil:
		return h.interval(l.Interval)
	case l.End != nil:
		e := l.End
		r := h.result
		h.ended = true
		r.Interrupted, r.Fault = e.Interrupted, e.Fault
		r.Unanswered, r.OldestUnansweredUs, r.Scheduled, r.Backlog = e.Unanswered, e.OldestUnansweredUs, e.Scheduled, e.Backlog
		r.Params.Engine, r.Params.Timer = e.Engine, e.Timer
		r.Verdict, r.Server = e.Verdict, e.Server
		return nil
	default:
		return errors.New("it is no line of a journal")
	}
}

func (h *history) interval(i *journalInterval) error {
	open := h.result.Loop == LoopOpen
	for _, c := range i.Classes {
		if c.Service == nil || (c.Response == nil) == open {
			return errors.New("an interval lacks its times")
		}
	}
	if i.LengthS < 0 || (i.Busy == nil || i.Late == nil) == open {
		return errors.New("an interval contradicts the kind of run")
	}
	in := i.interval()
	h.elapsed += in.Elapsed
	h.series.add(in, ofSeconds(i.T))
	switch {
	case h.total == nil:
		h.total = &in.Counts
	case len(in.Classes) != len(h.total.Classes):
		return errors.New("an interval has other commands than the one before")
	default:
		h.total.Merge(&in.Counts)
	}
	return nil
}

// finish sums up.
func (h *history) finish() {
	r := h.result
	if h.total != nil {
		r.count(h.total, h.elapsed)
	} else {
		r.total(nil)
	}
	r.Seconds = h.series.seconds()
	if !h.ended {
		r.Interrupted = true
		r.Verdict = RunVerdict{Reason: "the run's end is not in its journal, and the CPU of the generator neither", Workers: []RunWorker{}}
	}
}
