// Command queue is a worker on a Redis list: it waits in BLPOP for jobs until it is interrupted.
//
//	go run ./examples/queue redis://localhost:6379
//	redis-cli RPUSH jobs hello
//
// BLPOP takes a job off the list before the worker has done it: a worker that dies loses the job it holds.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	err := run(ctx, url, slog.Default())
	stop()
	if err != nil {
		slog.Error("queue", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string, log *slog.Logger) (err error) {
	client, err := evenkeel.Open(url)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err = errors.Join(err, client.Close(closing))
	}()
	for {
		// The client sees that BLPOP waits and sends it on the blocking lane, where it holds up no other command.
		job, err := client.Do(ctx, "BLPOP", "jobs", 5).Strings()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, evenkeel.ErrNil): // five seconds without a job
			continue
		case err != nil:
			log.Warn("no job", "err", err, "mayHaveRun", evenkeel.MayHaveRun(err))
			select {
			case <-ctx.Done():
			case <-time.After(time.Second): // the client paces its dials; this paces the log
			}
			continue
		case len(job) != 2:
			return fmt.Errorf("BLPOP answered with %d elements, want key and value", len(job))
		}
		log.Info("job", "text", job[1])
	}
}
