package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// When a given server has no room or time for an experiment.
const (
	roomShare  = 0.9  // of its memory or conns, with the experiment's share in it
	busyOps    = 1000 // commands per second
	busyCPU    = 0.25 // of one CPU
	busyLook   = 500 * time.Millisecond
	cpuReading = 0.02 // the CPU that two readings of INFO may show by themselves
)

// RefusedError says that a given server was not put under load, and why. Nothing
// was done to it.
type RefusedError struct {
	// Reasons are why, one phrase each.
	Reasons []string
}

// Error names the reasons and the way out.
func (e *RefusedError) Error() string {
	return "the server was left alone: " + strings.Join(e.Reasons, "; ") + "; add --disturb to go ahead all the same"
}

// admit refuses a given server that the plan would disturb.
func (s *server) admit(ctx context.Context, w wants) error {
	if others := s.watch.others - 1; others > 0 {
		w.progress.Send(Event{Note: "the server has " + report.Plural(others, "other connection", "other connections") +
			": what it counts includes what these clients do meanwhile"})
	}
	if w.disturb {
		return nil
	}
	var reasons []string
	for _, look := range []func(context.Context, Plan) (string, error){s.replica, s.memory, s.conns, s.busy} {
		reason, err := look(ctx, w.plan)
		if err != nil {
			return fmt.Errorf("the server does not say whether it can take the load (--disturb does not ask): %w", err)
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) > 0 {
		return &RefusedError{Reasons: reasons}
	}
	return nil
}

func (s *server) replica(ctx context.Context, _ Plan) (string, error) {
	fields, err := s.watch.info(ctx, "replication")
	if err != nil {
		return "", err
	}
	if role := fields["role"]; role == "slave" || role == "replica" {
		return "it is a replica", nil
	}
	return "", nil
}

func (s *server) memory(ctx context.Context, p Plan) (string, error) {
	fields, err := s.watch.info(ctx, "memory")
	if err != nil {
		return "", err
	}
	limit, _ := strconv.ParseInt(fields["maxmemory"], 10, 64) // absent before version 2.8: then there is no limit to see
	used, err := strconv.ParseInt(fields["used_memory"], 10, 64)
	if limit <= 0 || err != nil {
		return "", nil //nolint:nilerr // without both there is nothing to compare
	}
	if float64(used+p.Memory) > roomShare*float64(limit) {
		return fmt.Sprintf("it would use %s of its maxmemory of %s", report.Bytes(used+p.Memory), report.Bytes(limit)), nil
	}
	return "", nil
}

func (s *server) conns(ctx context.Context, p Plan) (string, error) {
	limit, err := s.maxClients(ctx)
	if err != nil || limit <= 0 {
		return "", nil //nolint:nilerr // CONFIG is often forbidden; a limit that is not told cannot be kept clear of
	}
	if open := s.watch.others + p.Conns; float64(open) > roomShare*float64(limit) {
		return fmt.Sprintf("it would have %s open of its maxclients of %s", report.Plural(open, "connection", "connections"), report.Int(limit)), nil
	}
	return "", nil
}

// maxClients is the server's limit of conns; INFO has it since version 5, CONFIG
// always.
func (s *server) maxClients(ctx context.Context) (int, error) {
	fields, err := s.watch.info(ctx, "clients")
	if err != nil {
		return 0, err
	}
	if limit, err := intField(fields, "maxclients"); err == nil {
		return limit, nil
	}
	r, err := s.watch.do(ctx, "CONFIG", "GET", "maxclients")
	if err != nil {
		return 0, err
	}
	values, err := r.Map()
	if err != nil {
		return 0, err
	}
	return intField(values, "maxclients")
}

// busy looks at the server for a moment, and at what it is doing besides.
func (s *server) busy(ctx context.Context, _ Plan) (string, error) {
	persistence, err := s.watch.info(ctx, "persistence")
	if err != nil {
		return "", err
	}
	for field, what := range map[string]string{
		"loading": "it is loading its data", "rdb_bgsave_in_progress": "it is saving", "aof_rewrite_in_progress": "it is rewriting its log",
	} {
		if persistence[field] == "1" {
			return what, nil
		}
	}
	begin := time.Now()
	ops, cpu, err := s.work(ctx)
	if err != nil {
		return "", err
	}
	timer := time.NewTimer(busyLook)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	opsNow, cpuNow, err := s.work(ctx)
	if err != nil {
		return "", err
	}
	elapsed := time.Since(begin).Seconds()
	switch rate := (opsNow - ops) / elapsed; {
	case rate > busyOps:
		return fmt.Sprintf("it is busy with %s commands per second", report.Fixed(rate, 0)), nil
	case cpuNow-cpu-cpuReading > busyCPU*elapsed:
		return fmt.Sprintf("it is busy with %s of a CPU", report.Percent((cpuNow-cpu)/elapsed)), nil
	default:
		return "", nil
	}
}

// work is how many commands the server has run and the CPU time it took.
func (s *server) work(ctx context.Context) (ops, cpu float64, err error) {
	stats, err := s.watch.info(ctx, "stats")
	if err != nil {
		return 0, 0, err
	}
	n, err := intField(stats, "total_commands_processed")
	if err != nil {
		return 0, 0, err
	}
	seconds, err := s.watch.cpu(ctx)
	if err != nil || seconds == nil {
		return float64(n), 0, err
	}
	return float64(n), *seconds, nil
}
