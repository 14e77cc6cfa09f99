package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/report"
)

const (
	slowBaseline = 500 * time.Millisecond // of PINGs without the readers
	slowEvery    = 100 * time.Millisecond // between two looks
	slowRelease  = 2 * time.Second        // the longest wait for memory to be given back
	slowPing     = 2 * time.Millisecond   // the rest between two PINGs
)

// SlowReaders has clients ask for a large value and read it slowly, without and with
// a limit to the clients' memory, and watches the server's memory and the time of a
// PING beside them. Cancelled, it returns what it has together with the context's
// error. Errors are an [OptionError], a [RefusedError], a [CapacityError], or say why
// the server could not be used.
func SlowReaders(ctx context.Context, o SlowReadersOptions) (*SlowReadersResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := openServer(ctx, o.Target, wants{plan: o.Plan(), disturb: o.Disturb, progress: o.Progress})
	if err != nil {
		return nil, err
	}
	if err := s.fits(ctx, o.Plan().Conns); err != nil {
		return nil, errors.Join(err, s.close())
	}
	r, err := slowReadersOn(ctx, s, o)
	return r, errors.Join(err, s.close())
}

func slowReadersOn(ctx context.Context, s *server, o SlowReadersOptions) (r *SlowReadersResult, err error) {
	r = NewSlowReadersResult(s.env, o)
	run := slowReadersRun{server: s, options: o, key: KeyPrefix + "slow-readers:" + rand.Text()}
	defer func() {
		closing, cancel := afterwards(ctx)
		defer cancel()
		err = errors.Join(err, s.watch.remove(closing, []string{run.key}))
	}()
	if err := run.write(ctx); err != nil {
		return r, err
	}
	own, has := run.limit(ctx)
	limits := []*int64{own}
	switch {
	case has && o.limits():
		limits = []*int64{new(int64), &o.Limit}
		defer func() {
			closing, cancel := afterwards(ctx)
			defer cancel()
			err = errors.Join(err, run.setLimit(closing, *own))
		}()
	case o.limits():
		o.Progress.Send(Event{Note: "the server has no maxmemory-clients (new in version 7.0), or does not let it be set: there is no phase with a limit"})
	}
	for _, limit := range limits {
		if has && o.limits() {
			if err := run.setLimit(ctx, *limit); err != nil {
				return r, err
			}
		}
		phase, err := run.phase(ctx, limit)
		if phase != nil {
			r.Phases = append(r.Phases, *phase)
		}
		if ctx.Err() != nil {
			r.Interrupted = true
			return r, ctx.Err()
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// slowReadersRun is one run of SlowReaders.
type slowReadersRun struct {
	server  *server
	options SlowReadersOptions
	key     string
}

// write makes the value on the server, without sending it there.
func (r *slowReadersRun) write(ctx context.Context) error {
	w := r.server.watch
	if _, err := w.do(ctx, "SETRANGE", r.key, r.options.ValueSize-1, "x"); err != nil {
		return err
	}
	_, err := w.do(ctx, "PEXPIRE", r.key, (r.options.Plan().Length + keyTTL*time.Second).Milliseconds())
	return err
}

// limit is the server's maxmemory-clients; has is false when it has none or does not
// tell. A percentage is of maxmemory, and none where that is not set.
func (r *slowReadersRun) limit(ctx context.Context) (limit *int64, has bool) {
	reply, err := r.server.watch.do(ctx, "CONFIG", "GET", "maxmemory-clients")
	if err != nil {
		return nil, false
	}
	values, err := reply.Map()
	if err != nil {
		return nil, false
	}
	n, err := strconv.ParseInt(values["maxmemory-clients"], 10, 64)
	if err != nil {
		return nil, false // not there, or a percentage, which would not come back as it was
	}
	return &n, true
}

func (r *slowReadersRun) setLimit(ctx context.Context, limit int64) error {
	if _, err := r.server.watch.do(ctx, "CONFIG", "SET", "maxmemory-clients", limit); err != nil {
		return fmt.Errorf("set maxmemory-clients to %d: %w", limit, err)
	}
	return nil
}

// evicted is how many clients the server has closed for their memory; nil when it
// does not say.
func (r *slowReadersRun) evicted(ctx context.Context) *int64 {
	fields, err := r.server.watch.info(ctx, "stats")
	if err != nil {
		return nil
	}
	n, err := strconv.ParseInt(fields["evicted_clients"], 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// besidePinger pings on a conn of its own, and keeps the longest time since it was
// last asked.
type besidePinger struct {
	client *evenkeel.Client
	meter  *meter
	worst  atomic.Int64
	crew   *crew
}

func (r *slowReadersRun) startPinger(ctx context.Context) (*besidePinger, error) {
	cfg := r.server.config(false, false)
	lanes(&cfg, 1, 0, 0)
	client, err := evenkeel.New(cfg)
	if err != nil {
		return nil, err
	}
	p := &besidePinger{client: client, meter: newMeter(1)}
	p.crew = muster(ctx, 1, slowPing, func(ctx context.Context, _ int) {
		begin := time.Now()
		err := client.Ping(ctx)
		elapsed := time.Since(begin)
		if err == nil || ctx.Err() == nil {
			p.meter.record(0, elapsed, err)
			p.worst.Store(max(p.worst.Load(), int64(elapsed))) // a look in between loses no more than this one
		}
	})
	return p, nil
}

// stop ends the pinging and returns what it has measured.
func (p *besidePinger) stop(ctx context.Context) (*Latency, int64) {
	p.crew.dismiss()
	closing, cancel := afterwards(ctx)
	defer cancel()
	_ = p.client.Close(closing) // its only call has ended
	return p.meter.times(), p.meter.tally().failed
}

func (r *slowReadersRun) phase(ctx context.Context, limit *int64) (*SlowReadersPhase, error) {
	o, w := r.options, r.server.watch
	name := "slow readers"
	if limit != nil {
		name += ", no limit"
		if *limit > 0 {
			name = "slow readers, limit " + report.Bytes(*limit)
		}
	}
	w.settle(ctx)
	p := &SlowReadersPhase{LimitBytes: limit, Points: []SlowReadersPoint{}}
	alone, err := r.startPinger(ctx)
	if err != nil {
		return nil, err
	}
	wait(ctx, o.Progress, name+": before", slowBaseline)
	times, _ := alone.stop(ctx)
	p.Before.PingMaxUs = times.MaxUs()
	p.PingBeforeP50Us, p.PingBeforeP99Us = times.QuantileUs(0.5), times.QuantileUs(0.99)
	m, err := w.memory(ctx)
	if err != nil {
		return nil, err
	}
	p.Before.Used, p.Before.Clients = m.used, m.clients
	evicted := r.evicted(ctx)

	beside, err := r.startPinger(ctx)
	if err != nil {
		return nil, err
	}
	readers, err := r.startReaders(ctx)
	if err == nil {
		r.follow(ctx, name, p, readers, beside)
	}
	times, p.PingErrors = beside.stop(ctx)
	p.PingP50Us, p.PingP99Us, p.PingMaxUs = times.QuantileUs(0.5), times.QuantileUs(0.99), times.MaxUs()
	p.summarise()
	closing, cancel := lastLook(ctx)
	defer cancel()
	if now := r.evicted(closing); now != nil && evicted != nil {
		n := *now - *evicted
		p.Evicted = &n
	}
	begin := time.Now()
	readers.stop()
	p.ReleasedMs = r.released(ctx, begin, p)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// follow looks at the server until the phase's time is up.
func (r *slowReadersRun) follow(ctx context.Context, name string, p *SlowReadersPhase, readers *slowReaders, beside *besidePinger) {
	o, w := r.options, r.server.watch
	start := time.Now()
	o.Progress.Send(Event{Phase: name, Total: o.Watch})
	for next := slowEvery; time.Since(start) < o.Watch && pause(ctx, time.Until(start.Add(next))); next += slowEvery {
		m, err := w.memory(ctx)
		if err != nil {
			continue // the next look has what this one has missed
		}
		at := SlowReadersPoint{T: time.Since(start).Seconds(), Used: m.used, Clients: m.clients, PingMaxUs: micros(time.Duration(beside.worst.Swap(0)))}
		lost, finished := readers.counts()
		at.Readers = len(readers.conns) - lost
		if out, ok := r.output(ctx, readers.ids); ok {
			at.Output = &out.sum
			if p.OutputMax == nil || out.longest > *p.OutputMax {
				p.OutputMax = &out.longest
			}
			at.Readers = out.readers // one that reads nothing does not notice its end
		}
		p.Lost, p.Finished = len(readers.conns)-at.Readers, finished
		p.Points = append(p.Points, at)
		o.Progress.Send(Event{Phase: name, Elapsed: time.Since(start), Total: o.Watch})
	}
}

// outputs are the readers' output buffers, in bytes.
type outputs struct {
	readers      int // that are connected
	sum, longest int64
}

func (r *slowReadersRun) output(ctx context.Context, ids []int64) (out outputs, ok bool) {
	if len(ids) < r.options.Readers {
		return out, false
	}
	list, err := r.server.watch.clients(ctx, ids...) // only these: the list of all may be long
	if err != nil {
		return out, false
	}
	for _, fields := range list {
		n, err := strconv.ParseInt(fields["omem"], 10, 64)
		if err != nil {
			return out, false
		}
		out.readers++
		out.sum += n
		out.longest = max(out.longest, n)
	}
	return out, true
}

// released waits until the server has given back what the readers took.
func (r *slowReadersRun) released(ctx context.Context, begin time.Time, p *SlowReadersPhase) *float64 {
	for time.Since(begin) < slowRelease {
		m, err := r.server.watch.memory(ctx)
		if err == nil && m.used-p.Before.Used <= p.UsedGrowth/10 {
			ms := time.Since(begin).Seconds() * 1000
			return &ms
		}
		if !pause(ctx, time.Millisecond) {
			return nil
		}
	}
	return nil
}

// slowReaders are the clients that read slowly.
type slowReaders struct {
	conns []*evenkeel.Conn
	slow  []*slowConn
	ids   []int64
	quit  context.CancelFunc
	wg    sync.WaitGroup

	mu             sync.Mutex
	lost, finished int
}

// startReaders opens all conns first, and then has all ask. What it returns must be
// stopped, also with an error.
func (r *slowReadersRun) startReaders(ctx context.Context) (*slowReaders, error) {
	reading, quit := context.WithCancel(ctx)
	s := &slowReaders{quit: quit}
	for range r.options.Readers {
		cfg := r.server.config(false, false)
		lanes(&cfg, 1, 0, 0)
		cfg.ClientName = clientName
		cfg.CommandTimeout, cfg.StallTimeout = evenkeel.Disabled, evenkeel.Disabled // to be late is the point
		var slow *slowConn
		cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			slow = newSlowConn(conn, r.options.Rate)
			return slow, nil
		}
		conn, err := evenkeel.Dial(ctx, cfg)
		if err != nil {
			return s, fmt.Errorf("a reader's connection: %w", err)
		}
		s.conns, s.slow = append(s.conns, conn), append(s.slow, slow)
		if id := conn.Info().ID; id != 0 {
			s.ids = append(s.ids, id)
		}
	}
	for i, conn := range s.conns {
		s.slow[i].slow.Store(true)
		s.wg.Go(func() { s.read(reading, conn, r.key) })
	}
	return s, nil
}

func (s *slowReaders) read(ctx context.Context, conn *evenkeel.Conn, key string) {
	err := conn.Do(ctx, "GET", key).Err()
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.lost++
	} else {
		s.finished++
	}
}

func (s *slowReaders) counts() (lost, finished int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost, s.finished
}

// stop closes all conns, whatever they are at, and waits for the readers.
func (s *slowReaders) stop() {
	s.quit()
	for i, conn := range s.conns {
		_ = s.slow[i].Close() // the socket first: nobody waits for the rest
		_ = conn.Close()
	}
	s.wg.Wait()
}
