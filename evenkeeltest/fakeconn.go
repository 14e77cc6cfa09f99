package evenkeeltest

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// FakeConn is a client's conn to a [Fake]. Its methods may be called concurrently.
//
// One goroutine reads requests ahead, so that the end of the conn is noticed while
// a reply is delayed or a command blocks; another one answers them in order.
type FakeConn struct {
	fake    *Fake
	id      int64
	nc      net.Conn
	refused bool

	requests chan *Request
	gone     chan struct{} // closed when nothing more can be read
	closed   chan struct{} // closed by Close and Reset
	once     sync.Once
	pushed   chan struct{} // has one entry when pushes wait

	mu      sync.Mutex
	proto   int
	name    string
	user    string // "" until signed in
	db      string
	pushes  []Reply
	unblock chan string // while blocked: "TIMEOUT" or "ERROR"

	// Of the answering goroutine alone.
	silent bool
	out    []byte
	queued []*Request // since MULTI
	multi  bool
}

func newFakeConn(f *Fake, id int64, nc net.Conn) *FakeConn {
	return &FakeConn{
		fake: f, id: id, nc: nc, proto: 2, db: "0",
		requests: make(chan *Request, fakeQueue),
		gone:     make(chan struct{}),
		closed:   make(chan struct{}),
		pushed:   make(chan struct{}, 1),
	}
}

// ID returns what CLIENT ID answers: conns are numbered from 1.
func (c *FakeConn) ID() int64 { return c.id }

// RemoteAddr returns the client's address.
func (c *FakeConn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// Proto returns the protocol in use, 2 or 3.
func (c *FakeConn) Proto() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proto
}

// Name returns the name set by CLIENT SETNAME or HELLO.
func (c *FakeConn) Name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}

// User returns the user that has signed in, "" for none.
func (c *FakeConn) User() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.user
}

// DB returns the database chosen by SELECT.
func (c *FakeConn) DB() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.db
}

// Push sends a message out of band, between two replies: while one is delayed or a
// command blocks, it waits.
func (c *FakeConn) Push(r Reply) {
	c.mu.Lock()
	c.pushes = append(c.pushes, r)
	c.mu.Unlock()
	select {
	case c.pushed <- struct{}{}:
	default:
	}
}

// Close closes the conn.
func (c *FakeConn) Close() {
	c.once.Do(func() {
		close(c.closed)
		_ = c.nc.Close()
	})
}

// Reset closes the conn with an RST.
func (c *FakeConn) Reset() {
	c.once.Do(func() {
		close(c.closed)
		resetConn(c.nc)
	})
}

// serve answers until the conn has ended.
func (c *FakeConn) serve() {
	defer c.fake.forget(c)
	defer c.Close()
	if c.refused {
		_ = c.send(Err("ERR max number of clients reached"))
		_ = c.flush()
		return
	}
	c.fake.mu.Lock()
	greet := c.fake.greet
	c.fake.mu.Unlock()
	if greet != nil && !c.reply(greet(c)) {
		return
	}
	if c.flush() != nil {
		return
	}
	c.fake.wg.Go(c.read)
	for {
		select {
		case r := <-c.requests:
			if !c.answer(r) {
				return
			}
		case <-c.pushed:
			c.sendPushes()
		case <-c.closed:
			return
		case <-c.gone:
			// What came before the end is still answered.
			select {
			case r := <-c.requests:
				if !c.answer(r) {
					return
				}
			default:
				_ = c.flush()
				return
			}
		}
		// As a server does, answer a whole batch before writing.
		if len(c.requests) == 0 && c.flush() != nil {
			return
		}
	}
}

// answer handles one request. It returns false when the conn is to be closed.
func (c *FakeConn) answer(r *Request) bool {
	h, paused := c.fake.script(r.Name)
	if paused != nil {
		if c.flush() != nil {
			return false
		}
		select {
		case <-paused:
		case <-c.closed:
			return false
		case <-c.gone:
			return false
		}
	}
	reply := Default()
	if h != nil && r.Name != protocolErrorName {
		reply = h(r)
	}
	if reply.kind == replyDefault {
		d := c.fake.perform(r)
		// Faults on the default reply are kept.
		reply.kind, reply.value = d.kind, d.value
		if d.then != thenGoOn && reply.then == thenGoOn {
			reply.then = d.then
		}
	}
	return c.reply(reply)
}

// reply sends a reply with its faults.
func (c *FakeConn) reply(r Reply) bool {
	if r.delay > 0 && !c.wait(r.delay) {
		return false
	}
	if err := c.send(r); err != nil {
		return false
	}
	switch r.then {
	case thenGoOn:
	case thenSilence:
		if c.flush() != nil {
			return false
		}
		c.silent = true
	case thenClose:
		_ = c.flush()
		return false
	case thenReset:
		_ = c.flush()
		c.Reset()
		return false
	}
	return true
}

// wait waits, after what has been said is out.
func (c *FakeConn) wait(d time.Duration) bool {
	if c.flush() != nil {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.closed:
		return false
	case <-c.gone:
		return false
	}
}

// maxPending is how many reply bytes wait before they are written.
const maxPending = 64 << 10

func (c *FakeConn) send(r Reply) error {
	if c.silent {
		return nil
	}
	c.out = r.encode(c.out, c.Proto())
	if len(c.out) >= maxPending {
		return c.flush()
	}
	return nil
}

func (c *FakeConn) sendPushes() {
	c.mu.Lock()
	pushes := c.pushes
	c.pushes = nil
	c.mu.Unlock()
	for _, p := range pushes {
		if c.send(p) != nil {
			return
		}
	}
}

func (c *FakeConn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.nc.Write(c.out)
	c.out = c.out[:0]
	return err
}

// read reads requests until the conn ends or what comes is no request.
func (c *FakeConn) read() {
	defer close(c.gone)
	var in requestReader
	buf := make([]byte, 4096)
	seq := 0
	for {
		n, err := c.nc.Read(buf)
		args, bad := in.feed(buf[:n])
		for _, a := range args {
			seq++
			r := &Request{Conn: c, Seq: seq, At: time.Now(), Name: strings.ToUpper(a[0]), Args: a}
			c.fake.noteRequest(r)
			select {
			case c.requests <- r:
			case <-c.closed:
				return
			}
		}
		if bad != nil {
			// A server says so and closes; the words do not matter.
			select {
			case c.requests <- &Request{Conn: c, Name: protocolErrorName, At: time.Now()}:
			case <-c.closed:
			}
			return
		}
		if err != nil {
			return
		}
	}
}

// protocolErrorName stands for a request that could not be parsed. No client can
// send it: names are in upper case.
const protocolErrorName = "protocol error"

// requestReader cuts a stream into requests: arrays of strings, or inline ones.
type requestReader struct {
	parser resp.Parser
	inline []byte // the beginning of an inline request
	inside bool   // within an array
}

// feed returns the requests that b completes. After an error it must not be called
// again.
func (rr *requestReader) feed(b []byte) (requests [][]string, err error) {
	for len(b) > 0 {
		if !rr.inside && (len(rr.inline) > 0 || b[0] != '*') {
			line, rest, found := bytes.Cut(b, []byte("\n"))
			rr.inline = append(rr.inline, line...)
			if len(rr.inline) > maxPending {
				return requests, &resp.ProtocolError{Msg: "inline request too long"}
			}
			if !found {
				return requests, nil
			}
			if words := strings.Fields(string(rr.inline)); len(words) > 0 {
				requests = append(requests, words)
			}
			rr.inline, b = rr.inline[:0], rest
			continue
		}
		var v resp.Value
		n, done, err := rr.parser.Next(b, &v)
		if err != nil {
			return requests, err
		}
		b = b[n:]
		if rr.inside = !done; !done {
			return requests, nil
		}
		words := make([]string, len(v.Elems))
		for i := range v.Elems {
			if v.Elems[i].Kind != resp.KindBulk {
				return requests, &resp.ProtocolError{Msg: "a request's words are bulk strings"}
			}
			words[i] = v.Elems[i].Str
		}
		if len(words) > 0 {
			requests = append(requests, words)
		}
	}
	return requests, nil
}
