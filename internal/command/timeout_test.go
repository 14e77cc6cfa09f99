package command

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestE1_BlockTimeout: how long each blocking command may wait, as its caller wrote it.
func TestE1_BlockTimeout(t *testing.T) {
	const (
		never   = time.Duration(-1) // does not block
		forever = time.Duration(-2)
	)
	tests := []struct {
		call string
		want time.Duration
	}{
		{"BLPOP q 0", forever},
		{"BLPOP q 3", 3 * time.Second},
		{"blpop q 3", 3 * time.Second},
		{"BLPOP q1 q2 q3 0.5", 500 * time.Millisecond},
		{"BRPOP q 1.0005", 1001 * time.Millisecond}, // rounded up, as the server does
		{"BRPOP q 0.0001", time.Millisecond},
		{"BLPOP q 1e2", 100 * time.Second},
		{"BLPOP q 0x10", 16 * time.Second}, // the server reads numbers as C does
		{"BLPOP q -0", forever},
		{"BLPOP q 1e300", math.MaxInt64},
		{"BRPOPLPUSH a b 2", 2 * time.Second},
		{"BLMOVE a b LEFT RIGHT 2.5", 2500 * time.Millisecond},
		{"bLmOvE a b left right 0", forever},
		{"BZPOPMIN z 3", 3 * time.Second},
		{"BZPOPMAX z1 z2 0", forever},
		{"BLMPOP 1.5 2 a b LEFT COUNT 10", 1500 * time.Millisecond},
		{"BZMPOP 0 1 z MIN", forever},
		{"bzmpop 4 1 z MIN", 4 * time.Second},
		{"XREAD BLOCK 3000 STREAMS s $", 3 * time.Second},
		{"xread block 3000 streams s $", 3 * time.Second},
		{"XREAD COUNT 1 BLOCK 0 STREAMS s 0", forever},
		{"XREAD BLOCK 100 COUNT 1 BLOCK 300 STREAMS s 0", 300 * time.Millisecond}, // the last one counts
		{"XREAD COUNT 1 STREAMS s 0", never},
		{"XREAD STREAMS BLOCK 100", never}, // a stream of that name
		{"XREAD BLOCK 9223372036854775807 STREAMS s 0", math.MaxInt64},
		{"XREADGROUP GROUP g c BLOCK 0 STREAMS s >", forever},
		{"xreadgroup group g c count 5 block 20 noack streams s >", 20 * time.Millisecond},
		{"XREADGROUP GROUP BLOCK 100 STREAMS s >", never}, // a group and a consumer of that name
		{"XREADGROUP GROUP STREAMS BLOCK BLOCK 7 STREAMS s >", 7 * time.Millisecond},
		{"XREADGROUP GROUP g c CLAIM 500 BLOCK 9 STREAMS s >", 9 * time.Millisecond},
		{"XREADGROUP GROUP g c NEWOPTION BLOCK 9 STREAMS s >", 9 * time.Millisecond},
		{"WAIT 1 3000", 3 * time.Second},
		{"wait 0 0", forever},
		{"WAITAOF 1 1 250", 250 * time.Millisecond},

		// What the server refuses at once does not wait.
		{"BLPOP q -1", never},
		{"BLPOP q", never},
		{"BLPOP", never},
		{"BLPOP q soon", never},
		{"BLPOP q nan", never},
		{"BLPOP q inf", never},
		{"BLMPOP 1 1 q", never},
		{"WAIT 1 1.5", never},
		{"WAIT 1", never},
		{"WAIT 1 -5", never},
		{"XREAD BLOCK", never},
		{"XREAD COUNT 1 BLOCK", never},
		{"XREAD BLOCK x STREAMS s 0", never},
		{"XREAD BLOCK 99999999999999999999 STREAMS s 0", never},

		{"GET k", never},
		{"LPOP q 3", never},
		{"NOSUCH q 3", never},
	}
	for _, test := range tests {
		args := strings.Fields(test.call)
		info := Lookup(args[0], "")
		d, endless, blocks := info.BlockTimeout(args)
		got := d
		switch {
		case !blocks:
			got = never
		case endless:
			got = forever
		}
		if got != test.want {
			t.Errorf("%s: %v, want %v", test.call, got, test.want)
		}
		if (!blocks || endless) && d != 0 || endless && !blocks {
			t.Errorf("%s: d %v, forever %v, blocks %v do not go together", test.call, d, endless, blocks)
		}
	}
}

// FuzzBlockTimeout: whatever the words, there is an answer that makes sense.
func FuzzBlockTimeout(f *testing.F) {
	for _, call := range []string{"BLPOP q 0.5", "XREAD BLOCK 1 STREAMS s 0", "XREADGROUP GROUP g", "WAIT 1 9223372036854775807", "BZMPOP 0x", "BLPOP q 1e-400"} {
		f.Add(call)
	}
	f.Fuzz(func(t *testing.T, call string) {
		args := strings.Fields(call)
		if len(args) == 0 {
			return
		}
		d, forever, blocks := Lookup(args[0], "").BlockTimeout(args)
		if d < 0 || (forever || !blocks) && d != 0 || blocks && !forever && d < time.Millisecond {
			t.Errorf("%q: %v %v %v", call, d, forever, blocks)
		}
	})
}
