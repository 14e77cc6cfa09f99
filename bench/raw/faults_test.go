package raw

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/workload"
)

// eachEngine runs a test with a Config for each engine against a fake of its own.
func eachEngine(t *testing.T, answer func(conn, n int, args []string) ([]byte, bool), test func(*engineTest)) {
	t.Helper()
	for name, portable := range engines {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, answer)
			e := &engineTest{T: t, fake: f, cfg: config(f)}
			e.cfg.Portable = portable
			test(e)
		})
	}
}

type engineTest struct {
	*testing.T
	fake *fake
	cfg  Config
}

// An error reply is counted by its code and is in no time.
func TestErrorsAreCountedByCode(t *testing.T) {
	answer := func(_, n int, _ []string) ([]byte, bool) {
		switch n % 4 {
		case 0:
			return []byte("-OOM command not allowed when used memory > 'maxmemory'.\r\n"), true
		case 1:
			return []byte("-READONLY You can't write against a read only replica.\r\n"), true
		case 2:
			return []byte("!21\r\nSYNTAX invalid syntax\r\n"), true
		default:
			return aValue, true
		}
	}
	eachEngine(t, answer, func(t *engineTest) {
		t.cfg.Requests, t.cfg.Depth = 400, 8
		r := mustRun(t.T, t.cfg)
		if r.OK() != 100 || r.Errors["OOM"] != 100 || r.Errors["READONLY"] != 100 || r.Errors["SYNTAX"] != 100 || r.Classes[0].Service.Count() != 100 {
			t.Errorf("%d OK with %d times, errors %v", r.OK(), r.Classes[0].Service.Count(), r.Errors)
		}
	})
}

// A conn that closes in the middle fails what was in flight on it, once, and another takes
// its place; exactly what was asked for is sent.
func TestLostConnsAreReplaced(t *testing.T) {
	answer := func(conn, n int, _ []string) ([]byte, bool) { return aValue, conn > 3 || n < 9 }
	eachEngine(t, answer, func(t *engineTest) {
		t.cfg.Requests, t.cfg.Depth, t.cfg.Conns, t.cfg.Sliding = 2000, 4, 2, true
		r := mustRun(t.T, t.cfg)
		if r.OK()+r.Failed() != 2000 || r.Lost < 2 || r.Unanswered != 0 {
			t.Errorf("%d OK, %d failed, %d lost, %d unanswered", r.OK(), r.Failed(), r.Lost, r.Unanswered)
		}
		for code := range r.Errors {
			if !strings.HasPrefix(code, "conn: ") {
				t.Errorf("failed with %q", code)
			}
		}
		if r.Opened != int64(t.cfg.Conns)+r.Lost {
			t.Errorf("%d opened, %d lost", r.Opened, r.Lost)
		}
	})
}

// A server that never answers ends a run at its Duration, and what it owes is said.
func TestASilentServerEndsInTime(t *testing.T) {
	eachEngine(t, func(int, int, []string) ([]byte, bool) { return nil, true }, func(t *engineTest) {
		t.cfg.Duration, t.cfg.Depth, t.cfg.Conns = 50*time.Millisecond, 3, 2
		r := mustRun(t.T, t.cfg)
		if r.OK() != 0 || r.Unanswered != 6 || r.OldestUnanswered < t.cfg.Duration {
			t.Errorf("%d OK, %d unanswered for up to %v", r.OK(), r.Unanswered, r.OldestUnanswered)
		}
	})
}

// What is no reply loses the conn, with a cause that says so, and never hangs or panics.
func TestGarbageLosesTheConn(t *testing.T) {
	for _, garbage := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "$-7\r\n", "*99999999999\r\n", "$5\r\nhello..", "\x15\x03\x01\x00\x02\x02\x16"} {
		answer := func(_, n int, _ []string) ([]byte, bool) {
			if n == 2 {
				return []byte(garbage), true
			}
			return aValue, true
		}
		eachEngine(t, answer, func(t *engineTest) {
			t.cfg.Requests = 30
			r := mustRun(t.T, t.cfg)
			if r.OK()+r.Failed() != 30 || r.Lost == 0 || r.Failed() != r.Lost {
				t.Errorf("%q: %d OK, %d failed, %d lost: %v", garbage, r.OK(), r.Failed(), r.Lost, r.Errors)
			}
		})
	}
}

// A reply that comes byte by byte is one reply.
func TestRepliesInPieces(t *testing.T) {
	reply := "*3\r\n$5\r\nhel\r\n\r\n:12\r\n*2\r\n+OK\r\n$-1\r\n"
	for name, portable := range engines {
		t.Run(name, func(t *testing.T) {
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan struct{})
			go func() {
				defer close(served)
				conn, err := l.Accept()
				if err != nil {
					return
				}
				buf := make([]byte, 4096)
				for range 5 {
					if _, err := conn.Read(buf); err != nil {
						break
					}
					for i := range reply {
						if _, err := conn.Write([]byte(reply[i : i+1])); err != nil {
							break
						}
					}
				}
				_, _ = conn.Read(buf) // until it is closed
				_ = conn.Close()
			}()
			cfg := config(&fake{listener: l})
			cfg.Portable, cfg.Requests = portable, 5
			r := mustRun(t, cfg)
			_ = l.Close()
			<-served
			if r.OK() != 5 || r.Classes[0].BytesIn != int64(5*len(reply)) {
				t.Errorf("%d OK of 5, %d bytes: %v", r.OK(), r.Classes[0].BytesIn, r.Errors)
			}
		})
	}
}

// A server that is gone for good ends a run after GiveUp; one that was never there, at once.
func TestAServerThatIsGone(t *testing.T) {
	eachEngine(t, ok, func(t *engineTest) {
		t.cfg.Duration, t.cfg.GiveUp, t.cfg.Interval = time.Hour, 100*time.Millisecond, 10*time.Millisecond
		var once atomic.Bool
		t.cfg.OnInterval = func(i *Interval) {
			if i.OK() > 0 && once.CompareAndSwap(false, true) {
				_ = t.fake.listener.Close()
				t.fake.dropAll()
			}
		}
		r, err := Run(t.Context(), t.cfg)
		if gone, is := errors.AsType[*GoneError](err); !is || gone.For < t.cfg.GiveUp || r == nil || r.OK() == 0 || r.Lost == 0 {
			t.Fatalf("%v, %+v", err, r)
		}
		checkResult(t.T, r)
		if _, err := Run(t.Context(), t.cfg); err == nil {
			t.Fatal("it ran against nothing")
		} else if open, is := errors.AsType[*OpenError](err); !is || !strings.Contains(open.Error(), "refused") {
			t.Errorf("%v", err)
		}
	})
}

// What begins a conn may be refused for good, which ends the run, and says why.
func TestHelloRefused(t *testing.T) {
	answer := func(_, n int, _ []string) ([]byte, bool) {
		return []byte("-WRONGPASS invalid username-password pair\r\n"), true
	}
	eachEngine(t, answer, func(t *engineTest) {
		t.cfg.Hello, t.cfg.HelloReplies, t.cfg.Requests = []byte("*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n"), 1, 5
		_, err := Run(t.Context(), t.cfg)
		if refused, is := errors.AsType[*HelloError](err); !is || !strings.HasPrefix(refused.Reply, "WRONGPASS") {
			t.Errorf("%v", err)
		}
	})
}

// Cancelled at any moment, a run ends and gives what there is.
func TestCancelled(t *testing.T) {
	eachEngine(t, ok, func(t *engineTest) {
		t.cfg.Conns, t.cfg.Workers, t.cfg.Depth, t.cfg.Duration, t.cfg.Interval = 8, 2, 4, time.Hour, 5*time.Millisecond
		for after := range int64(4) {
			ctx, cancel := context.WithCancel(t.Context())
			seen := int64(0)
			t.cfg.OnInterval = func(*Interval) {
				if seen++; seen > after {
					cancel()
				}
			}
			r, err := Run(ctx, t.cfg)
			cancel()
			if !errors.Is(err, context.Canceled) || r == nil {
				t.Fatalf("%v, %+v", err, r)
			}
			checkResult(t.T, r)
		}
	})
}

// Intervals add up to the result, and the warm-up to neither.
func TestIntervalsAddUp(t *testing.T) {
	eachEngine(t, ok, func(t *engineTest) {
		t.cfg.Conns, t.cfg.Workers, t.cfg.Duration, t.cfg.Warmup, t.cfg.Interval = 4, 2, 100*time.Millisecond, 50*time.Millisecond, 10*time.Millisecond
		var warm, measured, times int64
		t.cfg.OnInterval = func(i *Interval) {
			if i.Warmup {
				warm += i.OK()
				return
			}
			measured += i.OK()
			times += i.Times().Count()
		}
		r := mustRun(t.T, t.cfg)
		if measured != r.OK() || times != r.OK() || warm == 0 {
			t.Errorf("%d in the intervals with %d times, %d in the result, %d in the warm-up", measured, times, r.OK(), warm)
		}
	})
}

// A conn for each request, whose dial is part of its time.
func TestReconnectEvery(t *testing.T) {
	eachEngine(t, ok, func(t *engineTest) {
		t.cfg.Requests, t.cfg.ReconnectEvery, t.cfg.Conns = 60, 1, 3
		r := mustRun(t.T, t.cfg)
		if r.OK() != 60 || r.Lost != 0 || t.fake.conns.Load() < 60 || r.Opened < 60 {
			t.Errorf("%d OK, %d lost, %d opened, the server had %d", r.OK(), r.Lost, r.Opened, t.fake.conns.Load())
		}
		if r.Classes[0].Service.Max() < r.Connect.Min() {
			t.Errorf("the slowest request took %v, and no conn less than %v", r.Classes[0].Service.Max(), r.Connect.Min())
		}
	})
}

// A wrong value is an error of its own kind.
func TestVerify(t *testing.T) {
	eachEngine(t, ok, func(t *engineTest) {
		t.cfg.Verify, t.cfg.Requests = true, 40
		t.cfg.Streams = func(worker, _ int) Stream {
			return &script{worker: worker, classes: 1, verify: func(tag workload.Tag, _ []byte) error {
				if tag>>8%4 == 0 {
					return errors.New("another key's value")
				}
				return nil
			}}
		}
		r := mustRun(t.T, t.cfg)
		if r.OK() != 30 || r.Errors["VERIFY"] != 10 {
			t.Errorf("%d OK, %v", r.OK(), r.Errors)
		}
	})
}
