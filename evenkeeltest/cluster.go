package evenkeeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"
)

// clusterSlots is the number of hash slots of a cluster.
const clusterSlots = 16384

// Cluster is a private real cluster of primaries, each with an equal share of the
// slots. Its methods may be called concurrently.
type Cluster struct {
	nodes  []*Server
	unhook func() bool // ends the watch over LaunchCluster's context
}

// StartCluster starts a private cluster of so many primaries for a test, as
// [StartServer] does a server, and returns when all of them say that it is complete.
func StartCluster(tb testing.TB, primaries int, opts ...Option) *Cluster {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 2*startTimeout)
	defer cancel()
	c, err := launchCluster(ctx, primaries, opts)
	if err != nil {
		tb.Fatal(err)
	}
	unwatch := closeOnSignal(c)
	tb.Cleanup(func() {
		unwatch()
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// LaunchCluster starts a private cluster as [Launch] does a server. The caller must
// Close it; the end of the context does so too.
func LaunchCluster(ctx context.Context, primaries int, opts ...Option) (*Cluster, error) {
	c, err := launchCluster(ctx, primaries, opts)
	if err != nil {
		return nil, err
	}
	c.unhook = context.AfterFunc(ctx, func() { _ = c.closeNodes() })
	return c, nil
}

func launchCluster(ctx context.Context, primaries int, opts []Option) (*Cluster, error) {
	if primaries < 1 || primaries > 100 {
		return nil, fmt.Errorf("evenkeeltest: %d primaries; give 1 to 100", primaries)
	}
	opts = append(slices.Clone(opts), func(s *settings) { s.cluster = true })
	c := &Cluster{}
	for range primaries {
		s, err := launch(ctx, opts)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.nodes = append(c.nodes, s)
	}
	if err := c.join(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("evenkeeltest: cluster: %w", err), c.Close())
	}
	return c, nil
}

// join gives each node its slots, and has the first one meet the others.
func (c *Cluster) join(ctx context.Context) error {
	n := len(c.nodes)
	for i, s := range c.nodes {
		args := []string{"CLUSTER", "ADDSLOTS"}
		for slot := i * clusterSlots / n; slot < (i+1)*clusterSlots/n; slot++ {
			args = append(args, strconv.Itoa(slot))
		}
		if _, err := s.Do(ctx, args...); err != nil {
			return err
		}
	}
	for _, s := range c.nodes[1:] {
		meet := []string{"CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(s.Port())}
		if s.at.busPort != 0 {
			meet = append(meet, strconv.Itoa(s.at.busPort))
		}
		if _, err := c.nodes[0].Do(ctx, meet...); err != nil {
			return err
		}
	}
	for _, s := range c.nodes {
		if err := s.awaitCluster(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// awaitCluster waits until a node knows all n of its cluster, and their slots.
func (s *Server) awaitCluster(ctx context.Context, n int) error {
	for {
		v, err := s.Do(ctx, "CLUSTER", "INFO")
		if err != nil {
			return err
		}
		text, _ := v.(string)
		info := parseInfo(text)
		if info["cluster_state"] == "ok" && info["cluster_size"] == strconv.Itoa(n) && info["cluster_slots_assigned"] == strconv.Itoa(clusterSlots) {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w (last seen: state %q, %s nodes with slots)", context.Cause(ctx), info["cluster_state"], info["cluster_size"])
		}
	}
}

// Nodes returns the primaries. The i-th of n has the slots from i·16384/n to below
// (i+1)·16384/n.
func (c *Cluster) Nodes() []*Server { return slices.Clone(c.nodes) }

// Close ends all nodes. It may be called more than once.
func (c *Cluster) Close() error {
	if c.unhook != nil {
		c.unhook()
	}
	return c.closeNodes()
}

func (c *Cluster) closeNodes() error {
	var errs []error
	for _, s := range c.nodes {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
