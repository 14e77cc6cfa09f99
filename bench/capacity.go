package bench

import (
	"context"
	"fmt"

	"github.com/evenkeel-go/evenkeel/report"
)

const (
	// ownDescriptors is what this process needs besides the conns of an experiment:
	// its terminal, its files, the runtime's poller, the watcher's conn.
	ownDescriptors = 64
	// serverDescriptors is what a server keeps out of its limit of file descriptors
	// for its own use.
	serverDescriptors = 32
)

// CapacityError says that an experiment's conns do not fit, on this side or on the
// server's. Nothing was opened.
type CapacityError struct {
	// Conns is how many were wanted, Room how many fit.
	Conns, Room int
	// Why says what is in the way, and Remedy what to do besides wanting fewer.
	Why, Remedy string
}

// Error says how many fit, why, and what to do.
func (e *CapacityError) Error() string {
	return fmt.Sprintf("%s do not fit: %s; %s, or give at most %s",
		report.Plural(e.Conns, "connection", "connections"), e.Why, e.Remedy, report.Int(e.Room))
}

// fitsHere checks the conns against the limit of file descriptors of this process.
func fitsHere(conns int, limit uint64) error {
	if uint64(conns)+ownDescriptors <= limit {
		return nil
	}
	return &CapacityError{
		Conns: conns, Room: int(max(limit, ownDescriptors) - ownDescriptors),
		Why:    fmt.Sprintf("this process may have %s file descriptors (RLIMIT_NOFILE)", report.Int(int64(min(limit, 1<<62)))),
		Remedy: fmt.Sprintf("raise it, as with ulimit -n %d", conns+ownDescriptors),
	}
}

// fits checks the conns against this side's limit and the server's. The server's is
// its maxclients, which it lowers by itself when its own file descriptors are fewer.
// A server that does not tell its limit is taken to have room.
func (s *server) fits(ctx context.Context, conns int) error {
	if limit, known := descriptorLimit(); known {
		if err := fitsHere(conns, limit); err != nil {
			return err
		}
	}
	limit, err := s.maxClients(ctx)
	if err != nil || limit <= 0 {
		return nil //nolint:nilerr // CONFIG is often forbidden
	}
	if room := max(limit-s.watch.others, 0); conns > room {
		return &CapacityError{
			Conns: conns, Room: room,
			Why: fmt.Sprintf("the server takes %s (its maxclients) and has %s open", report.Plural(limit, "client", "clients"), report.Int(s.watch.others)),
			Remedy: fmt.Sprintf("raise its maxclients, for which the server's process needs %d more file descriptors than that (ulimit -n)",
				serverDescriptors),
		}
	}
	return nil
}
