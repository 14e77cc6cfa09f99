package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// TestMain builds the program once; the tests run it as a user does.
func TestMain(m *testing.M) {
	code, err := withBinary(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var binary string

func withBinary(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "evenkeel-cmd-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "evenkeel")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if out, err := exec.CommandContext(context.Background(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// outcome is what a run of the program left.
type outcome struct {
	code           int
	stdout, stderr string
	took           time.Duration
}

// program runs the program. Each line on its standard error is passed to see, if
// that is set, with the running process.
func program(t *testing.T, see func(line string, p *os.Process), environ []string, args ...string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), environ...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	lines, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(io.TeeReader(lines, &stderr))
	for scanner.Scan() {
		if see != nil {
			see(scanner.Text(), cmd.Process)
		}
	}
	err = cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), time.Since(begin)}
}

func TestChurnPrintsOneDocument(t *testing.T) {
	got := program(t, nil, nil, "bench", "churn", "--mode", "overflow,shared", "--duration", "200ms", "--drain-watch", "0", "--parallel", "20", "--json")
	var doc struct {
		Schema string
		Modes  []struct {
			Mode    string
			Seconds []struct{ Pings int }
		}
	}
	dec := json.NewDecoder(strings.NewReader(got.stdout))
	if err := dec.Decode(&doc); err != nil || got.code != 0 {
		t.Fatalf("exit %d, %v: %s", got.code, err, got.stderr)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		t.Errorf("something follows the document: %v", err)
	}
	if doc.Schema != "evenkeel.bench.churn/v1" || len(doc.Modes) != 2 || doc.Modes[0].Seconds[0].Pings == 0 {
		t.Errorf("%+v", doc)
	}
	if plan, begin := strings.Index(got.stderr, "what will run"), strings.Index(got.stderr, "overflow (200 ms)"); plan < 0 || begin < plan {
		t.Errorf("the plan is not printed before the load: %q", got.stderr)
	}
}

func TestPasswordFromTheEnvironment(t *testing.T) {
	s := evenkeeltest.StartServer(t, evenkeeltest.WithPassword("s3cret-word"))
	args := []string{"bench", "churn", "--url", "redis://" + s.Addr(), "--mode", "shared", "--duration", "100ms", "--disturb", "--json"}
	got := program(t, nil, []string{"EVENKEEL_PASSWORD=s3cret-word"}, args...)
	if got.code != 0 || strings.Contains(got.stdout+got.stderr, "s3cret-word") {
		t.Errorf("exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	got = program(t, nil, []string{"EVENKEEL_PASSWORD=wrong-word"}, args...)
	if got.code != 3 || !strings.Contains(got.stderr, "WRONGPASS") || strings.Contains(got.stderr, "wrong-word") {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
}

// Whatever listens there instead of a server: one clear line, soon.
func TestWhatIsNoServer(t *testing.T) {
	t.Parallel()
	tlsServer := evenkeeltest.StartServer(t, evenkeeltest.WithTLS())
	for name, c := range map[string]struct {
		answer string // to the first bytes; "" says nothing
		addr   string // of something else, if set
		flags  []string
		want   string
	}{
		"nothing":                   {addr: unused(t), want: "refused"},
		"HTTP":                      {answer: "HTTP/1.1 400 Bad Request\r\n\r\n", want: "it answers in HTTP"},
		"garbage":                   {answer: "\x00\xff\r\n", want: "does not speak the Redis protocol"},
		"silence":                   {want: "says nothing"},
		"half":                      {answer: "$50\r\nhalf", want: "no answer"},
		"plain spoken to TLS port":  {addr: tlsServer.TLSAddr(), want: "TLS"},
		"TLS spoken to plain port":  {addr: tlsServer.Addr(), flags: []string{"--tls", "--insecure"}, want: "plain port"},
		"certificate of a stranger": {addr: tlsServer.TLSAddr(), flags: []string{"--tls"}, want: "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := c.addr
			if addr == "" {
				addr = answering(t, c.answer)
			}
			host, port, err := net.SplitHostPort(addr)
			if err != nil {
				t.Fatal(err)
			}
			got := program(t, nil, nil, append([]string{"bench", "connect", "-h", host, "-p", port, "--quiet"}, c.flags...)...)
			if got.code != 3 || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, c.want) || !strings.HasPrefix(got.stderr, "evenkeel: ") || strings.HasPrefix(got.stderr, "evenkeel: evenkeel") {
				t.Errorf("exit %d, want %q in one line: %s", got.code, c.want, got.stderr)
			}
			if got.took > 15*time.Second {
				t.Errorf("took %v", got.took)
			}
		})
	}
}

// answering listens, and gives every conn the same answer to its first bytes.
func answering(t *testing.T, answer string) string {
	t.Helper()
	ln, err := evenkeeltest.ListenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				first := make([]byte, 4096)
				_, _ = conn.Read(first)
				_, _ = conn.Write([]byte(answer))
				_, _ = io.Copy(io.Discard, conn) // until the other side gives up
			}()
		}
	}()
	return ln.Addr().String()
}

// unused is an address where nothing listens.
func unused(t *testing.T) string {
	t.Helper()
	ln, err := evenkeeltest.ListenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
