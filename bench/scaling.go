package bench

import "math"

// ScalingFit are the numbers of the Universal Scalability Law that describe how a rate
// grows with the number n of those who work at once:
//
//	X(n) = λ·n / (1 + σ·(n−1) + κ·n·(n−1))
//
// λ is the rate of one, σ what all wait for one after the other (contention), κ what each
// costs each other (coherency). The law is Neil J. Gunther's: "Guerrilla Capacity
// Planning", Springer 2007; proofs are in arXiv:0808.1431.
type ScalingFit struct {
	// LambdaPerS is λ, Sigma σ, Kappa κ; none is negative.
	LambdaPerS float64 `json:"lambda_per_s"`
	Sigma      float64 `json:"sigma"`
	Kappa      float64 `json:"kappa"`
	// R2 is the share of the rates' variance that the fit explains. Below about 0.9 it
	// describes little.
	R2 float64 `json:"r2"`
	// PeakN is where the fitted rate is highest, and PeakPerS that rate; null where it
	// only ever rises.
	PeakN    *float64 `json:"peak_n"`
	PeakPerS *float64 `json:"peak_per_s"`
}

// scalingPoints is how many different n a fit of three numbers needs at least.
const scalingPoints = 5

// at is the fitted rate of n.
func (f *ScalingFit) at(n float64) float64 {
	return f.LambdaPerS * n / (1 + f.Sigma*(n-1) + f.Kappa*n*(n-1))
}

// fitScaling fits the law to rates, all of them more than 0; nil when there are too few
// different n.
//
// The law turned over, n/X = a + b·(n−1) + c·n·(n−1) with λ = 1/a, σ = b/a and κ = c/a, is
// linear in a, b and c, so that least squares have one answer and need no start. Each
// equation is scaled by X/n: the errors are then relative ones, as those of rates are. The
// law knows no negative σ or κ; the best fit without them is, of those with b, with c, with
// both or with neither, the best whose numbers are not negative.
func fitScaling(n, rates []float64) *ScalingFit {
	different := map[float64]bool{}
	for i, x := range n {
		if !(x >= 1) || !(rates[i] > 0) {
			return nil
		}
		different[x] = true
	}
	if len(different) < scalingPoints {
		return nil
	}
	var best [3]float64
	least := math.Inf(1)
	for _, use := range [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {0}} {
		v, residual, ok := leastSquares(n, rates, use)
		if ok && v[0] > 0 && v[1] >= 0 && v[2] >= 0 && residual < least {
			best, least = v, residual
		}
	}
	if math.IsInf(least, 1) {
		return nil
	}
	f := &ScalingFit{LambdaPerS: 1 / best[0], Sigma: best[1] / best[0], Kappa: best[2] / best[0]}
	f.R2 = f.explained(n, rates)
	if f.Kappa > 0 && f.Sigma < 1 {
		peak := max(math.Sqrt((1-f.Sigma)/f.Kappa), 1)
		rate := f.at(peak)
		f.PeakN, f.PeakPerS = &peak, &rate
	}
	return f
}

// leastSquares solves for those of a, b and c that are used; the others are 0.
func leastSquares(n, rates []float64, use []int) (v [3]float64, residual float64, ok bool) {
	row := func(i int) [3]float64 {
		w := rates[i] / n[i]
		return [3]float64{w, w * (n[i] - 1), w * n[i] * (n[i] - 1)}
	}
	// The columns differ by orders of magnitude; each is brought to length 1.
	var length [3]float64
	for i := range n {
		for k, x := range row(i) {
			length[k] += x * x
		}
	}
	for k := range length {
		length[k] = math.Sqrt(length[k])
	}
	// The normal equations, with the right side in the last column.
	m := make([][]float64, len(use))
	for a := range use {
		m[a] = make([]float64, len(use)+1)
		for i := range n {
			r := row(i)
			for b := range use {
				m[a][b] += r[use[a]] / length[use[a]] * r[use[b]] / length[use[b]]
			}
			m[a][len(use)] += r[use[a]] / length[use[a]]
		}
	}
	if !eliminate(m) {
		return v, 0, false
	}
	for a, k := range use {
		v[k] = m[a][len(use)] / length[k]
	}
	for i := range n {
		r := row(i)
		e := 1 - v[0]*r[0] - v[1]*r[1] - v[2]*r[2]
		residual += e * e
	}
	return v, residual, true
}

// eliminate solves a few linear equations in place, by Gauss and Jordan with pivots; the
// answer is left in the last column. It reports false for equations that depend on each
// other.
func eliminate(m [][]float64) bool {
	for c := range m {
		pivot := c
		for r := c + 1; r < len(m); r++ {
			if math.Abs(m[r][c]) > math.Abs(m[pivot][c]) {
				pivot = r
			}
		}
		m[c], m[pivot] = m[pivot], m[c]
		if math.Abs(m[c][c]) < 1e-12 {
			return false
		}
		for k := len(m); k >= c; k-- {
			m[c][k] /= m[c][c]
		}
		for r := range m {
			if r == c {
				continue
			}
			for k := len(m); k >= c; k-- {
				m[r][k] -= m[r][c] * m[c][k]
			}
		}
	}
	return true
}

// explained is the share of the variance that the fit explains, 0 to 1.
func (f *ScalingFit) explained(n, rates []float64) float64 {
	mean := 0.0
	for _, x := range rates {
		mean += x / float64(len(rates))
	}
	var off, all float64
	for i, x := range rates {
		off += (x - f.at(n[i])) * (x - f.at(n[i]))
		all += (x - mean) * (x - mean)
	}
	if all == 0 {
		return 1 // nothing varies, and nothing is left to explain
	}
	return max(1-off/all, 0)
}
