package evenkeeltest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// childMode makes the test binary hold a server instead of running tests, to see
// what becomes of it when the holder dies.
const childMode = "EVENKEELTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childMode) != "" {
		os.Exit(holdServer())
	}
	goleak.VerifyTestMain(m)
}

// holdServer starts a server as a test would, prints where it is, and waits to be
// killed.
func holdServer() (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	s, err := Launch(ctx)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer closeOnSignal(s)()
	_, _ = fmt.Fprintln(os.Stdout, s.Addr(), s.at.dir)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// wire is a test's side of a conn: what to write, what to expect.
type wire struct {
	t  testing.TB
	nc net.Conn
	br *bufio.Reader
}

func connect(t testing.TB, addr string) *wire {
	t.Helper()
	nc, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return onWire(t, nc)
}

func onWire(t testing.TB, nc net.Conn) *wire {
	t.Helper()
	t.Cleanup(func() { _ = nc.Close() })
	return &wire{t: t, nc: nc, br: bufio.NewReader(nc)}
}

// patience gives the next step ten seconds.
func (w *wire) patience() { _ = w.nc.SetDeadline(time.Now().Add(10 * time.Second)) }

func command(words ...string) string {
	b := resp.AppendArrayHeader(nil, len(words))
	for _, w := range words {
		b = resp.AppendBulkString(b, w)
	}
	return string(b)
}

// send writes one command, its words cut at blanks.
func (w *wire) send(text string) {
	w.t.Helper()
	w.patience()
	if _, err := io.WriteString(w.nc, command(strings.Fields(text)...)); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
}

// expect reads exactly these bytes.
func (w *wire) expect(want string) {
	w.t.Helper()
	w.patience()
	got := make([]byte, len(want))
	n, err := io.ReadFull(w.br, got)
	if string(got[:n]) != want {
		w.t.Fatalf("read %q (%v), want %q", got[:n], err, want)
	}
}

// ask sends and expects.
func (w *wire) ask(text, want string) {
	w.t.Helper()
	w.send(text)
	w.expect(want)
}

// end reads nothing but the end of the conn, and returns how it ended.
func (w *wire) end() error {
	w.t.Helper()
	w.patience()
	b, err := w.br.ReadByte()
	if err == nil {
		w.t.Fatalf("read %q, want the end", b)
	}
	return err
}
