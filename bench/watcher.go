package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// watcher asks the server what it counts, over a conn of its own that is opened
// before the load. It belongs to one goroutine.
type watcher struct {
	cfg      evenkeel.Config
	conn     *evenkeel.Conn
	embedded EmbeddedServer
	dialed   int64 // conns of its own that the server has accepted since base was taken
	others   int   // conns that were open before the load, its own included
}

// counts are what the server says; the watcher's own conn is left out.
type counts struct {
	accepted int64 // ever
	open     int   // now, those that were there before the load left out
	cpu      *float64
}

// newWatcher opens the watcher's conn. Blind, it does without a server that does not say what
// it counts, as where INFO is forbidden.
func newWatcher(ctx context.Context, cfg evenkeel.Config, e EmbeddedServer, blind bool) (*watcher, evenkeel.ConnInfo, error) {
	conn, err := evenkeel.Dial(ctx, cfg)
	if err != nil {
		return nil, evenkeel.ConnInfo{}, err
	}
	w := &watcher{cfg: cfg, conn: conn, embedded: e}
	now, err := w.openNow(ctx)
	if blind && evenkeel.ServerSaid(err) {
		now, err = 1, nil
	}
	if err != nil {
		_ = conn.Close()
		return nil, evenkeel.ConnInfo{}, fmt.Errorf("the server does not say what it counts: %w", err)
	}
	w.others = now
	return w, conn.Info(), nil
}

func (w *watcher) close() error { return w.conn.Close() }

// do runs a command, on a new conn if the old one is lost.
func (w *watcher) do(ctx context.Context, args ...any) (evenkeel.Reply, error) {
	r := w.conn.Do(ctx, args...)
	err := r.Err()
	if err == nil || evenkeel.ServerSaid(err) || ctx.Err() != nil {
		return r, err
	}
	conn, dialErr := evenkeel.Dial(ctx, w.cfg)
	if dialErr != nil {
		return r, err
	}
	_ = w.conn.Close()
	w.conn = conn
	w.dialed++
	r = conn.Do(ctx, args...)
	return r, r.Err()
}

// info returns one section of INFO as its fields. One at a time: several in one
// call are new in version 7.
func (w *watcher) info(ctx context.Context, section string) (map[string]string, error) {
	r, err := w.do(ctx, "INFO", section)
	if err != nil {
		return nil, err
	}
	text, err := r.Text()
	if err != nil {
		return nil, err
	}
	return parseFields(text), nil
}

// parseFields reads lines of name:value, as INFO has them.
func parseFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// openNow is the server's count of open conns, all of them.
func (w *watcher) openNow(ctx context.Context) (int, error) {
	if w.embedded != nil {
		_, open := w.embedded.Conns()
		return open, nil
	}
	fields, err := w.info(ctx, "clients")
	if err != nil {
		return 0, err
	}
	return intField(fields, "connected_clients")
}

// open is how many conns the load has open, as the server counts them.
func (w *watcher) open(ctx context.Context) (int, error) {
	n, err := w.openNow(ctx)
	return max(n-w.others, 0), err
}

// counts asks for all that is counted.
func (w *watcher) counts(ctx context.Context) (counts, error) {
	if w.embedded != nil {
		accepted, open := w.embedded.Conns()
		return counts{accepted: accepted - w.dialed, open: max(open-w.others, 0)}, nil
	}
	var c counts
	stats, err := w.info(ctx, "stats")
	if err != nil {
		return c, err
	}
	accepted, err := intField(stats, "total_connections_received")
	if err != nil {
		return c, err
	}
	c.accepted = int64(accepted) - w.dialed
	if c.open, err = w.open(ctx); err != nil {
		return c, err
	}
	c.cpu, err = w.cpu(ctx)
	return c, err
}

// cpu is the server's CPU time in seconds, nil when it does not say.
func (w *watcher) cpu(ctx context.Context) (*float64, error) {
	if w.embedded != nil {
		return nil, nil // it is this process's own
	}
	fields, err := w.info(ctx, "cpu")
	if err != nil {
		return nil, err
	}
	user, userErr := strconv.ParseFloat(fields["used_cpu_user"], 64)
	system, systemErr := strconv.ParseFloat(fields["used_cpu_sys"], 64)
	if userErr != nil || systemErr != nil {
		return nil, nil //nolint:nilerr // a server that does not say is no failure
	}
	total := user + system
	return &total, nil
}

// memoryUse is the server's memory in bytes.
type memoryUse struct {
	clients   *int64 // of its normal clients; nil when it does not say
	used, rss int64
}

func (w *watcher) memory(ctx context.Context) (memoryUse, error) {
	fields, err := w.info(ctx, "memory")
	if err != nil {
		return memoryUse{}, err
	}
	var m memoryUse
	if m.used, err = strconv.ParseInt(fields["used_memory"], 10, 64); err != nil {
		return m, fmt.Errorf("INFO has no number used_memory: %w", err)
	}
	m.rss, _ = strconv.ParseInt(fields["used_memory_rss"], 10, 64) // 0: it does not say
	if n, err := strconv.ParseInt(fields["mem_clients_normal"], 10, 64); err == nil {
		m.clients = &n
	}
	return m, nil
}

// ping times one PING.
func (w *watcher) ping(ctx context.Context, l *Latency) error {
	begin := time.Now()
	if _, err := w.do(ctx, "PING"); err != nil {
		return err
	}
	l.Record(time.Since(begin))
	return nil
}

// clients returns the fields of CLIENT LIST, of the conns with these IDs or of all.
func (w *watcher) clients(ctx context.Context, ids ...int64) ([]map[string]string, error) {
	args := []any{"CLIENT", "LIST"}
	if len(ids) > 0 {
		args = append(args, "ID")
		for _, id := range ids {
			args = append(args, id)
		}
	}
	r, err := w.do(ctx, args...)
	if err != nil {
		return nil, err
	}
	text, err := r.Text()
	if err != nil {
		return nil, err
	}
	var list []map[string]string
	for line := range strings.Lines(text) {
		fields := map[string]string{}
		for field := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(field, "=")
			fields[name] = value
		}
		list = append(list, fields)
	}
	return list, nil
}

// software is the server's name and version.
func (w *watcher) software(ctx context.Context, info evenkeel.ConnInfo) (name, version string) {
	name, version = info.Server, info.Version
	fields, err := w.info(ctx, "server")
	if err != nil {
		return name, version
	}
	if v := fields["valkey_version"]; v != "" {
		return "valkey", v
	}
	if v := fields["redis_version"]; v != "" && version == "" {
		name, version = "redis", v
	}
	return name, version
}

// settle waits until the conns of the run before are gone, as the server counts
// them, but not for long.
func (w *watcher) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if n, err := w.open(ctx); err == nil && n == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// remove deletes keys.
func (w *watcher) remove(ctx context.Context, keys []string) error {
	const batch = 500
	for len(keys) > 0 {
		n := min(batch, len(keys))
		args := make([]any, 0, n+1)
		args = append(args, "DEL")
		for _, k := range keys[:n] {
			args = append(args, k)
		}
		if _, err := w.do(ctx, args...); err != nil {
			return fmt.Errorf("the run's keys could not be removed, they expire by themselves: %w", err)
		}
		keys = keys[n:]
	}
	return nil
}

func intField(fields map[string]string, name string) (int, error) {
	n, err := strconv.Atoi(fields[name])
	if err != nil {
		return 0, fmt.Errorf("INFO has no number %s", name)
	}
	return n, nil
}
