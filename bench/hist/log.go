package hist

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// logLongest is the longest duration of an HDR log: its readers take memory for the
// whole range, and a day is beyond any reply.
const logLongest = 24 * time.Hour

// Log writes HDR histogram logs, version 1.3 with V2 histograms in nanoseconds: what
// HistogramLogAnalyzer, hdr-plot and the like read. Make one with NewLog.
type Log struct {
	w     *hdrhistogram.HistogramLogWriter
	begin time.Time
}

// NewLog writes the head of a log whose times count from begin.
func NewLog(w io.Writer, begin time.Time, comment string) (*Log, error) {
	l := &Log{w: hdrhistogram.NewHistogramLogWriter(w), begin: begin}
	ms := begin.UnixMilli()
	l.w.SetBaseTime(ms)
	if comment != "" {
		if err := l.w.OutputComment(strings.Map(oneLine, comment)); err != nil {
			return nil, err
		}
	}
	for _, write := range []func() error{
		l.w.OutputLogFormatVersion,
		func() error { return l.w.OutputStartTime(ms) },
		l.w.OutputLegend,
	} {
		if err := write(); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Write appends one interval, from and to counted from the log's beginning. The tag
// names what was measured, such as "GET"; may be empty; commas and blanks in it become
// underscores. Durations over a day are written as a day.
func (l *Log) Write(h *Histogram, tag string, from, to time.Duration) error {
	hdr, err := h.hdr()
	if err != nil {
		return err
	}
	hdr.SetTag(strings.Map(oneWord, tag))
	hdr.SetStartTimeMs(l.begin.Add(from).UnixMilli())
	hdr.SetEndTimeMs(l.begin.Add(to).UnixMilli())
	return l.w.OutputIntervalHistogram(hdr)
}

// hdr converts to the HDR layout. A bucket goes where its middle is, the shortest
// and the longest duration where they are.
func (h *Histogram) hdr() (*hdrhistogram.Histogram, error) {
	highest := min(max(h.Max(), time.Second), logLongest)
	out := hdrhistogram.New(1, int64(highest), 3)
	for b := range h.Buckets() {
		// The middle of the first or last bucket may lie outside of what was recorded.
		v := min(max(int64(math.Round(b.middle())), int64(h.min)), int64(min(h.max, logLongest)))
		n := b.Count
		if b.High >= h.max {
			n--
		}
		if err := out.RecordValues(v, n); err != nil {
			return nil, fmt.Errorf("HDR log: %w", err)
		}
	}
	if h.Count() > 0 {
		if err := out.RecordValue(int64(min(h.max, logLongest))); err != nil {
			return nil, fmt.Errorf("HDR log: %w", err)
		}
	}
	return out, nil
}

func oneLine(r rune) rune {
	if r == '\r' || r == '\n' {
		return ' '
	}
	return r
}

func oneWord(r rune) rune {
	switch r {
	case ',', ' ', '\r', '\n', '\t':
		return '_'
	default:
		return r
	}
}
