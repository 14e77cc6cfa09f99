package report_test

import (
	"math"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{report.Int(0), "0"},
		{report.Int(999), "999"},
		{report.Int(-1000), "-1,000"},
		{report.Int(int64(math.MinInt64)), "-9,223,372,036,854,775,808"},
		{report.Fixed(1234567.891, 2), "1,234,567.89"},
		{report.Fixed(-0.0001, 2), "0.00"},
		{report.Fixed(math.NaN(), 1), "–"},
		{report.Short(20695.4), "20,695"},
		{report.Short(119.2), "119"},
		{report.Short(11.96), "12"},
		{report.Short(5.528), "5.53"},
		{report.Short(0.5), "0.5"},
		{report.Short(0.01234), "0.0123"},
		{report.Short(0), "0"},
		{report.Short(99.99), "100"},
		{report.Short(1e-15), "0"},
		{report.Short(-20), "-20"},
		{report.Micros(0.5), "0.5 µs"},
		{report.Micros(1240), "1.24 ms"},
		{report.Micros(2.007e6), "2.01 s"},
		{report.Micros(math.Inf(1)), "–"},
		{report.Duration(50 * time.Millisecond), "50 ms"},
		{report.Times(5.53), "5.53×"},
		{report.Percent(0.02), "2 %"},
		{report.Bytes(1023), "1,023 B"},
		{report.Bytes(54<<20 + 650<<10), "54.6 MiB"},
		{report.Plural(1, "conn", "conns"), "1 conn"},
		{report.Plural(1234, "conn", "conns"), "1,234 conns"},
		{report.List([]string{"a", "b", "c"}), "a, b and c"},
		{report.List(nil), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
