//go:build linux

package evenkeeltest

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// A server must not outlive the process that started it, however that one ends.
func TestServerDiesWithItsHolder(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A signal that is ignored stays so in a child, as where a shell has put all this into the background. One that is caught is the child's own again.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(caught)
	for _, tc := range []struct {
		sig     syscall.Signal
		cleaned bool // the directory is removed too
	}{{syscall.SIGTERM, true}, {syscall.SIGINT, true}, {syscall.SIGKILL, false}} {
		t.Run(tc.sig.String(), func(t *testing.T) {
			holder := exec.CommandContext(t.Context(), self)
			tmp := t.TempDir()
			holder.Env = append(os.Environ(), childMode+"=1", "TMPDIR="+tmp)
			holder.Stderr = os.Stderr
			stdin, err := holder.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			stdout, err := holder.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := holder.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			addr, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
			w := connect(t, addr)
			w.ask("PING", "+PONG\r\n")
			if err := holder.Process.Signal(tc.sig); err != nil {
				t.Fatal(err)
			}
			_ = holder.Wait() // killed by the signal
			if status, ok := holder.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != tc.sig {
				t.Errorf("the holder ended with %v", holder.ProcessState)
			}
			if err := w.end(); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the server lives on")
			}
			if _, err := os.Stat(dir); tc.cleaned && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("directory left: %v", err)
			}
		})
	}
}
