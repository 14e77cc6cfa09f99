package resp

import "testing"

func TestSkipNext(t *testing.T) {
	for _, c := range goldens {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in + ":77\r\n")
			for piece := 1; piece <= len(in); piece++ {
				p := new(Parser)
				rest := in
				for done := false; !done; {
					part := rest[:min(piece, len(rest))]
					n, ended, err := p.SkipNext(part)
					if err != nil || !ended && n != len(part) || len(part) == 0 {
						t.Fatalf("pieces of %d: SkipNext = %d, %v, %v", piece, n, ended, err)
					}
					rest, done = rest[n:], ended
				}
				v, _ := parse(t, p, rest, piece)
				if d := diff(integer(77), v); d != "" {
					t.Fatalf("pieces of %d: after the skipped value (-want +got):\n%s", piece, d)
				}
			}
		})
	}
}

// A caller may leave when half its reply has come: the rest is skipped, and nothing of it is kept.
func TestSkipNextTakesOver(t *testing.T) {
	for _, c := range goldens {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in)
			for cut := 1; cut < len(in); cut++ {
				p := new(Parser)
				var v Value
				if n, done, err := p.Next(in[:cut], &v); n != cut || done || err != nil {
					t.Fatalf("cut at %d: Next = %d, %v, %v", cut, n, done, err)
				}
				for i := cut; i < len(in); i++ {
					n, done, err := p.SkipNext(in[i : i+1])
					if n != 1 || done != (i == len(in)-1) || err != nil {
						t.Fatalf("cut at %d, byte %d: SkipNext = %d, %v, %v", cut, i, n, done, err)
					}
					if p.bulk != nil || p.attrs != nil {
						t.Fatalf("cut at %d, byte %d: something was kept", cut, i)
					}
				}
				got, _ := parse(t, p, []byte("*1\r\n$1\r\na\r\n"), 4)
				if d := diff(array(bulk("a")), got); d != "" {
					t.Fatalf("cut at %d: after the skipped value (-want +got):\n%s", cut, d)
				}
			}
		})
	}
}

func TestSkipNextStillChecksFraming(t *testing.T) {
	for _, in := range []string{
		"?x\r\n", "+OK\n", "+a\nb\r\n", "+a\rb\r\n", ":1\n", "$-2\r\n", "$01\r\na\r\n", "$1\r\nab\r\n", "*x\r\n", "%-1\r\n",
		".\r\n", "*2\r\n:1\r\n.\r\n", "%?\r\n+a\r\n.\r\n", ";1\r\na\r\n", "$?\r\n+a\r\n", "*1\r\n>1\r\n+a\r\n", "=3\r\ntxt\r\n",
	} {
		for piece := 1; piece <= len(in); piece++ {
			p := new(Parser)
			rest := []byte(in)
			var err error
			for len(rest) > 0 && err == nil {
				var n int
				var done bool
				n, done, err = p.SkipNext(rest[:min(piece, len(rest))])
				if done {
					t.Fatalf("%q in pieces of %d was skipped", in, piece)
				}
				rest = rest[n:]
			}
			if err == nil {
				t.Errorf("%q in pieces of %d: no error", in, piece)
			}
		}
	}
}
