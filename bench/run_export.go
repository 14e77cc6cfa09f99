package bench

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
)

// CSV writes a line for each command and one for all, with a heading. Latencies are
// response times in open loop and service times in closed loop, in microseconds; a
// cell is empty where there is nothing to say.
func (r *RunResult) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{
		"command", "loop", "ok_per_s", "ok", "failed", "hits", "misses", "bytes_in", "bytes_out",
		"mean_us", "min_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us",
	}}
	float := func(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, c := range append(append([]RunClass{}, r.Classes...), r.Total) {
		row := []string{c.Name, string(r.Loop), float(c.OKPerS), whole(c.OK), whole(c.Failed), whole(c.Hits), whole(c.Misses), whole(c.BytesIn), whole(c.BytesOut)}
		t := c.Times()
		if t.Count == 0 {
			rows = append(rows, append(row, "", "", "", "", "", "", "", ""))
			continue
		}
		p999 := ""
		if t.P999Us != nil {
			p999 = float(*t.P999Us)
		}
		rows = append(rows, append(row, float(t.MeanUs), float(t.MinUs), float(t.P50Us), float(t.P90Us), float(t.P95Us), float(t.P99Us), p999, float(t.MaxUs)))
	}
	return out.WriteAll(rows)
}

// HDRLog writes the time series as an HDR histogram log, which HistogramLogAnalyzer,
// hdr-plot and the like read: an interval for each point, tagged "response" in open loop
// and "service" in closed loop.
func (r *RunResult) HDRLog(w io.Writer) error {
	tag := "service"
	if r.Loop == LoopOpen {
		tag = "response"
	}
	l, err := hist.NewLog(w, r.Begin, fmt.Sprintf("Evenkeel %s, %s, %s loop, %d connections", r.Environment.Evenkeel, r.Workload.Caption(), r.Loop, r.Params.Conns))
	if err != nil {
		return err
	}
	for _, s := range r.Seconds {
		end := ofSeconds(s.T)
		if err := l.Write(s.Histogram, tag, max(end-ofSeconds(s.LengthS), 0), end); err != nil {
			return err
		}
	}
	return nil
}

// ofSeconds is a time that a document gives in seconds.
func ofSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
