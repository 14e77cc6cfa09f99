package workload

import (
	"math"
	"math/bits"
)

// drawer draws key numbers from 0 to n-1. It never changes: what a stream must remember between two draws is the stream's.
type drawer struct {
	kind    DistKind
	n       uint64
	ordered bool
	spread  permutation
	zipf    zipf
	bell    bell
	steps   []step
}

// step is a stretch of popularity ranks that are drawn alike.
type step struct {
	upTo  float64 // share of the requests that go to this stretch and those before it
	first uint64
	count uint64
}

// newDrawer takes a validated distribution over n keys, n ≥ 1.
func newDrawer(d *Dist, n uint64) drawer {
	w := drawer{kind: d.Kind, n: n, ordered: d.Ordered, spread: newPermutation(n)}
	switch d.Kind {
	case Zipf:
		w.zipf = newZipf(d.Exponent, n)
	case Gaussian:
		w.bell = newBell(d.Mean, d.StdDev, n)
	case HotSet:
		w.steps = newSteps(d.Steps, n)
	case Sequential:
	default:
		w.kind = Uniform
	}
	return w
}

// draw gives the next key. at is the stream's place in a sequential round, from which only Sequential draws.
func (w *drawer) draw(r *random, at *round) uint64 {
	var rank uint64
	switch w.kind {
	case Sequential:
		return at.next()
	case Gaussian:
		return w.bell.draw(r)
	case Zipf:
		rank = w.zipf.draw(r)
	case HotSet:
		rank = w.drawStep(r)
	default:
		return r.below(w.n)
	}
	if w.ordered {
		return rank
	}
	return w.spread.of(rank)
}

func (w *drawer) drawStep(r *random) uint64 {
	u := r.float()
	for i := range w.steps {
		if s := &w.steps[i]; u < s.upTo {
			return s.first + r.below(s.count)
		}
	}
	last := &w.steps[len(w.steps)-1]
	return last.first + r.below(last.count)
}

// newSteps turns rising shares into stretches of whole keys, each of at least one key; what is left over goes to the last.
func newSteps(hot []HotStep, n uint64) []step {
	var steps []step
	var first uint64
	for _, h := range hot {
		end := max(first+1, uint64(math.Round(h.Keys*float64(n))))
		if end >= n {
			break
		}
		steps = append(steps, step{upTo: h.Requests, first: first, count: end - first})
		first = end
	}
	return append(steps, step{upTo: 1, first: first, count: n - first})
}

// round walks a part of the key space over and over.
type round struct{ at, from, to uint64 }

// newRound gives stream index of count its part of n keys. With more streams than keys, some share a key.
func newRound(n uint64, s Slice) round {
	from, to := part(n, s.Index, s.Count), part(n, s.Index+1, s.Count)
	if from == to {
		from = uint64(s.Index) % n
		to = from + 1
	}
	return round{at: from, from: from, to: to}
}

func (c *round) next() uint64 {
	k := c.at
	if c.at++; c.at >= c.to {
		c.at = c.from
	}
	return k
}

// part is where stream i of count begins in n keys.
func part(n uint64, i, count int) uint64 {
	count = max(1, count)
	hi, lo := bits.Mul64(n, uint64(i))
	q, _ := bits.Div64(hi, lo, uint64(count)) // i ≤ count, so the quotient is at most n
	return q
}

// permutation is a one-to-one map of 0..n-1 onto itself that sends neighbours far apart: i to (a·i + b) mod n, with a near n over the golden ratio and without
// a common divisor with n.
type permutation struct{ n, a, b uint64 }

func newPermutation(n uint64) permutation {
	a := max(1, uint64(float64(n)*(math.Sqrt(5)-1)/2))
	for gcd(a, n) != 1 {
		a++
	}
	return permutation{n: n, a: a % n, b: hash64(n) % n}
}

func (p *permutation) of(i uint64) uint64 {
	if p.n <= math.MaxUint32 {
		return (p.a*i + p.b) % p.n
	}
	hi, lo := bits.Mul64(p.a, i)
	lo, carry := bits.Add64(lo, p.b, 0)
	return bits.Rem64(hi+carry, lo, p.n)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// zipf draws ranks 0 to n-1 with probability proportional to (rank+1)^-s, for any s ≥ 0, by rejection-inversion: invert the integral of x^-s, which is
// simple, and reject the little by which a sum differs from an integral (Hörmann and Derflinger, ACM TOMACS 6(3), 1996).
type zipf struct {
	s, oneMinus    float64
	n              float64
	left, right    float64 // of the integral over which is drawn
	acceptDistance float64 // a rank this near below the inverted point is always right
}

func newZipf(s float64, n uint64) zipf {
	z := zipf{s: s, oneMinus: 1 - s, n: float64(n)}
	z.left = z.integral(1.5) - 1
	z.right = z.integral(z.n + 0.5)
	z.acceptDistance = 2 - z.inverse(z.integral(2.5)-math.Pow(2, -s))
	return z
}

func (z *zipf) draw(r *random) uint64 {
	for {
		u := z.right + r.float()*(z.left-z.right)
		x := z.inverse(u)
		k := math.Floor(x + 0.5)
		k = min(max(k, 1), z.n)
		if k-x <= z.acceptDistance || u >= z.integral(k+0.5)-math.Exp(-z.s*math.Log(k)) {
			return uint64(k) - 1
		}
	}
}

// near1 is how near to 1 an exponent is treated as 1: the error is then below that of a float64.
const near1 = 1e-12

// integral is that of x^-s from 1 to x: (x^(1-s) - 1)/(1-s), or ln x for s = 1. The form with Expm1 stays exact near 1.
func (z *zipf) integral(x float64) float64 {
	if math.Abs(z.oneMinus) < near1 {
		return math.Log(x)
	}
	return math.Expm1(z.oneMinus*math.Log(x)) / z.oneMinus
}

func (z *zipf) inverse(y float64) float64 {
	if math.Abs(z.oneMinus) < near1 {
		return math.Exp(y)
	}
	return math.Exp(math.Log1p(max(-1, y*z.oneMinus)) / z.oneMinus)
}

// bell draws from a normal distribution cut at both ends of the key space, by inverting its distribution function between the two.
type bell struct {
	mean, stddev float64
	low, high    float64 // the distribution function at the ends
	last         float64
}

func newBell(mean, stddev float64, n uint64) bell {
	b := bell{mean: mean, stddev: stddev, last: float64(n - 1)}
	b.low, b.high = normalShare((0-mean)/stddev), normalShare((float64(n)-mean)/stddev)
	return b
}

func (b *bell) draw(r *random) uint64 {
	x := b.mean + b.stddev*normalInverse(b.low+r.open()*(b.high-b.low))
	return uint64(min(max(x, 0), b.last)) // a NaN cannot come: both ends are finite, and open is neither
}

func normalShare(x float64) float64   { return 0.5 * math.Erfc(-x/math.Sqrt2) }
func normalInverse(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }
