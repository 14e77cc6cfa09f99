package resp

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fuzzLimits are small, so that the fuzzer reaches them.
var fuzzLimits = Limits{MaxDepth: 4, MaxLine: 70, MaxBulk: 40, MaxElems: 9, MaxTotal: 200}

// outcome is all that a stream yields.
type outcome struct {
	Values  []Value
	Ends    []int // where each value ends
	Err     *ProtocolError
	Pending bool
}

// drain parses in, cut into the pieces that next returns the sizes of.
func drain(t *testing.T, p *Parser, in []byte, next func() int) (o outcome) {
	t.Helper()
	for at := 0; at < len(in); {
		piece := bytes.Clone(in[at:min(at+next(), len(in))])
		var v Value
		n, done, err := p.Next(piece, &v)
		if err != nil {
			pe, ok := errors.AsType[*ProtocolError](err)
			if !ok || n != 0 || done {
				t.Fatalf("Next = %d, %v, %T", n, done, err)
			}
			o.Err = pe
			break
		}
		if n < 0 || n > len(piece) || !done && n != len(piece) || n == 0 {
			t.Fatalf("Next = %d, %v for %d bytes", n, done, len(piece))
		}
		clear(piece)
		at += n
		if done {
			o.Values = append(o.Values, v)
			o.Ends = append(o.Ends, at)
		}
	}
	o.Pending = p.Pending()
	return o
}

func whole() int { return 1 << 30 }

// However the bytes are cut, the values, their ends and the error are the same. SkipNext agrees about the ends.
func FuzzChunkedEqualsWhole(f *testing.F) {
	for i, c := range goldens {
		f.Add([]byte(c.in), []byte{byte(i%5 + 1)}, i%4 == 0)
	}
	for i, c := range malformed {
		f.Add([]byte(c.in), []byte{byte(i%5 + 1), 1}, i%4 == 0)
	}
	f.Fuzz(func(t *testing.T, in, cuts []byte, limited bool) {
		var lim Limits
		if limited {
			lim = fuzzLimits
		}
		want := drain(t, NewParser(lim), in, whole)
		i := 0
		byCuts := func() int {
			if len(cuts) == 0 {
				return 1
			}
			i++
			return int(cuts[i%len(cuts)])%32 + 1
		}
		for name, next := range map[string]func() int{"single bytes": func() int { return 1 }, "pieces": byCuts} {
			if d := cmp.Diff(want, drain(t, NewParser(lim), in, next)); d != "" {
				t.Errorf("in %s (-whole +pieces):\n%s", name, d)
			}
		}
		skipAgrees(t, NewParser(lim), in, whole, want)
		skipAgrees(t, NewParser(lim), in, byCuts, want)
	})
}

// skipAgrees checks that SkipNext finds the ends that Next found.
func skipAgrees(t *testing.T, p *Parser, in []byte, next func() int, want outcome) {
	t.Helper()
	at := 0
	for _, end := range want.Ends {
		for done := false; !done; {
			n, ended, err := p.SkipNext(in[at:min(at+next(), len(in))])
			if err != nil || at+n > end || ended != (at+n == end) {
				t.Fatalf("SkipNext = %d, %v, %v at byte %d of a value that ends at %d", n, ended, err, at, end)
			}
			at += n
			done = ended
		}
	}
}

// What was parsed is, encoded and parsed again, the same; and in RESP2 it is still one well-formed value.
func FuzzRoundTrip(f *testing.F) {
	for _, c := range goldens {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, v := range drain(t, new(Parser), in, whole).Values {
			wire := AppendValue(nil, &v, 3)
			again := drain(t, new(Parser), wire, whole)
			if again.Err != nil || again.Pending || len(again.Values) != 1 {
				t.Fatalf("%q was encoded as %q: %d values, error %v", in, wire, len(again.Values), again.Err)
			}
			want := asRESP3(v)
			if d := cmp.Diff(want, again.Values[0]); d != "" {
				t.Errorf("%q was encoded as %q (-want +got):\n%s", in, wire, d)
			}
			old := AppendValue(nil, &v, 2)
			o := drain(t, new(Parser), old, whole)
			if o.Err != nil || o.Pending || len(o.Values) != 1 {
				t.Errorf("%q was encoded in RESP2 as %q: %d values, error %v", in, old, len(o.Values), o.Err)
			}
		}
	})
}

// asRESP3 forgets the one thing that RESP3 cannot say: that a null was a null array.
func asRESP3(v Value) Value {
	if v.Kind == KindNull {
		v.Int = 0
	}
	each := func(list []Value) []Value {
		if list == nil {
			return nil
		}
		out := make([]Value, len(list))
		for i := range list {
			out[i] = asRESP3(list[i])
		}
		return out
	}
	v.Elems, v.Attrs = each(v.Elems), each(v.Attrs)
	return v
}
