//go:build unix

package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/evenkeel-go/evenkeel/internal/cli"
)

// TestPipes: a password may come from a pipe, and waiting for one that nobody writes to ends with the first signal.
func TestPipes(t *testing.T) {
	pipe := func(name string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	done := make(chan outcome)
	read := func(ctx context.Context, f *fake, path string) {
		done <- runWith(ctx, f, nil, "bench", "churn", "-h", "x", "--password-file", path)
	}

	silent := pipe("silent")
	ctx, interrupt := context.WithCancel(t.Context())
	f := &fake{}
	go read(ctx, f, silent)
	interrupt()
	got := <-done
	if got.code != cli.ExitFailed || !strings.Contains(got.stderr, "interrupted while --password-file was read") || f.churn != nil {
		t.Errorf("exit %d, %q, run: %v", got.code, got.stderr, f.churn != nil)
	}
	// This frees the goroutine that still waits for a writer.
	if w, err := os.OpenFile(silent, os.O_RDWR, 0); err != nil || w.Close() != nil {
		t.Fatal(err)
	}

	path := pipe("written")
	go read(t.Context(), f, path)
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("from a pipe\n"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.code != cli.ExitDone || f.churn == nil || f.churn.Target.Password != "from a pipe" {
		t.Errorf("exit %d, %q", got.code, got.stderr)
	}
}
