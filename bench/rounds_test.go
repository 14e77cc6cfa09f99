package bench

import (
	"math"
	"testing"
)

func TestIntervalOfAMedian(t *testing.T) {
	// From the binomial distribution, as tables of the sign test have it.
	for n, skip := range map[int]int{1: 0, 5: 0, 6: 0, 8: 0, 9: 1, 20: 5, 30: 9, 100: 39, 1000: 468} {
		if got := intervalSkip(n, sure); got != skip {
			t.Errorf("%d values: %d skipped, want %d", n, got, skip)
		}
	}
	values := []float64{9, 1, 8, 2, 7, 3, 6, 4, 5}
	if e := estimate(values); e.Median != 5 || e.Low != 2 || e.High != 8 || e.Rounds != 9 || values[0] != 9 || !e.holds(2) || e.holds(1.9) || e.holds(math.NaN()) {
		t.Errorf("%+v of %v", e, values)
	}
	if e := estimate([]float64{1, 2}); e.Median != 1.5 || e.Low != 1 || e.High != 2 {
		t.Errorf("%+v", e)
	}
	if e := estimate(nil); e != nil {
		t.Errorf("%+v of nothing", e)
	}
}

// Endpoints are compared within each round, so that what slows all of a round slows no
// endpoint against another.
func TestZonesRank(t *testing.T) {
	r := ZonesResult{Endpoints: []ZonesEndpoint{
		{Pings: 8, PingP50Us: 3_500}, {Pings: 8, PingP50Us: 1_000}, {Pings: 8, PingP50Us: 1_001}, {Errors: 1}, {Pings: 1, PingP50Us: 2_000},
	}}
	var rounds [][]float64
	for n := range 8 {
		slow := float64(n*n) * 100
		rounds = append(rounds, []float64{3_300 + slow, 900 + slow, 900 + slow + float64(n%2*2-1), 0, 0})
	}
	rounds[0][4] = 5_000
	r.rank(rounds)
	if r.Nearest == nil || *r.Nearest != 1 || len(r.Tied) != 2 || r.Tied[0] != 2 || r.Tied[1] != 4 {
		t.Errorf("nearest %v, tied %v", r.Nearest, r.Tied)
	}
	for i, want := range []Distance{DistanceFar, DistanceNear, DistanceZone, DistanceUnknown, DistanceZone} {
		if got := r.Endpoints[i].Distance; got != want {
			t.Errorf("endpoint %d is %q, want %q", i, got, want)
		}
	}
	if e := r.Endpoints[0].Farther; e == nil || e.Low != 2_400 || e.High != 2_400 || e.Rounds != 8 {
		t.Errorf("%+v", e)
	}
	if r.Endpoints[1].Farther != nil || r.Endpoints[3].Farther != nil {
		t.Error("the nearest, or one without an answer, is farther than the nearest")
	}
}

// In many rounds everyone has followed everyone else, and had each place.
func TestTurns(t *testing.T) {
	const n = 5
	order, again := turns(n, 7), turns(n, 7)
	var followed [n][n]int
	var places [n][n]int
	for range 200 {
		round, same := order(), again()
		for i, at := range round {
			places[at][i]++
			if i > 0 {
				followed[at][round[i-1]]++
			}
			if same[i] != at {
				t.Fatal("the same seed gives another order")
			}
		}
	}
	for a := range n {
		for b := range n {
			if places[a][b] == 0 || (followed[a][b] == 0) != (a == b) {
				t.Errorf("%d had place %d %d times and followed it %d times", a, b, places[a][b], followed[a][b])
			}
		}
	}
}
