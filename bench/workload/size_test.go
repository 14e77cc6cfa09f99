package workload

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSizes compares what is drawn with what each formula says: the mean, and some quantiles.
func TestSizes(t *testing.T) {
	const draws = 400_000
	for _, c := range []struct {
		name  string
		size  Size
		mean  float64
		slack float64 // relative, for the mean
		at    map[float64]float64
	}{
		{"fixed", Size{Bytes: 200}, 200, 0, map[float64]float64{0.5: 200}},
		{"range", Size{Kind: Range, Min: 10, Max: 19}, 14.5, 0.005, map[float64]float64{0.05: 10, 0.95: 19}},
		{"list", Size{Kind: List, List: []WeightedSize{{1, 1}, {100, 3}}}, 75.25, 0.01, map[float64]float64{0.2: 1, 0.3: 100}},
		{"quantiles", Size{Kind: Quantiles, Quantiles: []Quantile{{0, 9}, {0.5, 99}, {1, 999}}}, 0, 0, map[float64]float64{0.25: math.Sqrt(10*100) - 1, 0.5: 99, 0.75: math.Sqrt(100*1000) - 1}},
		{"gpareto", Size{Kind: GPareto, Location: 15, Scale: 214.476, Shape: 0.348238}, 15 + 214.476/(1-0.348238), 0.02, map[float64]float64{0.5: 15 + 214.476*(math.Pow(0.5, -0.348238)-1)/0.348238}},
		{"exponential", Size{Kind: GPareto, Scale: 1000}, 1000, 0.01, map[float64]float64{0.5: 1000 * math.Ln2}},
		{"gev", Size{Kind: GEV, Location: 30.7984, Scale: 8.20449, Shape: 0.078688}, 30.7984 + 8.20449*(math.Gamma(1-0.078688)-1)/0.078688, 0.02, map[float64]float64{math.Exp(-1): 30.7984}},
		{"gumbel", Size{Kind: GEV, Location: 100, Scale: 10}, 100 + 10*0.5772156649, 0.01, map[float64]float64{math.Exp(-1): 100}},
		{"lognormal", Size{Kind: LogNormal, Mu: 6, Sigma: 0.5}, math.Exp(6 + 0.125), 0.01, map[float64]float64{0.5: math.Exp(6)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			z, r := newSizer(&c.size, defaultMaxValue), newRandom(11, 4)
			got, sum := make([]int, draws), 0.0
			for i := range got {
				got[i] = z.draw(&r)
				sum += float64(got[i])
			}
			slices.Sort(got)
			mean := sum / draws
			// Whole bytes are rounded down, which takes half a byte from the mean of a smooth distribution.
			if c.mean > 0 && math.Abs(mean-c.mean) > c.slack*c.mean+0.5 {
				t.Errorf("mean %.2f, want %.2f", mean, c.mean)
			}
			if m := z.mean(); math.Abs(mean-m) > 0.02*m {
				t.Errorf("mean() is %.2f, drawn were %.2f", m, mean)
			}
			for p, want := range c.at {
				if q := float64(got[int(p*draws)]); math.Abs(q-want) > 0.02*want+1 {
					t.Errorf("quantile %v is %v, want %.1f", p, q, want)
				}
			}
		})
	}
}

// TestSizesStayInBounds: whatever the parameters, a size is one that a request can have.
func TestSizesStayInBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		low := rapid.Int64Range(0, 1000).Draw(rt, "min")
		d := Size{Kind: rapid.SampledFrom([]SizeKind{Range, GPareto, GEV, LogNormal}).Draw(rt, "kind"), Min: low, Max: low + rapid.Int64Range(1, 1e6).Draw(rt, "width")}
		switch d.Kind {
		case GPareto, GEV:
			d.Location, d.Scale, d.Shape = rapid.Float64Range(-1e9, 1e9).Draw(rt, "location"), rapid.Float64Range(1e-9, 1e9).Draw(rt, "scale"), rapid.Float64Range(-10, 10).Draw(rt, "shape")
		case LogNormal:
			d.Mu, d.Sigma = rapid.Float64Range(-20, 20).Draw(rt, "mu"), rapid.Float64Range(0, 10).Draw(rt, "sigma")
		default:
		}
		c := &check{}
		d.validate(c, "size", defaultMaxValue)
		if c.err != nil {
			rt.Fatal(c.err)
		}
		z := newSizer(&d, defaultMaxValue)
		for _, u := range []float64{open(0), 1e-9, 0.1, 0.5, 0.9, 1 - 1e-9, open(math.MaxUint64), rapid.Float64Range(1e-12, 1-1e-12).Draw(rt, "u")} {
			if got := z.at(u); int64(got) < d.Min || int64(got) > d.Max {
				rt.Fatalf("size %d at %v of %+v", got, u, d)
			}
		}
		if m := z.mean(); m < float64(d.Min)-1 || m > float64(d.Max)+1 || z.largest() > int(d.Max) {
			rt.Fatalf("mean %v, largest %d of %+v", m, z.largest(), d)
		}
	})
}

// TestMixGivesItsShares: each part has its weight, and its own distribution within.
func TestMixGivesItsShares(t *testing.T) {
	const draws = 200_000
	d := Size{Kind: Mix, Parts: []SizePart{{1, Size{Bytes: 5}}, {2, Size{Kind: Range, Min: 100, Max: 199}}, {1, Size{Kind: List, List: []WeightedSize{{7, 1}, {9, 1}}}}}}
	z, r := newSizer(&d, defaultMaxValue), newRandom(1, 2)
	var five, hundreds, over150, seven int
	for range draws {
		switch n := z.draw(&r); {
		case n == 5:
			five++
		case n == 7:
			seven++
		case n >= 100:
			hundreds++
			if n >= 150 {
				over150++
			}
		}
	}
	near2(t, "5", five, draws, 0.25)
	near2(t, "7", seven, draws, 0.125)
	near2(t, "100 to 199", hundreds, draws, 0.5)
	near2(t, "150 to 199", over150, draws, 0.25)
}

// TestAlias: the shares come out as given, also very unequal ones.
func TestAlias(t *testing.T) {
	const draws = 300_000
	for _, weights := range [][]float64{{1}, {1, 1}, {97, 2, 1}, {1e-6, 1}, {5, 0.001, 3, 3, 2, 0.1}} {
		share := shares(weights)
		s := &Stream{set: &set{units: make([]unit, len(weights)), choice: newAlias(share)}, random: newRandom(9, 9)}
		counts := make([]int, len(weights))
		for range draws {
			counts[s.choose()]++
		}
		for i, got := range counts {
			near2(t, "entry", got, draws, share[i])
		}
	}
}
