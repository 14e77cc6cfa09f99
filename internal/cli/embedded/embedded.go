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
