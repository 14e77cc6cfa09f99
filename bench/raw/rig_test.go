package raw

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/internal/resp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a server whose replies a test decides.
type fake struct {
	t        *testing.T
	listener net.Listener
	group    sync.WaitGroup

	// answer gives the bytes for a request, the n-th of its conn, from 0; false closes the
	// conn after writing them.
	answer func(conn, n int, args []string) ([]byte, bool)

	conns    atomic.Int64
	requests atomic.Int64
	mu       sync.Mutex
	open     map[net.Conn]bool
	closed   bool
}

func startFake(t *testing.T, answer func(conn, n int, args []string) ([]byte, bool)) *fake {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, listener: l, answer: answer, open: map[net.Conn]bool{}}
	f.group.Go(f.accept)
	t.Cleanup(f.close)
	return f
}

func (f *fake) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	_ = f.listener.Close()
	f.dropAll()
	f.group.Wait()
}

// dropAll closes all conns.
func (f *fake) dropAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.open {
		_ = c.Close()
	}
}

func (f *fake) addr() string { return f.listener.Addr().String() }

func (f *fake) accept() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.open[c] = true
		if f.closed {
			_ = c.Close()
		}
		f.mu.Unlock()
		id := int(f.conns.Add(1)) - 1
		f.group.Go(func() { f.serve(c, id) })
	}
}

func (f *fake) serve(c net.Conn, id int) {
	defer func() {
		_ = c.Close()
		f.mu.Lock()
		delete(f.open, c)
		f.mu.Unlock()
	}()
	var parser resp.Parser
	buf := make([]byte, 32<<10)
	for n := 0; ; {
		size, err := c.Read(buf)
		if err != nil {
			return
		}
		var out []byte
		for b := buf[:size]; len(b) > 0; {
			var v resp.Value
			used, done, err := parser.Next(b, &v)
			if err != nil {
				f.t.Errorf("the server was sent what is no request: %v", err)
				return
			}
			b = b[used:]
			if !done {
				break
			}
			args := make([]string, len(v.Elems))
			for i := range v.Elems {
				args[i] = v.Elems[i].Str
			}
			f.requests.Add(1)
			reply, on := f.answer(id, n, args)
			n++
			if out = append(out, reply...); !on {
				_, _ = c.Write(out)
				return
			}
		}
		if len(out) > 0 {
			if _, err := c.Write(out); err != nil {
				return
			}
		}
	}
}

func ok(int, int, []string) ([]byte, bool) { return []byte("+OK\r\n"), true }

// script is a Stream of GETs and SETs in turn whose keys count up, so that a server can tell whether
// requests were sent twice or left out.
type script struct {
	worker, next int
	limit        int // 0: endless
	classes      int
	buf          []byte
	tags         []workload.Tag
	verify       func(workload.Tag, []byte) error
}

func (s *script) Batch(n int) ([]byte, []workload.Tag) {
	s.buf, s.tags = s.buf[:0], s.tags[:0]
	for range n {
		if s.limit > 0 && s.next == s.limit {
			break
		}
		class := s.next % max(1, s.classes)
		s.buf = append(s.buf, "*2\r\n$3\r\nGET\r\n$"...)
		var key [32]byte
		k := append(key[:0], 'k')
		k = strconv.AppendInt(k, int64(s.worker), 10)
		k = append(k, ':')
		k = strconv.AppendInt(k, int64(s.next), 10)
		s.buf = strconv.AppendInt(s.buf, int64(len(k)), 10)
		s.buf = append(s.buf, "\r\n"...)
		s.buf = append(s.buf, k...)
		s.buf = append(s.buf, "\r\n"...)
		s.tags = append(s.tags, workload.Tag(class)|workload.Tag(s.next)<<8)
		s.next++
	}
	return s.buf, s.tags
}

func (s *script) Verify(t workload.Tag, reply []byte) error {
	if s.verify == nil {
		return nil
	}
	return s.verify(t, reply)
}

// config is a small run against a fake.
func config(f *fake) Config {
	return Config{
		Dial: func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", f.addr())
		},
		Classes: []workload.Class{{Name: "GET", Read: true}},
		Streams: func(worker, _ int) Stream { return &script{worker: worker, classes: 1} },
		Workers: 1, Conns: 1, Depth: 1,
	}
}

// engines are both of them, by what Config.Portable is for each.
var engines = map[string]bool{"native": false, "portable": true}

// mustRun runs and checks what holds of every run.
func mustRun(t *testing.T, cfg Config) *Result {
	t.Helper()
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, r)
	return r
}

func checkResult(t *testing.T, r *Result) {
	t.Helper()
	var answered, byCode int64
	for i := range r.Classes {
		c := &r.Classes[i]
		if c.Service.Count() != c.OK {
			t.Errorf("%s: %d service times of %d replies", c.Class.Name, c.Service.Count(), c.OK)
		}
		if c.Response != nil && c.Response.Count() != c.OK {
			t.Errorf("%s: %d response times of %d replies", c.Class.Name, c.Response.Count(), c.OK)
		}
		if c.Class.Read && c.Hits+c.Misses != c.OK {
			t.Errorf("%s: %d hits and %d misses of %d", c.Class.Name, c.Hits, c.Misses, c.OK)
		}
	}
	for _, n := range r.Errors {
		byCode += n
	}
	if byCode != r.Failed() {
		t.Errorf("%d errors by code, %d by class", byCode, r.Failed())
	}
	for i := range r.Workers {
		answered += r.Workers[i].Requests
	}
	if answered != r.OK()+r.Failed() {
		t.Errorf("the workers had %d requests answered, the classes %d and %d", answered, r.OK(), r.Failed())
	}
	if r.Busy != nil {
		if sent := r.Scheduled - r.Backlog; answered+r.Unanswered != sent {
			t.Errorf("%d sent, but %d answered and %d not", sent, answered, r.Unanswered)
		}
	}
}

// aValue is a reply to GET.
var aValue = []byte("$5\r\nvalue\r\n")
