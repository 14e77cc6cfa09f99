package raw

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// service is a client that takes a time of its own for each call.
type service struct {
	takes   func(n int64) time.Duration // of the n-th call, from 0
	answers func(n int64) Answer
	calls   atomic.Int64
}

func (s *service) Call(ctx context.Context, request []byte) Answer {
	n := s.calls.Add(1) - 1
	if len(request) == 0 {
		return Answer{Failure: "no request"}
	}
	select {
	case <-time.After(s.takes(n)):
	case <-ctx.Done():
		return Answer{Failure: "cut short", Lost: ctx.Err()}
	}
	if s.answers != nil {
		return s.answers(n)
	}
	return Answer{Size: 11}
}

func (s *service) Open() int { return 3 }

func (s *service) CPU() (user, system time.Duration) { return 0, 0 }

func constant(d time.Duration) func(int64) time.Duration {
	return func(int64) time.Duration { return d }
}

// calling is a config for so many callers of s.
func calling(s *service, callers int) Config {
	cfg := config(nil)
	cfg.Caller, cfg.Conns, cfg.Dial = s, callers, nil
	return cfg
}

func TestCallersMakeExactlyTheirRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{takes: constant(time.Millisecond)}
		cfg := calling(s, 7)
		cfg.Workers, cfg.Requests = 3, 1001
		r := mustRun(t, cfg)
		if r.OK() != 1001 || r.Failed() != 0 || r.Unanswered != 0 || s.calls.Load() != 1001 || r.Engine != "client" {
			t.Errorf("%d OK, %d failed, %d unanswered of %d calls by the %s engine", r.OK(), r.Failed(), r.Unanswered, s.calls.Load(), r.Engine)
		}
		if c := r.Classes[0]; c.BytesIn != 1001*11 || c.Service.Min() != time.Millisecond || c.Service.Max() != time.Millisecond {
			t.Errorf("%d bytes, calls of %v to %v", c.BytesIn, c.Service.Min(), c.Service.Max())
		}
	})
}

// In open loop a second of standstill is in the response times of all who were due in it,
// and the callers, not the generator, are what they waited for.
func TestCallersSeeAStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{takes: func(n int64) time.Duration {
			if n >= 1000 && n < 1010 { // all ten callers at once
				return time.Second
			}
			return time.Millisecond
		}}
		cfg := calling(s, 10)
		cfg.Rate, cfg.Duration = 1000, 4*time.Second
		r := mustRun(t, cfg)
		if r.Scheduled != 4000 || r.OK() != 4000 || r.Backlog != 0 {
			t.Fatalf("%d scheduled, %d answered, %d never sent", r.Scheduled, r.OK(), r.Backlog)
		}
		c := r.Classes[0]
		if p := c.Service.Quantile(0.99); p > 2*time.Millisecond {
			t.Errorf("p99 of the service time is %v: ten slow calls of 4,000 are no hundredth", p)
		}
		if p := c.Response.Quantile(0.99); p < 900*time.Millisecond {
			t.Errorf("p99 of the response time is %v: a fourth of the requests was due during the standstill", p)
		}
		if late, busy := r.Late.Quantile(0.99), r.Busy.Quantile(0.99); late > time.Millisecond || busy < 900*time.Millisecond {
			t.Errorf("lag: %v late, %v busy at p99; the callers were busy", late, busy)
		}
	})
}

func TestCallersLeaveOutTheWarmup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{takes: constant(time.Millisecond)}
		cfg := calling(s, 2)
		cfg.Warmup, cfg.Duration, cfg.Interval = 100*time.Millisecond, time.Second, 70*time.Millisecond
		var ok, warm int64
		cfg.OnInterval = func(i *Interval) {
			if i.Open != 3 {
				t.Errorf("%d conns open, the client has 3", i.Open)
			}
			if i.Warmup {
				warm += i.OK()
			} else {
				ok += i.OK()
			}
		}
		r := mustRun(t, cfg)
		// What each caller had under way when the warm-up ended is in neither.
		neither := s.calls.Load() - warm - r.OK()
		if r.OK() != ok || warm == 0 || neither < 0 || neither > 2 || r.Elapsed != time.Second {
			t.Errorf("%d in the result, %d in intervals, %d in the warm-up, %d calls in %v", r.OK(), ok, warm, s.calls.Load(), r.Elapsed)
		}
	})
}

// A server that is away is not asked in a busy loop, and after GiveUp not any more.
func TestCallersGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("connection refused")
		s := &service{takes: constant(0), answers: func(n int64) Answer {
			if n < 100 {
				return Answer{Size: 5}
			}
			return Answer{Failure: "endpoint down", Lost: gone}
		}}
		cfg := calling(s, 4)
		cfg.Duration, cfg.GiveUp = time.Minute, 2*time.Second
		r, err := Run(t.Context(), cfg)
		var lost *GoneError
		if !errors.As(err, &lost) || !errors.Is(err, gone) {
			t.Fatalf("err %v", err)
		}
		if r.OK() != 100 || r.Errors["endpoint down"] != r.Failed() {
			t.Errorf("%d OK, %d failed: %v", r.OK(), r.Failed(), r.Errors)
		}
		if most := int64(4 * 3 * time.Second / lostPause); r.Failed() > most {
			t.Errorf("%d calls to a server that was away, at most %d with a pause after each", r.Failed(), most)
		}
	})
}

func TestCallersComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{takes: constant(time.Millisecond), answers: func(n int64) Answer {
			if n%10 == 3 {
				return Answer{Failure: "call: deadline", Lost: context.DeadlineExceeded}
			}
			return Answer{Null: true, Size: 5}
		}}
		cfg := calling(s, 4)
		cfg.Requests, cfg.GiveUp = 1000, time.Second
		r := mustRun(t, cfg)
		if r.OK() != 900 || r.Failed() != 100 || r.Classes[0].Misses != 900 {
			t.Errorf("%d OK, %d failed, %d misses", r.OK(), r.Failed(), r.Classes[0].Misses)
		}
	})
}

func TestCallersEndWithTheirContext(t *testing.T) {
	for name, rate := range map[string]float64{"closed": 0, "open": 5} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s := &service{takes: constant(time.Hour)}
				cfg := calling(s, 3)
				cfg.Duration, cfg.Rate = time.Minute, rate
				time.AfterFunc(time.Second, cancel)
				r, err := Run(ctx, cfg)
				if !errors.Is(err, context.Canceled) || r == nil || r.OK() != 0 || r.Unanswered != 3 {
					t.Errorf("err %v, result %+v", err, r)
				}
			})
		})
	}
}

func TestCallersAreGivenNoConns(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"dial":      func(c *Config) { c.Dial = config(&fake{}).Dial },
		"hello":     func(c *Config) { c.Hello, c.HelloReplies = []byte("PING\r\n"), 1 },
		"depth":     func(c *Config) { c.Depth = 2 },
		"reconnect": func(c *Config) { c.ReconnectEvery = 1 },
		"verify":    func(c *Config) { c.Verify = true },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := calling(&service{takes: constant(0)}, 1)
			cfg.Requests = 1
			spoil(&cfg)
			_, err := Run(t.Context(), cfg)
			if _, ok := errors.AsType[*ConfigError](err); !ok {
				t.Errorf("err %v", err)
			}
		})
	}
}
