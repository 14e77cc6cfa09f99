//go:build !race

package evenkeel

import "testing"

// The race detector allocates on its own account, so allocations are judged without it.
func TestGettersDoNotAllocate(t *testing.T) {
	bulk, number, double := replyOf(t, "$2\r\n42\r\n"), replyOf(t, ":42\r\n"), replyOf(t, ",4.2\r\n")
	buf := make([]byte, 0, 64)
	var bad int
	note := func(err error) {
		if err != nil {
			bad++
		}
	}
	got := testing.AllocsPerRun(100, func() {
		_, err := bulk.Text()
		note(err)
		_, err = bulk.AppendTo(buf)
		note(err)
		_, err = double.AppendTo(buf)
		note(err)
		_, err = bulk.Int()
		note(err)
		_, err = number.Int()
		note(err)
		_, err = double.Float()
		note(err)
		note(bulk.Err())
	})
	if got != 0 || bad != 0 {
		t.Errorf("%v allocations, %d errors; want none", got, bad)
	}
}
