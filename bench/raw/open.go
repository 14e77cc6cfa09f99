package raw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// dialers is how many conns are opened at once when a run begins: enough to hide the
	// round trips, few enough not to overflow a server's backlog of 511.
	dialers = 32
	// firstBackoff and lastBackoff bound the pause before a lost conn is dialled again.
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = time.Second
)

// opened is a conn that is ready for requests.
type opened struct {
	conn  net.Conn
	begin int64 // when its dial began
	took  time.Duration
}

// connect opens one conn and sends what begins it.
func (r *run) connect(ctx context.Context) (opened, error) {
	begin := time.Now()
	conn, err := r.cfg.Dial(ctx)
	if err != nil {
		return opened{}, err
	}
	if err := r.greet(ctx, conn); err != nil {
		_ = conn.Close() // the first error is the one that matters
		return opened{}, err
	}
	return opened{conn: conn, begin: int64(begin.Sub(r.base)), took: time.Since(begin)}, nil
}

// greet sends Config.Hello and reads the replies to it.
func (r *run) greet(ctx context.Context, conn net.Conn) error {
	if len(r.cfg.Hello) == 0 {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	err := exchange(conn, r.cfg.Hello, r.cfg.HelloReplies)
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	return err
}

// exchange writes requests and reads so many replies, and nothing beyond them.
func exchange(conn net.Conn, requests []byte, replies int) error {
	if _, err := conn.Write(requests); err != nil {
		return err
	}
	var scan scanner
	buf := make([]byte, 4096)
	for replies > 0 || scan.inside {
		n, err := conn.Read(buf)
		for b := buf[:n]; len(b) > 0; {
			size, o, text, err := scan.next(b)
			if err != nil {
				return err
			}
			b = b[size:]
			switch {
			case o == unfinished || o == pushed:
				continue
			case o == errorReply && saysMaxClients(text):
				return errMaxClients
			case o == errorReply:
				return refusal(text)
			case replies == 0:
				return errUnasked
			}
			replies--
		}
		if err != nil && replies > 0 {
			if errors.Is(err, io.EOF) {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// refusal is the error for an error reply to what begins a conn.
func refusal(text []byte) error { return &HelloError{Reply: string(text)} }

// fatal reports whether an error ends the run wherever it happens: a password does not
// become right by itself.
func fatal(err error) bool {
	var refused *HelloError
	return errors.As(err, &refused) && !passes(refused.Reply)
}

// openAll opens the conns that a run begins with.
func (r *run) openAll(ctx context.Context) ([]opened, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu    sync.Mutex
		conns = make([]opened, 0, r.cfg.Conns)
		next  int
		first error
	)
	one := func() bool {
		mu.Lock()
		next++
		more := next <= r.cfg.Conns && first == nil
		mu.Unlock()
		if !more {
			return false
		}
		o, err := r.connect(ctx)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			if first == nil {
				first = err
			}
			cancel()
			return false
		}
		conns = append(conns, o)
		return true
	}
	var group sync.WaitGroup
	for range min(dialers, r.cfg.Conns) {
		group.Go(func() {
			for one() {
			}
		})
	}
	group.Wait()
	if first == nil {
		return conns, nil
	}
	for _, o := range conns {
		_ = o.conn.Close()
	}
	if _, refused := errors.AsType[*HelloError](first); refused {
		return nil, fmt.Errorf("raw: %w", first)
	}
	return nil, &OpenError{Opened: len(conns), Wanted: r.cfg.Conns, Err: first}
}

// reconnect opens a conn in the place of one that was lost, and tries again until it
// has one or ctx ends. missed hears of each failure.
func (r *run) reconnect(ctx context.Context, missed func(error)) (opened, error) {
	pause := firstBackoff
	for {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return opened{}, ctx.Err()
		case <-timer.C:
		}
		o, err := r.connect(ctx)
		if err == nil {
			return o, nil
		}
		if ctx.Err() != nil {
			return opened{}, ctx.Err()
		}
		if fatal(err) {
			r.fail(err)
			return opened{}, err
		}
		missed(err)
		pause = min(2*pause, lastBackoff)
	}
}
