package workload

import "math"

// sizer draws sizes. It never changes.
type sizer struct {
	kind     SizeKind
	fixed    int // Fixed's size; -1 for all other kinds
	min, max float64
	upTo     []float64 // List and Mix: the share of all draws up to and with each entry
	bytes    []float64 // List
	table    []Quantile
	parts    []sizer
	a, b, c  float64 // location, scale, shape; or mu, sigma
}

// newSizer takes a validated size; limit caps all that it draws.
func newSizer(d *Size, limit int64) sizer {
	z := sizer{kind: d.Kind, fixed: -1, min: float64(min(d.Min, limit)), max: float64(limit), a: d.Location, b: d.Scale, c: d.Shape}
	if d.Max > 0 {
		z.max = float64(min(d.Max, limit))
	}
	switch d.Kind {
	case List:
		weights := make([]float64, len(d.List))
		for i, e := range d.List {
			weights[i] = e.Weight
			z.bytes = append(z.bytes, float64(e.Bytes))
		}
		z.upTo = cumulate(weights)
	case Quantiles:
		z.table = d.Quantiles
	case LogNormal:
		z.a, z.b = d.Mu, d.Sigma
	case Mix:
		weights := make([]float64, len(d.Parts))
		for i, p := range d.Parts {
			weights[i] = p.Weight
			z.parts = append(z.parts, newSizer(&p.Size, limit))
		}
		z.upTo = cumulate(weights)
	case Range, GPareto, GEV:
	default:
		z.kind, z.fixed = Fixed, int(min(d.Bytes, limit))
	}
	return z
}

// cumulate gives the running share of the weights; the last is 1 exactly.
func cumulate(weights []float64) []float64 {
	var total, sum float64
	for _, w := range weights {
		total += w
	}
	upTo := make([]float64, len(weights))
	for i, w := range weights {
		sum += w
		upTo[i] = sum / total
	}
	upTo[len(upTo)-1] = 1
	return upTo
}

func (z *sizer) draw(r *random) int {
	if z.fixed >= 0 {
		return z.fixed
	}
	return z.at(r.open())
}

// at gives the size for a number of (0, 1): but for Mix the size that the share u of all sizes does not exceed.
func (z *sizer) at(u float64) int {
	var x float64
	switch z.kind {
	case List:
		x = z.bytes[find(z.upTo, u)]
		return int(min(x, z.max))
	case Mix:
		i := find(z.upTo, u)
		var before float64
		if i > 0 {
			before = z.upTo[i-1]
		}
		inner := (u - before) / (z.upTo[i] - before)
		return z.parts[i].at(min(max(inner, 1e-16), 1-1e-16))
	case Range:
		x = z.min + u*(z.max-z.min+1)
	case Quantiles:
		x = z.interpolate(u)
	case GPareto:
		x = z.a + z.b*growth(-math.Log1p(-u), z.c)
	case GEV:
		x = z.a + z.b*growth(-math.Log(-math.Log(u)), z.c)
	case LogNormal:
		x = math.Exp(z.a + z.b*normalInverse(u))
	default:
		return z.fixed
	}
	return int(min(max(x, z.min), z.max)) // clamped before it becomes an int, which an infinity could not
}

// growth is (e^(shape·x) - 1)/shape, and x for a shape of 0: what the quantiles of both extreme value families are made of.
func growth(x, shape float64) float64 {
	if shape == 0 {
		return x
	}
	return math.Expm1(shape*x) / shape
}

// interpolate draws a straight line between two entries over the logarithm of the size, since sizes spread over decades.
func (z *sizer) interpolate(u float64) float64 {
	t := z.table
	i := 0
	for i < len(t) && t[i].P < u {
		i++
	}
	switch i {
	case 0:
		return float64(t[0].Bytes)
	case len(t):
		return float64(t[i-1].Bytes)
	}
	low, high := t[i-1], t[i]
	share := (u - low.P) / (high.P - low.P)
	from, to := math.Log1p(float64(low.Bytes)), math.Log1p(float64(high.Bytes))
	return math.Expm1(from + share*(to-from))
}

// find gives the first entry of a rising list that is over u; the last is 1.
func find(upTo []float64, u float64) int {
	low, high := 0, len(upTo)-1
	for low < high {
		if middle := (low + high) / 2; u < upTo[middle] {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// mean is the expected size, by summing over the inverse distribution function: ever finer towards 1, where heavy tails have their weight.
func (z *sizer) mean() float64 {
	switch z.kind {
	case Fixed:
		return float64(z.fixed)
	case List, Mix:
		var sum, before float64
		for i, upTo := range z.upTo {
			var each float64
			if z.kind == Mix {
				each = z.parts[i].mean()
			} else {
				each = min(z.bytes[i], z.max)
			}
			sum += (upTo - before) * each
			before = upTo
		}
		return sum
	case Range:
		return (z.min + z.max) / 2
	default:
	}
	const points, halvings = 512, 42
	var sum float64
	left, width := 0.0, 0.5
	for range halvings {
		for i := range points {
			sum += width / points * float64(z.at(left+width*(float64(i)+0.5)/points))
		}
		left, width = left+width, width/2
	}
	return sum
}

// largest bounds what is drawn, in bytes.
func (z *sizer) largest() int {
	switch z.kind {
	case Fixed:
		return z.fixed
	case List:
		var most float64
		for _, b := range z.bytes {
			most = max(most, min(b, z.max))
		}
		return int(most)
	case Mix:
		most := 0
		for i := range z.parts {
			most = max(most, z.parts[i].largest())
		}
		return most
	default:
		return z.at(1 - 0x1p-53)
	}
}
