package typo_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/evenkeel-go/evenkeel/internal/typo"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "size", 4},
		{"size", "size", 0},
		{"size", "sise", 1},
		{"requests", "request", 1},
		{"duratoin", "duration", 2}, // two letters that changed places
		{"kitten", "sitting", 3},
	} {
		if got := typo.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestDistanceIsOne: it is the same in both directions, 0 for the same word only, and never shorter by way of a third.
func TestDistanceIsOne(t *testing.T) {
	word := rapid.StringMatching(`[abc]{0,6}`)
	rapid.Check(t, func(rt *rapid.T) {
		a, b, c := word.Draw(rt, "a"), word.Draw(rt, "b"), word.Draw(rt, "c")
		direct := typo.Distance(a, b)
		if direct != typo.Distance(b, a) || (direct == 0) != (a == b) || direct > typo.Distance(a, c)+typo.Distance(c, b) {
			rt.Errorf("%q to %q: %d", a, b, direct)
		}
	})
}
