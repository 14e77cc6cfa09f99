package evenkeeltest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

func TestAClusterIsComplete(t *testing.T) {
	c := evenkeeltest.StartCluster(t, 3, evenkeeltest.WithPassword("open sesame"))
	if n := len(c.Nodes()); n != 3 {
		t.Fatalf("%d nodes", n)
	}
	// The slot of "foo" is 12182, which the third node has.
	for i, s := range c.Nodes() {
		_, err := s.Do(t.Context(), "SET", "foo", "bar")
		if moved := err != nil && strings.HasPrefix(err.Error(), "MOVED 12182 "); moved != (i != 2) || err != nil && !moved {
			t.Errorf("node %d: %v", i, err)
		}
	}
}

func TestAClusterEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, err := evenkeeltest.LaunchCluster(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, s := range c.Nodes() {
		if s.PID() != 0 {
			t.Error("a node still runs")
		}
	}
	if _, err := evenkeeltest.LaunchCluster(t.Context(), 0); err == nil {
		t.Error("a cluster of no node")
	}
}
