package workload

import "math/bits"

// random is a small generator of the wyrand family: one multiplication a number, state of one word, never zero knowledge of others' streams. It is for load,
// not for secrets.
type random struct{ state uint64 }

const (
	weyl     = 0xa0761d6478bd642f
	scramble = 0xe7037ed1a0b428db
)

// newRandom makes a generator whose numbers have nothing to do with those of another seed or part.
func newRandom(seed, part uint64) random {
	return random{state: hash64(seed ^ hash64(part+scramble))}
}

func (r *random) next() uint64 {
	r.state += weyl
	hi, lo := bits.Mul64(r.state, r.state^scramble)
	return hi ^ lo
}

// below gives a number under n, n > 0. The bias of the multiplication is under n/2^64.
func (r *random) below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.next(), n)
	return hi
}

// float gives a number in [0, 1) on a grid of 2^-53.
func (r *random) float() float64 { return float64(r.next()>>11) * (1.0 / (1 << 53)) }

// open gives a number in (0, 1): neither end, so that logarithms and inverse distribution functions of it are finite.
func (r *random) open() float64 { return open(r.next()) }

// open maps 64 random bits to (0, 1). With one bit more than these 52, the largest would round to 1.
func open(x uint64) float64 { return (float64(x>>12) + 0.5) * 0x1p-52 }

// hash64 mixes x so that each bit of it sways each bit of the result.
func hash64(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	return x
}

// hash2 mixes two numbers.
func hash2(a, b uint64) uint64 { return hash64(a*weyl ^ hash64(b+scramble)) }
