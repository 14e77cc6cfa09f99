// Package embedded is the server that evenkeel demo falls back to on a machine that
// has neither redis-server nor valkey-server: miniredis, in this very process.
//
// What it never does: stand in for a real server where times matter. It shares the
// CPUs with the load, so that only its counts mean something, and these are taken
// where conns are accepted.
//
// Invariant: after Close no conn and no goroutine of it is left.
//
// Start reading at Start.
package embedded

import (
	"github.com/alicebob/miniredis/v2"

	"github.com/evenkeel-go/evenkeel/bench"
)

// Start starts a server on a free loopback port. The caller must Close it.
func Start() (bench.EmbeddedServer, error) {
	m, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	return server{m}, nil
}

type server struct{ m *miniredis.Miniredis }

func (server) Name() string   { return "miniredis" }
func (s server) Addr() string { return s.m.Addr() }

func (s server) Conns() (accepted int64, open int) {
	return int64(s.m.TotalConnectionCount()), s.m.CurrentConnectionCount()
}

func (s server) Close() error {
	s.m.Close()
	return nil
}
