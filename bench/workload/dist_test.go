package workload

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// tolerance is how many standard deviations a count may differ from what is expected. Seeds are fixed: a test that passes once passes always.
const tolerance = 4.5

func near2(t *testing.T, what string, got, draws int, p float64) {
	t.Helper()
	want, sigma := float64(draws)*p, math.Sqrt(float64(draws)*p*(1-p))
	if math.Abs(float64(got)-want) > tolerance*sigma+1 {
		t.Errorf("%s: %d of %d draws, want %.0f ± %.0f", what, got, draws, want, sigma)
	}
}

// TestZipf compares the ranks drawn with their exact probabilities, for exponents on both sides of 1, at it and next to it.
func TestZipf(t *testing.T) {
	const draws = 400_000
	for _, n := range []uint64{1, 2, 3, 1000} {
		for _, s := range []float64{0, 0.0242, 0.3, 0.855, 0.99, 1 - 1e-13, 1, 1 + 1e-9, 1.2, 2.0994, 5, 20} {
			sum := 0.0
			for k := range n {
				sum += math.Pow(float64(k+1), -s)
			}
			z, r, counts := newZipf(s, n), newRandom(7, 1), make([]int, n)
			for range draws {
				counts[z.draw(&r)]++
			}
			chi := 0.0
			cells := 0
			for k, got := range counts {
				p := math.Pow(float64(k+1), -s) / sum
				if want := p * draws; want >= 5 {
					chi += (float64(got) - want) * (float64(got) - want) / want
					cells++
				}
				if k < 5 {
					near2(t, "rank", got, draws, p)
				}
			}
			if free := float64(cells - 1); free > 0 && chi > free+6*math.Sqrt(2*free)+10 {
				t.Errorf("n %d, exponent %v: chi square %.0f over %d cells", n, s, chi, cells)
			}
		}
	}
}

// TestZipfOfManyKeys: the share of the first thousand of 10^12 keys is that of the sums.
func TestZipfOfManyKeys(t *testing.T) {
	const n, top, draws = 1e12, 1000, 200_000
	for _, s := range []float64{0.99, 1, 1.3} {
		z := newZipf(s, n)
		r := newRandom(3, 3)
		first := 0.0
		for k := 1.0; k <= top; k++ {
			first += math.Pow(k, -s)
		}
		rest := z.integral(n+0.5) - z.integral(top+0.5) // of so smooth a function the integral is the sum
		got := 0
		for range draws {
			if z.draw(&r) < top {
				got++
			}
		}
		near2(t, "top 1000", got, draws, first/(first+rest))
	}
}

func TestUniformAndHotSet(t *testing.T) {
	const n, draws = 10_000, 300_000
	hot := Dist{Kind: HotSet, Steps: []HotStep{{Keys: 0.001, Requests: 0.3}, {Keys: 0.01, Requests: 0.55}, {Keys: 0.5, Requests: 0.99}}}
	for name, d := range map[string]Dist{"spread": hot, "ordered": {Kind: HotSet, Steps: hot.Steps, Ordered: true}} {
		w, r := newDrawer(&d, n), newRandom(1, 1)
		rankOf := make([]uint64, n)
		for i := range uint64(n) {
			k := i
			if !d.Ordered {
				k = w.spread.of(i)
			}
			rankOf[k] = i
		}
		var top [3]int
		for range draws {
			rank := rankOf[w.draw(&r, nil)]
			for i, s := range d.Steps {
				if float64(rank) < s.Keys*n {
					top[i]++
				}
			}
		}
		for i, s := range d.Steps {
			near2(t, name, top[i], draws, s.Requests)
		}
	}
	w, r, counts := newDrawer(&Dist{}, 100), newRandom(1, 1), make([]int, 100)
	for range draws {
		counts[w.draw(&r, nil)]++
	}
	for _, got := range counts {
		near2(t, "uniform", got, draws, 0.01)
	}
}

func TestGaussian(t *testing.T) {
	const n, draws = 100_000, 200_000
	for _, c := range []struct{ mean, stddev float64 }{{50_000, 1000}, {0, 20_000}, {99_000, 5000}, {50_000, 1e9}} {
		w, r := newDrawer(&Dist{Kind: Gaussian, Mean: c.mean, StdDev: c.stddev}, n), newRandom(5, 5)
		var below, within int
		for range draws {
			k := w.draw(&r, nil)
			if k >= n {
				t.Fatalf("key %d of %d", k, n)
			}
			if float64(k) < c.mean {
				below++
			}
			if math.Abs(float64(k)-c.mean) < c.stddev {
				within++
			}
		}
		cut := func(x float64) float64 { return min(max(x, 0), n) }
		share := func(from, to float64) float64 {
			all := normalShare((n-c.mean)/c.stddev) - normalShare(-c.mean/c.stddev)
			return (normalShare((cut(to)-c.mean)/c.stddev) - normalShare((cut(from)-c.mean)/c.stddev)) / all
		}
		near2(t, "below the mean", below, draws, share(0, c.mean))
		if c.stddev < n {
			near2(t, "within one deviation", within, draws, share(c.mean-c.stddev, c.mean+c.stddev))
		}
	}
}

// TestPermutation: every number comes out once.
func TestPermutation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Uint64Range(1, 3000).Draw(rt, "n")
		p, seen := newPermutation(n), make([]bool, n)
		for i := range n {
			k := p.of(i)
			if k >= n || seen[k] {
				rt.Fatalf("%d of %d comes to %d, which is taken or none", i, n, k)
			}
			seen[k] = true
		}
	})
	for _, n := range []uint64{1 << 32, 1<<32 + 1, 1e12, 1e15} {
		p := newPermutation(n)
		if gcd(p.a, n) != 1 || p.a >= n || p.b >= n {
			t.Errorf("n %d: %+v is no permutation", n, p)
		}
		if k := p.of(n - 1); k >= n {
			t.Errorf("n %d: the last comes to %d", n, k)
		}
	}
}

// TestSequentialParts: the workers' rounds cover the key space without overlap or gap, and begin again.
func TestSequentialParts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Uint64Range(1, 500).Draw(rt, "n")
		count := rapid.IntRange(1, 40).Draw(rt, "count")
		seen := make([]int, n)
		for i := range count {
			r := newRound(n, Slice{Index: i, Count: count})
			size := r.to - r.from
			for range size {
				seen[r.next()]++
			}
			if size > 0 && r.next() != r.from {
				rt.Fatalf("the round of %d of %d does not begin again", i, count)
			}
		}
		for k, times := range seen {
			if times == 0 || times > 1 && uint64(count) <= n {
				rt.Fatalf("key %d of %d comes %d times with %d streams", k, n, times, count)
			}
		}
	})
	if got := part(1e15, 999, 1000); got != 999e12 {
		t.Errorf("a part of 10^15 keys begins at %d", got)
	}
}

// TestStreamsDiffer: two workers of one seed draw different numbers, and the same worker the same ones.
func TestStreamsDiffer(t *testing.T) {
	p := compile(t, &Workload{Keys: Keys{Count: 1e9}, Commands: []Command{{Command: "GET __key__"}}})
	draw := func(s Slice) string { b, _ := p.Stream(s).Batch(50); return string(b) }
	a := draw(Slice{Seed: 1, Index: 0, Count: 2})
	if a != draw(Slice{Seed: 1, Index: 0, Count: 2}) {
		t.Error("the same slice gives other requests")
	}
	for _, s := range []Slice{{Seed: 1, Index: 1, Count: 2}, {Seed: 2, Index: 0, Count: 2}} {
		if a == draw(s) {
			t.Errorf("%+v gives the same requests as another slice", s)
		}
	}
}
