package bench

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// dialSocket opens a conn for raw requests: TCP or a unix socket, and TLS where a
// config is given. It obeys the context in all of it.
func dialSocket(ctx context.Context, network, address string, encrypted *tls.Config) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil || encrypted == nil {
		return conn, err
	}
	c := tls.Client(conn, encrypted)
	if err := c.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the first error is the one that matters
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return c, nil
}

// appendRequest appends one command.
func appendRequest(b []byte, words []string) []byte {
	b = resp.AppendArrayHeader(b, len(words))
	for _, w := range words {
		b = resp.AppendBulkString(b, w)
	}
	return b
}

// serverTally is what the server has counted since it began.
type serverTally struct {
	cpu                                               *float64
	commands, conns, rejected, evicted, expired, used int64
}

// tally asks the server for its counters. Those that it does not have are 0.
func (s *server) tally(ctx context.Context) (serverTally, error) {
	var t serverTally
	stats, err := s.watch.info(ctx, "stats")
	if err != nil {
		return t, err
	}
	for name, to := range map[string]*int64{
		"total_commands_processed": &t.commands, "total_connections_received": &t.conns, "rejected_connections": &t.rejected,
		"evicted_keys": &t.evicted, "expired_keys": &t.expired,
	} {
		*to, _ = strconv.ParseInt(stats[name], 10, 64)
	}
	if m, err := s.watch.memory(ctx); err == nil {
		t.used = m.used
	}
	t.cpu, err = s.watch.cpu(ctx)
	return t, err
}

// since is the growth from before to t, over the time between.
func (t *serverTally) since(before serverTally, elapsed time.Duration) *RunServer {
	r := &RunServer{
		Commands: t.commands - before.commands, Connections: t.conns - before.conns, Rejected: t.rejected - before.rejected,
		Evicted: t.evicted - before.evicted, Expired: t.expired - before.expired, UsedBytes: t.used,
	}
	if t.cpu != nil && before.cpu != nil {
		used := *t.cpu - *before.cpu
		share := used / max(elapsed.Seconds(), 1e-9)
		r.CPUS, r.CPUShare = &used, &share
	}
	return r
}
