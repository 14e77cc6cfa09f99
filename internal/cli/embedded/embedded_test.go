package embedded_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/cli/embedded"
)

// Conns are counted where they are accepted, and nothing is left after Close.
func TestStart(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	s, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 2 {
		conn, err := evenkeel.Dial(t.Context(), evenkeel.DefaultConfig(s.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Do(t.Context(), "PING").Err(); err != nil {
			t.Error(err)
		}
		if _, open := s.Conns(); open != 1 {
			t.Errorf("%d open, want 1", open)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		for open := 1; open > 0; _, open = s.Conns() { // the server notices a little later
			select {
			case <-tick.C:
			case <-t.Context().Done():
				t.Fatal("the conn is still open")
			}
		}
	}
	if accepted, _ := s.Conns(); accepted != 2 {
		t.Errorf("%d accepted, want 2", accepted)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
