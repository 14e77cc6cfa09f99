package dialect

import (
	"encoding/csv"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
)

func sample() *RedisTest {
	t := &RedisTest{
		Title: "SET", Requests: 1000, Elapsed: 250 * time.Millisecond, Clients: 50, Payload: 3, KeepAlive: true,
		Config: map[string]string{"save": "3600 1", "appendonly": "no"}, Times: hist.New(),
	}
	for n := range 999 {
		t.Times.Record(time.Duration(100+n) * time.Microsecond)
	}
	t.Times.Record(3 * time.Hour)
	return t
}

var digits = regexp.MustCompile(`-?\d+(\.\d+)?`)

// shape keeps how each number is written, and not what it is.
func shape(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = digits.ReplaceAllStringFunc(strings.TrimRight(line, "\n"), func(n string) string {
			_, decimals, _ := strings.Cut(n, ".")
			return "N" + strconv.Itoa(len(decimals))
		})
		// Columns are as wide as their heading says; how many blanks come before depends on the number.
		line = strings.Join(strings.Fields(line), " ")
		if len(lines) == 0 || lines[len(lines)-1] != line {
			lines = append(lines, line)
		}
	}
	return lines
}

// The output has the shape of redis-benchmark's own, line for line. testdata has what version 7.0.15 printed last, after its progress, for
// -n 2000 -t set with -q, --csv or neither, on a server started with --save "".
func TestShapeIsRedisBenchmarks(t *testing.T) {
	recorded := func(form string) string {
		t.Helper()
		text, err := os.ReadFile("testdata/redis-benchmark-7.0.15." + form)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	ours := sample()
	ours.Config["save"] = "" // as that server had it
	var text strings.Builder
	if err := ours.Text(&text); err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]string{
		"text": {recorded("text"), text.String()}, "-q": {recorded("q"), ours.Line() + "\n\n"}, "--csv": {recorded("csv"), RedisCSVHeading() + "\n" + ours.CSV() + "\n"},
	} {
		want, got := shape(pair[0]), shape(pair[1])
		if strings.Join(want, "\n") != strings.Join(got, "\n") {
			t.Errorf("%s: redis-benchmark prints\n%s\nand this\n%s", name, pair[0], pair[1])
		}
	}
}

func TestDistributionsAreWhole(t *testing.T) {
	test := sample()
	var b strings.Builder
	test.percentiles(&b)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if !strings.HasPrefix(lines[0], "0.000% <= 0.100 milliseconds (cumulative count 1)") || !strings.HasPrefix(lines[len(lines)-1], "100.000% <= 10800000.000") {
		t.Errorf("from %q to %q", lines[0], lines[len(lines)-1])
	}
	b.Reset()
	test.cumulative(&b)
	lines = strings.Split(strings.TrimSpace(b.String()), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "100.000%") || !strings.HasSuffix(last, "count 1000)") || len(lines) > 20 {
		t.Errorf("%d lines, the last %q", len(lines), last)
	}
	b.Reset()
	empty := &RedisTest{Title: "GET", Times: hist.New()}
	if err := empty.Text(&b); err != nil || strings.Contains(b.String(), "NaN") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestCSVOfAnyTitle(t *testing.T) {
	test := sample()
	test.Title = `eval "return 1", 0`
	row, err := csv.NewReader(strings.NewReader(test.CSV())).Read()
	if err != nil || row[0] != test.Title || row[1] != "4000.00" {
		t.Errorf("%q, %v", row, err)
	}
}
