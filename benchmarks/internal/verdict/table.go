package verdict

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/clients"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/stats"
)

// column is a metric in a table.
type column struct {
	metric record.Metric
	title  string
	// compared: a second column has ours divided by this client's.
	compared bool
}

// columns are shown where a case has their metric, in this order.
var columns = [...]column{
	{record.OpsPerSecond, "ops/s", true},
	{record.NsPerOp, "ns/op", true},
	{record.ClientCPU, "client µs/op", true},
	{record.ServerCPU, "server µs/cmd", false},
	{record.P50, "p50 µs", false},
	{record.P99, "p99 µs", true},
	{record.P999, "p999 µs", false},
	{record.Allocs, "allocs/op", false},
	{record.AllocBytes, "B/op", false},
	{record.Batch, "cmds/read", false},
	{record.HeapPerConn, "heap B/conn", true},
	{record.StackPerConn, "stack B/conn", false},
	{record.GoroutinesPerConn, "goroutines/conn", false},
	{record.OpenRate, "opened/s", false},
	{record.IdleCPU, "idle CPU µs/s", false},
	{record.Conns, "conns", false},
}

// disturbed is the share of the machine used by others above which a run is doubtful.
const disturbed = 0.08

// Report writes all tables of a run. detail adds the tables of each case to those of
// the verdicts. It returns how many requirements fail.
func Report(out io.Writer, run record.Run, detail bool) (failed int, err error) {
	p := &printer{out: out}
	p.printf("%s\n", run.Environment)
	p.modules(run)
	p.quality(run)
	if detail {
		for _, c := range cases(run) {
			p.caseTable(run, c)
		}
	}
	failed = p.verdicts(run)
	return failed, p.err
}

// printer keeps the first error of a writer.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format, args...)
	}
}

// grid prints aligned rows.
func (p *printer) grid(rows [][]string) {
	if p.err != nil {
		return
	}
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, p.err = fmt.Fprintln(table, strings.Join(row, "\t")); p.err != nil {
			return
		}
	}
	p.err = table.Flush()
}

func (p *printer) modules(run record.Run) {
	var names []string
	for name := range run.Environment.Modules {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p.printf("  %s %s\n", name, run.Environment.Modules[name])
	}
}

// quality says what was left out, and how quiet the machine was.
func (p *printer) quality(run record.Run) {
	var others []float64
	for _, s := range run.Slots {
		if v, ok := s.Metrics[record.OtherCPU]; ok {
			others = append(others, v)
		}
		if !usable(s) {
			reason := s.Failed
			if reason == "" {
				reason = fmt.Sprintf("%.0f calls failed", s.Metrics[record.Errors])
			}
			p.printf("  left out: %s, %s %s, round %d: %s\n", s.Client, s.Experiment, s.Case, s.Round, reason)
		}
	}
	if len(others) == 0 {
		return
	}
	median, worst := stats.Median(others), slices.Max(others)
	p.printf("  CPU used by others: median %.0f %%, worst slot %.0f %%", median*100, worst*100)
	if median > disturbed {
		p.printf(" (doubtful: repeat the run on a quiet machine)")
	}
	p.printf("\n")
}

// caseKey is one case of one experiment.
type caseKey struct{ experiment, label string }

// cases lists them in the order in which they were measured.
func cases(run record.Run) []caseKey {
	var all []caseKey
	seen := map[caseKey]bool{}
	for _, s := range run.Slots {
		key := caseKey{s.Experiment, s.Case}
		if !seen[key] {
			seen[key] = true
			all = append(all, key)
		}
	}
	return all
}

// caseTable has a row for each client: medians, and in the columns with × the median of
// ours divided by this client's, with its 95 % interval.
func (p *printer) caseTable(run record.Run, key caseKey) {
	var names []string
	present := map[record.Metric]bool{}
	rounds := map[int]bool{}
	for _, s := range run.Slots {
		if s.Experiment != key.experiment || s.Case != key.label || !usable(s) {
			continue
		}
		if !slices.Contains(names, s.Client) {
			names = append(names, s.Client)
		}
		rounds[s.Round] = true
		for metric := range s.Metrics {
			present[metric] = true
		}
	}
	slices.Sort(names)
	ours := slices.Contains(names, clients.Evenkeel)
	header := []string{"client"}
	for _, c := range columns {
		if present[c.metric] {
			header = append(header, c.title)
			if c.compared && ours {
				header = append(header, "ours ×")
			}
		}
	}
	rows := [][]string{header}
	for _, name := range names {
		row := []string{name}
		for _, c := range columns {
			if !present[c.metric] {
				continue
			}
			values := series(run, key.experiment, key.label, name, c.metric)
			row = append(row, figure(stats.Median(inOrder(values)), len(values)))
			if c.compared && ours {
				row = append(row, ratioCell(run, key, name, c.metric))
			}
		}
		rows = append(rows, row)
	}
	p.printf("\n%s, %s, median of %d rounds\n", key.experiment, key.label, len(rounds))
	p.grid(rows)
}

func ratioCell(run record.Run, key caseKey, peer string, metric record.Metric) string {
	if peer == clients.Evenkeel {
		return ""
	}
	ours := series(run, key.experiment, key.label, clients.Evenkeel, metric)
	theirs := series(run, key.experiment, key.label, peer, metric)
	ratios := inOrder(combine(ours, theirs, func(a, b float64) float64 { return a / b }))
	if len(ratios) == 0 {
		return "-"
	}
	interval, ok := stats.MedianInterval(ratios, confidence)
	return withInterval(stats.Median(ratios), interval, ok)
}

func withInterval(median float64, interval stats.Interval, ok bool) string {
	if !ok {
		return fmt.Sprintf("%.2f", median)
	}
	return fmt.Sprintf("%.2f [%.2f–%.2f]", median, interval.Low, interval.High)
}

// figure prints three significant digits, and whole numbers whole.
func figure(v float64, n int) string {
	switch {
	case n == 0:
		return "-"
	case v >= 100 || v <= -100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// title is a metric's name in tables.
func title(metric record.Metric) string {
	for _, c := range columns {
		if c.metric == metric {
			return c.title
		}
	}
	return string(metric)
}

// verdicts prints what must hold, of the cases that were measured.
func (p *printer) verdicts(run record.Run) (failed int) {
	unmeasured := 0
	rows := [][]string{{"what", "case", "ours", "against", "required", "median", "95 % interval", "rounds", "verdict"}}
	for _, r := range Requirements() {
		measured := false
		for _, c := range cases(run) {
			if c.experiment != r.Experiment || r.Case != "" && c.label != r.Case {
				continue
			}
			measured = true
			here := r
			here.Case = c.label
			j := Judge(run, here)
			if j.Verdict == Fails {
				failed++
			}
			rows = append(rows, j.row())
		}
		if !measured {
			unmeasured++
		}
	}
	if len(rows) > 1 {
		p.printf("\nWhat must hold (ratios are ours divided by theirs, round by round)\n")
		p.grid(rows)
	}
	if unmeasured > 0 {
		p.printf("%d more things must hold in cases that this run did not measure\n", unmeasured)
	}
	return failed
}

func (j Judgement) row() []string {
	median, interval := "-", "-"
	if j.Rounds > 0 {
		median = fmt.Sprintf("%.3g", j.Median)
	}
	if j.Verdict != TooFew && j.Verdict != NoData {
		interval = fmt.Sprintf("%.3g–%.3g", j.Interval.Low, j.Interval.High)
	}
	against := j.Peer
	switch {
	case len(j.Peers) == 0 && j.Minus != "":
		against = "(less " + j.Minus + ")"
	case len(j.Peers) == 0:
		against = "(itself)"
	case len(j.Peers) > 1 && against != "":
		against += " (best)"
	case against == "":
		against = strings.Join(j.Peers, ", ")
	}
	return []string{title(j.Metric), j.Experiment + " " + j.Case, j.Ours, against, j.want(), median, interval, strconv.Itoa(j.Rounds), string(j.Verdict)}
}
