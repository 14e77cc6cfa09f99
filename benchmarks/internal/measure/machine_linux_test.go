package measure

import (
	"testing"
	"time"
)

func TestParseBusy(t *testing.T) {
	got, ok := parseBusy("cpu  100 20 30 9999 888 4 5 6 7 8\ncpu0 1 2 3\n")
	if want := 165 * 10 * time.Millisecond; !ok || got != want {
		t.Errorf("busy = %v, %v; want %v", got, ok, want)
	}
	for _, text := range []string{"", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8 9", "cpu 1 2 3 4 5 6 seven 8"} {
		if _, ok := parseBusy(text); ok {
			t.Errorf("%q was taken for a CPU line", text)
		}
	}
	if busy, ok := machineBusy(); !ok || busy <= 0 {
		t.Errorf("machineBusy() = %v, %v on Linux", busy, ok)
	}
}
