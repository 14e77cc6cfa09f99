package bench

import (
	"math"
	"math/rand/v2"
	"testing"
)

var scalingSizes = []float64{1, 2, 4, 8, 16, 32, 64, 128}

func near(got, want, share float64) bool { return math.Abs(got-want) <= share*math.Abs(want)+1e-9 }

func TestFitScaling(t *testing.T) {
	for name, law := range map[string]ScalingFit{
		"peak":          {LambdaPerS: 20_000, Sigma: 0.05, Kappa: 0.001},
		"contention":    {LambdaPerS: 20_000, Sigma: 0.12},
		"coherency":     {LambdaPerS: 900, Kappa: 0.0004},
		"linear":        {LambdaPerS: 1_000},
		"one at a time": {LambdaPerS: 1_000, Sigma: 1},
	} {
		rates := make([]float64, len(scalingSizes))
		for i, n := range scalingSizes {
			rates[i] = law.at(n)
		}
		f := fitScaling(scalingSizes, rates)
		if f == nil || !near(f.LambdaPerS, law.LambdaPerS, 1e-6) || math.Abs(f.Sigma-law.Sigma) > 1e-6 || math.Abs(f.Kappa-law.Kappa) > 1e-8 || f.R2 < 0.999999 {
			t.Errorf("%s: %+v, want %+v", name, f, law)
			continue
		}
		if law.Kappa > 1e-6 {
			want := math.Sqrt((1 - law.Sigma) / law.Kappa)
			if f.PeakN == nil || !near(*f.PeakN, want, 1e-3) || !near(*f.PeakPerS, law.at(want), 1e-3) {
				t.Errorf("%s: peak %v, want %v", name, f.PeakN, want)
			}
		}
	}
}

// With errors of a few percent the fit stays near the law, whatever the errors are.
func TestFitScalingWithNoise(t *testing.T) {
	law := ScalingFit{LambdaPerS: 20_000, Sigma: 0.08, Kappa: 0.0005}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		rates := make([]float64, len(scalingSizes))
		for i, n := range scalingSizes {
			rates[i] = law.at(n) * (1 + 0.03*(2*random.Float64()-1))
		}
		f := fitScaling(scalingSizes, rates)
		if f == nil || !near(f.LambdaPerS, law.LambdaPerS, 0.1) || !near(f.Sigma, law.Sigma, 0.3) || !near(f.Kappa, law.Kappa, 0.4) || f.R2 < 0.97 {
			t.Fatalf("%+v, want about %+v", f, law)
		}
		if f.PeakN == nil || !near(*f.PeakN, math.Sqrt((1-law.Sigma)/law.Kappa), 0.3) {
			t.Fatalf("peak %v", f.PeakN)
		}
	}
}

func TestFitScalingIsNeverNegative(t *testing.T) {
	// More than twice the rate for twice the size, as where a larger batch forms.
	f := fitScaling(scalingSizes, []float64{100, 230, 520, 1_200, 2_600, 5_700, 12_000, 25_000})
	if f == nil || f.Sigma != 0 || f.Kappa != 0 || f.LambdaPerS <= 100 || f.PeakN != nil {
		t.Errorf("%+v", f)
	}
	for name, rates := range map[string][]float64{
		"too few": {1, 2, 3, 4}, "none at one size": {1, 2, 0, 4, 5, 6, 7, 8}, "not a number": {1, 2, math.NaN(), 4, 5, 6, 7, 8},
	} {
		if f := fitScaling(scalingSizes[:len(rates)], rates); f != nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := fitScaling([]float64{1, 2, 2, 2, 2}, []float64{1, 2, 2, 2, 2}); f != nil {
		t.Errorf("two different sizes: %+v", f)
	}
	// Nothing varies.
	if f := fitScaling([]float64{1, 2, 3, 4, 5}, []float64{7, 7, 7, 7, 7}); f == nil || f.R2 != 1 && f.R2 < 0.999 {
		t.Errorf("%+v", f)
	}
}
