package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/pool"
	"github.com/evenkeel-go/evenkeel/report"
)

// RunClient is what the client went through in a run with callers, warm-up included.
type RunClient struct {
	// ConnsMax is the most connections that were open at the end of an interval.
	ConnsMax int `json:"conns_max"`
	// Waits are calls that found no free connection on the exclusive or the blocking lane,
	// and WaitS how long they waited for one, all together.
	Waits uint64  `json:"waits"`
	WaitS float64 `json:"wait_s"`
	// Refused are calls that were turned away without having been sent: by a full queue,
	// overload, or an endpoint that was down.
	Refused uint64 `json:"refused"`
	// Dials were started and DialsFailed failed.
	Dials       uint64 `json:"dials"`
	DialsFailed uint64 `json:"dials_failed"`
	// Stalls are connections that stopped answering.
	Stalls uint64 `json:"stalls"`
}

// application is the client engine's part of a run: goroutines that call through one
// client, as those of a program do. It implements [raw.Caller].
type application struct {
	client *evenkeel.Client
	do     func(ctx context.Context, args ...any) evenkeel.Reply
	most   int // conns; of the watcher of the run
}

// newApplication makes the client that the options ask for.
func newApplication(s *server, o RunOptions) (*application, error) {
	cfg := s.config(false, false)
	if o.RESP3 {
		cfg.Protocol = 3
	}
	cfg.MaxWaiters = o.Callers
	cfg.CommandTimeout = o.Timeout
	if o.Lane == LaneShared {
		lanes(&cfg, o.Conns, 0, 0)
	} else {
		lanes(&cfg, 1, o.Conns, 0)
	}
	// A workload may have commands that wait on the server, each of which holds a conn.
	cfg.MaxBlocking = o.Conns
	cfg.MaxConns += o.Conns
	client, err := evenkeel.New(cfg)
	if err != nil {
		return nil, err
	}
	a := &application{client: client, do: client.DoExclusive}
	if o.Lane == LaneShared {
		a.do = client.Do
	}
	return a, nil
}

// take has so many goroutines of a run call the client, instead of conns of its own.
func (a *application) take(cfg *raw.Config, callers int) {
	cfg.Caller, cfg.Conns = a, callers
	cfg.Dial, cfg.Hello, cfg.HelloReplies = nil, nil, 0
}

// Call implements raw.Caller.
func (a *application) Call(ctx context.Context, request []byte) raw.Answer {
	args := arguments(request)
	reply := a.do(ctx, args...)
	err := reply.Err()
	switch said, ok := errors.AsType[*evenkeel.ServerError](err); {
	case err == nil || errors.Is(err, evenkeel.ErrNil):
		return raw.Answer{Null: reply.IsNil(), Size: sizeOf(reply)}
	case ok:
		return raw.Answer{Failure: said.Code}
	default:
		return raw.Answer{Failure: "call: " + failureKind(err), Lost: err}
	}
}

// Open implements raw.Caller.
func (a *application) Open() int {
	n := a.client.Stats().Conns
	a.most = max(a.most, n)
	return n
}

// CPU implements raw.Caller.
func (a *application) CPU() (user, system time.Duration) {
	user, system, _ = processCPU()
	return user, system
}

// lossReasons are why a pool closes a conn that was not to end.
func lossReasons() []pool.Reason {
	return []pool.Reason{pool.ReasonError, pool.ReasonCanceled, pool.ReasonStall, pool.ReasonValidation}
}

// report fills in what the client went through. The load has ended.
func (a *application) report(r *RunResult) {
	st := a.client.Stats()
	c := &RunClient{
		ConnsMax: max(a.most, st.Conns), Dials: st.Endpoint.Dials, DialsFailed: st.Endpoint.DialsFailed, Stalls: st.Stalls,
		// On the shared lane it is the lane itself that waits for its conns.
		Waits: st.Exclusive.Waits + st.Blocking.Waits, WaitS: (st.Exclusive.WaitTime + st.Blocking.WaitTime).Seconds(),
	}
	r.Client, r.Opened, r.Lost = c, 0, 0
	for _, p := range []pool.Stat{st.Shared, st.Exclusive, st.Blocking} {
		c.Refused += p.Shed + p.Rejected + p.Refused
		r.Opened += int64(p.Opened)
		for _, reason := range lossReasons() {
			r.Lost += int64(p.Closed(reason))
		}
	}
}

// arguments splits an encoded request, an array of bulk strings as workloads make it,
// into its words, which stay where they are.
func arguments(request []byte) []any {
	n, rest := header(request)
	args := make([]any, 0, n)
	for range n {
		var size int
		size, rest = header(rest)
		args = append(args, rest[:size:size])
		rest = rest[size+2:]
	}
	return args
}

// header reads a length line, and gives what follows it.
func header(b []byte) (n int, rest []byte) {
	i := 1
	for ; b[i] != '\r'; i++ {
		n = n*10 + int(b[i]-'0')
	}
	return n, b[i+2:]
}

// sizeOf is the length of a reply in bytes, as RESP2 has it.
func sizeOf(r evenkeel.Reply) int {
	const frame, end = 1 + 2, 2 // the type byte and the line's end; the end of the text
	switch r.Kind() {
	case "null":
		return len("$-1\r\n")
	case "integer":
		n, _ := r.Int()
		return frame + len(strconv.FormatInt(n, 10))
	case "array", "set", "map", "push":
		elements, err := r.Slice()
		if err != nil {
			return 0
		}
		size := frame + len(strconv.Itoa(len(elements)))
		for _, e := range elements {
			size += sizeOf(e)
		}
		return size
	case "simple string":
		text, _ := r.Text()
		return frame + len(text)
	default:
		text, _ := r.Text()
		return frame + len(strconv.Itoa(len(text))) + len(text) + end
	}
}

func (r *RunResult) clientSection() report.Section {
	c, p := r.Client, r.Params
	s := report.Section{Heading: "The client", Prose: []string{fmt.Sprintf(
		"%s called through one client with %s on its %s lane, as the goroutines of an application do. Times contain the client's own work and its queue.",
		report.Plural(p.Callers, "goroutine", "goroutines"), report.Plural(p.Conns, "connection", "connections"), p.Lane)}}
	t := report.Table{Columns: []report.Column{{Name: "what the client counted", Text: true}, {Name: "warm-up included"}}}
	add := func(name, value string) { t.Rows = append(t.Rows, []string{name, value}) }
	add("connections, at most", report.Int(c.ConnsMax))
	add("calls that waited for a connection", report.Int(int64(c.Waits)))
	if c.Waits > 0 {
		add("waited, on average", report.Micros(c.WaitS*1e6/float64(c.Waits)))
	}
	add("calls turned away unsent", report.Int(int64(c.Refused)))
	add("dials", report.Int(int64(c.Dials)))
	add("dials that failed", report.Int(int64(c.DialsFailed)))
	add("connections that stopped answering", report.Int(int64(c.Stalls)))
	s.Tables = append(s.Tables, t)
	return s
}
