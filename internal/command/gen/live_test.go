package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel-go/evenkeel/internal/command"
)

// startServer runs a private server on a unix socket until the test ends, and gives the socket's path.
func startServer(t *testing.T) string {
	t.Helper()
	binary := ""
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			binary = path
			break
		}
	}
	if binary == "" {
		t.Fatal("neither redis-server nor valkey-server is on the PATH: install one, or run make server")
	}
	dir, err := os.MkdirTemp("", "ek") //nolint:usetesting // t.TempDir has the test's name in it, and a socket's path has room for a hundred bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	server := exec.CommandContext(t.Context(), binary, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	log, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ready, drained := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(drained)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if strings.Contains(lines.Text(), "eady to accept connections") { // "Ready …", or "The server is now ready … at /path"
				select {
				case ready <- true:
				default:
				}
			}
		}
		close(ready)
	}()
	t.Cleanup(func() {
		_ = server.Process.Kill()
		<-drained
		_ = server.Wait()
	})
	if !<-ready {
		t.Fatalf("%s ended before it was ready", binary)
	}
	return socket
}

// TestTableAgainstServer: every command that the server lists is in the table, as the server describes it. Only a server of the very version that the table
// was captured from must agree in all; of another one it is enough that none of its reads is taken for a write that may be lost, nor the reverse.
func TestTableAgainstServer(t *testing.T) {
	live, err := ask(t.Context(), startServer(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(live.Commands) < 300 {
		t.Fatalf("server lists only %d commands", len(live.Commands))
	}
	same := live.Server == command.CapturedFrom
	if !same {
		t.Logf("server is %s, table is from %s", live.Server, command.CapturedFrom)
	}
	for _, c := range live.Commands {
		name, sub, _ := strings.Cut(c.Name, " ")
		info := command.Lookup(name, sub)
		if info == nil || info.Name != c.Name {
			if same {
				t.Errorf("%s is not in the table", c.Name)
			}
			continue
		}
		if writes := slices.Contains(c.Flags, "write"); writes && info.Flags.Has(command.FlagReadOnly) || writes && info.Retry == command.RetrySafe {
			t.Errorf("%s writes, says the server: the table has flags %v, retry %v", c.Name, info.Flags, info.Retry)
		}
		if slices.Contains(c.Flags, "blocking") && !info.MayBlock() {
			t.Errorf("%s blocks, says the server", c.Name)
		}
		if !same {
			continue
		}
		flags := slices.Clone(c.Flags)
		if info.MayBlock() && !slices.Contains(flags, "blocking") {
			flags = append(flags, "blocking") // WAIT: the table's own addition
		}
		slices.Sort(flags)
		got := strings.Fields(info.Flags.String())
		slices.Sort(got)
		if diff := cmp.Diff(flags, got); diff != "" && len(flags)+len(got) > 0 {
			t.Errorf("%s: flags (-server +table):\n%s", c.Name, diff)
		}
		want := [4]int{c.Arity, c.FirstKey, c.LastKey, c.KeyStep}
		if has := [4]int{info.Arity, info.FirstKey, info.LastKey, info.KeyStep}; has != want {
			t.Errorf("%s: arity and keys %v, want %v", c.Name, has, want)
		}
	}
}

// TestCaptureAgain: capturing from a server of the same version gives the committed file.
func TestCaptureAgain(t *testing.T) {
	live, err := ask(t.Context(), startServer(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := live.encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "commands.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := readCapture(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(len(live.Commands), len(again.Commands)); diff != "" {
		t.Errorf("commands lost on the way through the file:\n%s", diff)
	}
	committed, err := os.ReadFile("commands.json")
	if err != nil {
		t.Fatal(err)
	}
	if live.Server == command.CapturedFrom {
		if diff := cmp.Diff(string(committed), string(text)); diff != "" {
			t.Errorf("-committed +live:\n%s", diff)
		}
	}
}
