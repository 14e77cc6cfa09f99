package simnet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// step is one thing that happens to a link while a writer and a reader are at work.
type step struct {
	kind  string
	n     int
	pause time.Duration
}

// TestDeliveryModel runs random writes, with random deadlines, under random faults,
// and checks the one promise that all of them keep: the reader gets the bytes that
// the writer was told were written, in order, up to the cut if there is one, and
// then the right end.
func TestDeliveryModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		opts := Options{
			BufferSize:      rapid.IntRange(1, 64).Draw(rt, "buffer"),
			LatencyToServer: time.Duration(rapid.IntRange(0, 50).Draw(rt, "latency")) * time.Millisecond,
		}
		kinds := []string{"write", "write", "write", "freeze", "thaw", "split", "trickle", "latency"}
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
			return step{
				kind:  rapid.SampledFrom(kinds).Draw(rt, "kind"),
				n:     rapid.IntRange(0, 100).Draw(rt, "n"),
				pause: time.Duration(rapid.IntRange(0, 30).Draw(rt, "pause")) * time.Millisecond,
			}
		}), 1, 40).Draw(rt, "steps")
		cut := rapid.IntRange(-1, 200).Draw(rt, "cut after") // -1: none
		rst := rapid.Bool().Draw(rt, "cut by RST")

		var verdict error
		synctest.Test(t, func(t *testing.T) {
			verdict = deliver(t, opts, steps, cut, rst)
		})
		if verdict != nil {
			rt.Fatal(verdict)
		}
	})
}

func deliver(t *testing.T, opts Options, steps []step, cut int, rst bool) error {
	t.Helper()
	c, s := pair(t, New(opts))
	defer func() { _, _ = c.Close(), s.Close() }()
	l := c.Link()
	switch {
	case cut < 0:
	case rst:
		l.ResetAfter(ToServer, int64(cut))
	default:
		l.CloseAfter(ToServer, int64(cut))
	}
	type result struct {
		b   []byte
		err error
	}
	got := make(chan result, 1)
	go func() {
		b, err := io.ReadAll(s)
		got <- result{b, err}
	}()

	var written int // the byte at offset i is byte(i)
	for _, st := range steps {
		switch st.kind {
		case "write":
			p := make([]byte, st.n)
			for i := range p {
				p[i] = byte(written + i)
			}
			_ = c.SetWriteDeadline(time.Now().Add(st.pause + 1))
			n, err := c.Write(p)
			if n < 0 || n > len(p) || (err == nil) != (n == len(p)) && len(p) > 0 {
				return fmt.Errorf("Write of %d = %d, %w", len(p), n, err)
			}
			if err != nil && cut < 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
				return fmt.Errorf("write: %w", err)
			}
			written += n
		case "freeze":
			l.Freeze(ToServer)
		case "thaw":
			l.Thaw(ToServer)
		case "split":
			l.Split(ToServer, st.n%5)
		case "trickle":
			l.Trickle(ToServer, st.n%7, st.pause)
		case "latency":
			l.SetLatency(ToServer, st.pause)
		}
		<-time.After(st.pause)
	}
	l.Thaw(ToServer)
	_ = c.Close()
	r := <-got
	want := written
	if reached := cut >= 0 && written >= cut; reached {
		want = cut
		if rst != IsReset(r.err) || !rst && r.err != nil {
			return fmt.Errorf("cut by RST %v: the reader got %w", rst, r.err)
		}
	} else if r.err != nil {
		return fmt.Errorf("the reader got %w", r.err)
	}
	if len(r.b) != want {
		return fmt.Errorf("read %d bytes, want %d of %d", len(r.b), want, written)
	}
	for i, b := range r.b {
		if b != byte(i) {
			return fmt.Errorf("byte %d is %d", i, b)
		}
	}
	return nil
}
