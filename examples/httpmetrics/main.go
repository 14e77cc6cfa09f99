// Command httpmetrics counts visits over HTTP and logs what the client does through its hooks.
//
//	go run ./examples/httpmetrics redis://localhost:6379
//	curl http://127.0.0.1:8080/
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	url := "redis://localhost:6379"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	err := run(ctx, url, "127.0.0.1:8080", slog.Default())
	stop()
	if err != nil {
		slog.Error("httpmetrics", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, addr string, log *slog.Logger) error {
	cfg, err := evenkeel.ParseURL(url)
	if err != nil {
		return fmt.Errorf("parse the URL: %w", err)
	}
	// Hooks must be quick: a program with much traffic counts here and logs elsewhere.
	cfg.Hooks.OnCommand = func(e evenkeel.CommandEvent) {
		log.Info("command", "name", e.Name, "took", e.Duration, "attempts", e.Attempts, "err", e.Err)
	}
	client, err := evenkeel.New(cfg)
	if err != nil {
		return fmt.Errorf("new client: %w", err)
	}
	server := &http.Server{Addr: addr, Handler: visits(client, log), ReadHeaderTimeout: 5 * time.Second}
	stopped := make(chan error, 1)
	go func() { stopped <- server.ListenAndServe() }()
	select {
	case err = <-stopped:
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(closing), client.Close(closing))
}

// visits answers with the count; the request's context bounds the call, so a browser that leaves ends it.
func visits(client *evenkeel.Client, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := client.Do(r.Context(), "INCR", "visits").Int()
		if err != nil {
			http.Error(w, "the counter is out of reach", http.StatusServiceUnavailable)
			return
		}
		if _, err := fmt.Fprintf(w, "visit %d\n", n); err != nil {
			log.Debug("write", "err", err)
		}
		s := client.Stats()
		log.Info("client", "conns", s.Conns, "max", s.MaxConns, "retries", s.Retries, "stalls", s.Stalls)
	})
}
