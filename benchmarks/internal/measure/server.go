package measure

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Informer answers INFO, as evenkeeltest.Server does.
type Informer interface {
	Info(ctx context.Context, section string) (map[string]string, error)
}

// Server is what a server says of itself in one INFO reply.
type Server struct {
	CPU      time.Duration // user and system time of all its threads
	Commands int64         // processed since the start, this INFO not yet counted
	Reads    int64         // read events; 0 where the server does not count them
	Accepted int64         // conns since the start
	Clients  int64         // open now, the asking one included
}

// AskServer reads one INFO reply, so that the figures belong together however long the
// server took to answer.
func AskServer(ctx context.Context, server Informer) (Server, error) {
	info, err := server.Info(ctx, "")
	if err != nil {
		return Server{}, fmt.Errorf("measure: %w", err)
	}
	var s Server
	for _, field := range []struct {
		name string
		to   *int64
	}{
		{"total_commands_processed", &s.Commands},
		{"total_connections_received", &s.Accepted},
		{"connected_clients", &s.Clients},
	} {
		if *field.to, err = strconv.ParseInt(info[field.name], 10, 64); err != nil {
			return Server{}, fmt.Errorf("measure: INFO field %s: %w", field.name, err)
		}
	}
	if reads, ok := info["total_reads_processed"]; ok {
		if s.Reads, err = strconv.ParseInt(reads, 10, 64); err != nil {
			return Server{}, fmt.Errorf("measure: INFO field total_reads_processed: %w", err)
		}
	}
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info[name], 64)
		if err != nil {
			return Server{}, fmt.Errorf("measure: INFO field %s: %w", name, err)
		}
		s.CPU += time.Duration(seconds * float64(time.Second))
	}
	return s, nil
}
