package dialect

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
)

// RedisTest is one test of redis-benchmark, as it was run.
type RedisTest struct {
	// Title names the test, such as "SET" or the command line that was given.
	Title string
	// Requests were answered without an error, in Elapsed.
	Requests int64
	Elapsed  time.Duration
	// Clients are the connections, and Payload is the size of a value in bytes.
	Clients int
	Payload int64
	// KeepAlive is false where each request has a connection of its own.
	KeepAlive bool
	// Threads is -threads; 0 where it was not given.
	Threads int
	// Config is what the server says of its configuration; without "save" and
	// "appendonly" the lines about the host are left out.
	Config map[string]string
	// Times are the latencies of all requests.
	Times *hist.Histogram
}

// PerSecond is the throughput.
func (t *RedisTest) PerSecond() float64 {
	if t.Elapsed <= 0 {
		return 0
	}
	return float64(t.Requests) / t.Elapsed.Seconds()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Text writes the report of a test as redis-benchmark does without -q and --csv.
func (t *RedisTest) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "====== %s ======\n", t.Title)
	fmt.Fprintf(&b, "  %d requests completed in %.2f seconds\n", t.Requests, t.Elapsed.Seconds())
	fmt.Fprintf(&b, "  %d parallel clients\n", t.Clients)
	fmt.Fprintf(&b, "  %d bytes payload\n", t.Payload)
	fmt.Fprintf(&b, "  keep alive: %d\n", map[bool]int{true: 1}[t.KeepAlive])
	if save, ok := t.Config["save"]; ok {
		fmt.Fprintf(&b, "  host configuration \"save\": %s\n  host configuration \"appendonly\": %s\n", save, t.Config["appendonly"])
	}
	if t.Threads > 0 {
		fmt.Fprintf(&b, "  multi-thread: yes\n  threads: %d\n", t.Threads)
	} else {
		b.WriteString("  multi-thread: no\n")
	}
	b.WriteString("\nLatency by percentile distribution:\n")
	t.percentiles(&b)
	b.WriteString("\nCumulative distribution of latencies:\n")
	t.cumulative(&b)
	fmt.Fprintf(&b, "\nSummary:\n  throughput summary: %.2f requests per second\n  latency summary (msec):\n", t.PerSecond())
	fmt.Fprintf(&b, "    %9s %9s %9s %9s %9s %9s\n", "avg", "min", "p50", "p95", "p99", "max")
	fmt.Fprintf(&b, "    %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f\n\n", ms(t.Times.Mean()), ms(t.Times.Min()), ms(t.Times.Quantile(0.5)),
		ms(t.Times.Quantile(0.95)), ms(t.Times.Quantile(0.99)), ms(t.Times.Max()))
	_, err := io.WriteString(w, b.String())
	return err
}

// percentiles halves the distance to 100 with each line, until all requests are in it.
func (t *RedisTest) percentiles(b *strings.Builder) {
	n := t.Times.Count()
	if n == 0 {
		return
	}
	line := func(percent float64, d time.Duration) (upTo int64) {
		upTo = t.Times.CountUpTo(d)
		fmt.Fprintf(b, "%.3f%% <= %.3f milliseconds (cumulative count %d)\n", percent, ms(d), upTo)
		return upTo
	}
	for percent := 0.0; percent < 100; percent += (100 - percent) / 2 {
		if line(percent, t.Times.AtRank(max(int64(math.Ceil(percent/100*float64(n))), 1))) == n {
			break
		}
	}
	line(100, t.Times.Max())
}

// cumulative goes in steps of 0.1 ms up to 2 ms and of 1 ms beyond, and leaves out lines
// that say the same as the one before.
func (t *RedisTest) cumulative(b *strings.Builder) {
	n, before := t.Times.Count(), int64(-1)
	step := 100 * time.Microsecond
	for at := step; n > 0 && before < n; at += step {
		if at > 2*time.Millisecond {
			step = time.Millisecond
		}
		// A gap of hours takes no time to cross.
		if next := t.Times.AtRank(max(before, 0) + 1); next > at+step && before >= 0 {
			at = next - (next-at)%step
		}
		if upTo := t.Times.CountUpTo(at); upTo != before {
			fmt.Fprintf(b, "%.3f%% <= %.3f milliseconds (cumulative count %d)\n", 100*float64(upTo)/float64(n), ms(at), upTo)
			before = upTo
		}
	}
}

// Line is the report of a test as redis-benchmark gives it with -q.
func (t *RedisTest) Line() string {
	return fmt.Sprintf("%s: %.2f requests per second, p50=%.3f msec", t.Title, t.PerSecond(), ms(t.Times.Quantile(0.5)))
}

// redisHeading is the first line with --csv.
var redisHeading = [...]string{
	"test", "rps", "avg_latency_ms", "min_latency_ms", "p50_latency_ms", "p95_latency_ms", "p99_latency_ms", "max_latency_ms",
}

// RedisCSVHeading is the first line of redis-benchmark's --csv.
func RedisCSVHeading() string { return quoteAll(redisHeading[:]) }

// CSV is the line of a test with --csv: all cells are quoted.
func (t *RedisTest) CSV() string {
	cells := []string{t.Title, strconv.FormatFloat(t.PerSecond(), 'f', 2, 64)}
	for _, d := range []time.Duration{t.Times.Mean(), t.Times.Min(), t.Times.Quantile(0.5), t.Times.Quantile(0.95), t.Times.Quantile(0.99), t.Times.Max()} {
		cells = append(cells, strconv.FormatFloat(ms(d), 'f', 3, 64))
	}
	return quoteAll(cells)
}

// quoteAll quotes every cell, which encoding/csv does only where it has to.
func quoteAll(cells []string) string {
	quoted := make([]string, len(cells))
	for i, c := range cells {
		quoted[i] = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
	}
	return strings.Join(quoted, ",")
}
