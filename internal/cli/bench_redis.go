package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/bench/dialect"
	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/internal/command"
	"github.com/evenkeel-go/evenkeel/report"
)

// redisFlags are redis-benchmark's, and those that valkey-benchmark adds.
type redisFlags struct {
	server   serverFlags
	uri      string
	password string

	clients, threads     int
	requests             int64
	dataSize, keySpace   int64
	keepAlive, pipeline  int
	resp3, tracking      bool
	tests                string
	quiet, csv, loop     bool
	lastFromStdin        bool
	precision            int
	seed                 uint64
	duration, warmup     int
	rps                  int64
	sequential           bool
	functions, fcallKeys int
	cluster, idle        bool

	payload int64 // what the output calls so: a value, or a whole command that was given
}

func (f *redisFlags) register(fs *pflag.FlagSet) {
	s := &f.server
	fs.StringVarP(&s.host, "host", "h", defaultHost, "`host` of the server")
	fs.IntVarP(&s.port, "port", "p", defaultPort, "`port` of the server")
	fs.StringVarP(&s.socket, "socket", "s", "", "`path` of the server's unix socket, instead of host and port")
	fs.StringVarP(&f.password, "pass", "a", "", "`password`; better in REDISCLI_AUTH")
	fs.StringVar(&s.user, "user", "", "ACL user `name`, with -a")
	fs.StringVarP(&f.uri, "uri", "u", "", "the server as a `URL`")
	fs.IntVarP(&f.clients, "clients", "c", 50, "parallel connections, in all")
	fs.Int64VarP(&f.requests, "requests", "n", 100_000, "requests, in all")
	fs.Int64VarP(&f.dataSize, "size", "d", 3, "`bytes` of a value")
	fs.IntVar(&s.db, "dbnum", 0, "database `number`")
	fs.BoolVarP(&f.resp3, "resp3", "3", false, "speak RESP3")
	fs.IntVar(&f.threads, "threads", 0, "threads of this process")
	fs.BoolVar(&f.cluster, "cluster", false, "load all primaries of the cluster; keys have a {tag} for their slots")
	fs.BoolVar(&f.tracking, "enable-tracking", false, "send CLIENT TRACKING ON on each connection")
	fs.IntVarP(&f.keepAlive, "keepalive", "k", 1, "1: keep connections; 0: a new one for each request")
	fs.Int64VarP(&f.keySpace, "keyspace", "r", 0, "`number` of keys, values and scores to draw from (0: one key)")
	fs.IntVarP(&f.pipeline, "pipeline", "P", 1, "requests in flight on each connection")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "one line for each test")
	fs.IntVar(&f.precision, "precision", 0, "taken and of no effect: latencies always have three decimals, as in text and CSV there")
	fs.BoolVar(&f.csv, "csv", false, "CSV")
	fs.BoolVarP(&f.loop, "loop", "l", false, "again and again")
	fs.StringVarP(&f.tests, "tests", "t", "", "only these `tests`, separated by commas")
	fs.BoolVarP(&f.idle, "idle", "I", false, "not here: evenkeel bench idle")
	fs.BoolVarP(&f.lastFromStdin, "stdin", "x", false, "read the command's last argument from standard input")
	fs.Uint64Var(&f.seed, "seed", 1, "begins all random numbers")
	fs.IntVar(&f.duration, "duration", 0, "`seconds` to run, instead of -n")
	fs.IntVar(&f.warmup, "warmup", 0, "`seconds` of load before it is measured")
	fs.Int64Var(&f.rps, "rps", 0, "requests per second, in open loop (0: as fast as the replies come)")
	fs.BoolVar(&f.sequential, "sequential", false, "with -r: keys one after the other")
	fs.IntVar(&f.functions, "num-functions", 10, "functions of the test function_load")
	fs.IntVar(&f.fcallKeys, "num-keys-in-fcall", 1, "keys of the test fcall")
	fs.BoolVar(&s.tls, "tls", false, "use TLS")
	fs.StringVar(&s.sni, "sni", "", "`name` to ask for and to check in the server's certificate")
	fs.StringVar(&s.cacert, "cacert", "", "`file` of CA certificates to trust instead of the system's")
	fs.BoolVar(&s.insecure, "insecure", false, "do not check the server's certificate")
	fs.StringVar(&s.cert, "cert", "", "`file` of the client's certificate")
	fs.StringVar(&s.key, "key", "", "`file` of the client's private key")
	// What follows a command is its own, as in redis-benchmark -n 10 eval '…' 0 -1.
	fs.SetInterspersed(false)
}

// redisBenchmark is plain 'evenkeel bench' with redis-benchmark's flags.
func (s *session) redisBenchmark(cmd *cobra.Command, f *redisFlags, args []string) error {
	ctx, fs := cmd.Context(), cmd.Flags()
	o, err := s.redisOptions(ctx, f, fs)
	if err != nil {
		return err
	}
	loads, err := f.loads(ctx, args)
	if err != nil {
		return err
	}
	for i := range loads {
		o.Workload = *loads[i]
		if err := o.Validate(); err != nil {
			return err
		}
	}
	if f.csv {
		if _, err := fmt.Fprintln(s.Stdout, dialect.RedisCSVHeading()); err != nil {
			return failed(err)
		}
	}
	for {
		for _, w := range loads {
			o.Workload = *w
			if err := s.redisTest(ctx, f, o); err != nil {
				return err
			}
		}
		if !f.loop {
			break
		}
	}
	if f.quiet && !f.csv {
		_, err = fmt.Fprintln(s.Stdout)
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// redisTest runs one test and prints it.
func (s *session) redisTest(ctx context.Context, f *redisFlags, o bench.RunOptions) error {
	p := s.newProgress(!isTerminal(s.Stderr)) // scripts find nothing but the output they know
	o.Progress = func(e bench.Event) {
		if e.Phase == "load" {
			e.Phase = o.Workload.Title
		}
		p.event(e)
	}
	r, err := s.Experiments.Run(ctx, o)
	p.close()
	if err != nil {
		return failed(err)
	}
	times := r.Total.Times()
	if times == nil || times.Histogram == nil {
		times = &bench.RunTimes{Histogram: hist.New()}
	}
	t := dialect.RedisTest{
		Title: o.Workload.Title, Requests: r.OK, Elapsed: time.Duration(r.ElapsedS * float64(time.Second)), Clients: f.clients, Payload: f.payload,
		KeepAlive: f.keepAlive != 0, Threads: f.threads, Config: r.Environment.ServerConfig, Times: times.Histogram,
	}
	switch {
	case f.csv:
		_, err = fmt.Fprintln(s.Stdout, t.CSV())
	case f.quiet:
		_, err = fmt.Fprintln(s.Stdout, t.Line())
	default:
		err = t.Text(s.Stdout)
	}
	if err != nil {
		return failed(fmt.Errorf("the result could not be written: %w", err))
	}
	if r.Verdict.GeneratorBound {
		s.say("note: " + t.Title + ": " + bench.GeneratorBound + ": " + r.Verdict.Reason)
	}
	if r.Failed > 0 {
		return &failure{ExitFindings, fmt.Errorf("%s: %s of %s failed (%s); they are in no figure shown",
			t.Title, report.Int(r.Failed), report.Plural(r.OK+r.Failed, "request", "requests"), r.Failures())}
	}
	return nil
}

// redisOptions is what the flags say about the server and the load.
func (s *session) redisOptions(ctx context.Context, f *redisFlags, fs *pflag.FlagSet) (bench.RunOptions, error) {
	o := bench.DefaultRunOptions()
	switch {
	case f.idle:
		return o, fmt.Errorf("-I is another command here: evenkeel bench idle -h %s -p %d --conns %d", f.server.host, f.server.port, f.clients)
	case fs.Changed("requests") && f.duration > 0:
		return o, errors.New("-n and --duration exclude each other; give one of them")
	case f.keepAlive != 0 && f.keepAlive != 1:
		return o, fmt.Errorf("-k: %d is neither 1 (keep connections) nor 0 (a new one for each request)", f.keepAlive)
	case f.duration < 0 || f.warmup < 0 || f.rps < 0 || f.keySpace < 0 || f.requests < 1:
		return o, errors.New("-n must be 1 or more, and --duration, --warmup, --rps and -r cannot be negative")
	case f.threads < 0 || f.threads > f.clients:
		return o, fmt.Errorf("--threads: %d is out of bounds; give 1 to the number of connections, %d", f.threads, f.clients)
	}
	var err error
	if o.Target, err = s.redisTarget(ctx, f, fs); err != nil {
		return o, err
	}
	o.Conns, o.Workers, o.Depth = f.clients, max(f.threads, 1), f.pipeline
	o.Requests, o.Duration, o.Warmup = f.requests, 0, time.Duration(f.warmup)*time.Second
	if f.duration > 0 {
		o.Requests, o.Duration = 0, time.Duration(f.duration)*time.Second
	}
	if f.keepAlive == 0 {
		o.ReconnectEvery = 1
	}
	if f.tracking {
		o.Greeting = [][]string{{"CLIENT", "TRACKING", "on"}}
	}
	o.Rate, o.Seed, o.RESP3, o.Cluster = float64(f.rps), f.seed, f.resp3, f.cluster
	// It loads what it is told to, and leaves behind what it wrote, as redis-benchmark does.
	o.SkipPreload, o.Keep, o.Disturb = true, true, true
	return o, nil
}

// redisTarget is the server: 127.0.0.1:6379 unless the flags say otherwise, never a private one.
func (s *session) redisTarget(ctx context.Context, f *redisFlags, fs *pflag.FlagSet) (bench.Target, error) {
	t := bench.Target{Network: "tcp", Address: net.JoinHostPort(f.server.host, strconv.Itoa(f.server.port))}
	var err error
	switch {
	case fs.Changed("uri"):
		if t, err = s.fromURL("-u", f.uri); err != nil {
			return t, err
		}
	case fs.Changed("socket"):
		t.Network, t.Address = "unix", f.server.socket
	}
	if fs.Changed("dbnum") {
		t.DB = f.server.db
	}
	if fs.Changed("user") {
		t.Username = f.server.user
	}
	switch {
	case fs.Changed("pass"):
		t.Password = f.password
		s.say("warning: other users of this machine can read a password in -a; better put it in REDISCLI_AUTH")
	case t.Password == "":
		t.Password = orElse(s.Getenv("EVENKEEL_PASSWORD"), s.Getenv("REDISCLI_AUTH"))
	}
	s.secrets = append(s.secrets, t.Password)
	t.TLS, err = f.server.tlsConfig(ctx, fs, t)
	return t, err
}

// loads are the tests that run, one after the other.
func (f *redisFlags) loads(ctx context.Context, args []string) ([]*workload.Workload, error) {
	options := workload.Options{
		DataSize: f.dataSize, KeySpace: f.keySpace, Sequential: f.sequential, Functions: f.functions, FCallKeys: f.fcallKeys,
		Cluster: f.cluster,
	}
	f.payload = f.dataSize
	if len(args) == 0 {
		var words []string
		if f.tests != "" {
			words = strings.Split(f.tests, ",")
		}
		names, err := workload.Tests(words...)
		if err != nil {
			return nil, fmt.Errorf("-t: %w", err)
		}
		var loads []*workload.Workload
		for _, name := range names {
			w, err := workload.Test(name, options)
			if err != nil {
				return nil, err
			}
			loads = append(loads, w)
		}
		return loads, nil
	}
	if f.lastFromStdin {
		last, err := readInput(ctx, "-x: standard input", func() (io.ReadCloser, error) { return io.NopCloser(os.Stdin), nil })
		if err != nil {
			return nil, err
		}
		args = append(append([]string{}, args...), string(last))
	}
	f.payload = encodedSize(args)
	w := &workload.Workload{
		Title:    strings.Join(args, " "),
		Keys:     workload.Keys{Count: f.keySpace, Literal: f.keySpace == 0},
		Values:   workload.Values{Size: workload.Size{Bytes: f.dataSize}, Max: max(1, f.dataSize), Same: true},
		Commands: []workload.Command{{Args: args}},
	}
	if f.sequential {
		w.Keys.Dist.Kind = workload.Sequential
	}
	return []*workload.Workload{w}, w.Validate()
}

// encodedSize is how long a command is in the protocol.
func encodedSize(args []string) int64 {
	size := len(fmt.Sprintf("*%d\r\n", len(args)))
	for _, a := range args {
		size += len(fmt.Sprintf("$%d\r\n%s\r\n", len(a), a))
	}
	return int64(size)
}

// isRedisBenchmark reports whether a command line is one of redis-benchmark's: it has one of
// its flags, or a command of the server's to send.
func isRedisBenchmark(fs *pflag.FlagSet, args []string) bool {
	if fs.NFlag() > 0 {
		return true
	}
	return len(args) > 0 && command.Lookup(args[0], strings.Join(args[1:min(2, len(args))], "")) != nil
}
