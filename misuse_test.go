package evenkeel_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// TestMisuseIsAnError: what can never work is refused by an error that says what to do, and sends nothing.
func TestMisuseIsAnError(t *testing.T) {
	fake := evenkeeltest.StartFake(t, nil)
	client, err := evenkeel.New(evenkeel.DefaultConfig(fake.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	ctx := t.Context()
	pipeline := func(args ...any) error {
		p := client.Pipeline()
		p.Do(args...)
		_, err := p.Exec(ctx)
		return err
	}
	for name, err := range map[string]error{
		"no command":                 client.Do(ctx).Err(),
		"an empty name":              client.Do(ctx, "").Err(),
		"a name that is no text":     client.Do(ctx, 7).Err(),
		"a nil argument":             client.Do(ctx, "SET", "k", nil).Err(),
		"a struct":                   client.Do(ctx, "SET", "k", struct{}{}).Err(),
		"a session command":          client.Do(ctx, "SELECT", 1).Err(),
		"a transaction command":      client.Do(ctx, "multi").Err(),
		"a named type":               client.Do(ctx, "CLIENT", named("REPLY"), "SKIP").Err(),
		"named bytes":                client.Do(ctx, namedBytes("client"), namedBytes("reply"), "OFF").Err(),
		"a named session command":    client.Do(ctx, named("SELECT"), 1).Err(),
		"a named type in a pipeline": pipeline("CLIENT", named("REPLY"), "OFF"),
		"a subscription":             client.Do(ctx, "SUBSCRIBE", "c").Err(),
		"MONITOR":                    client.Do(ctx, "MONITOR").Err(),
		"no function":                client.WithConn(ctx, nil),
		"blocking in a pipeline":     pipeline("BLPOP", "q", 0),
		"MULTI without EXEC":         pipeline("MULTI"),
		"a struct in a pipeline":     pipeline("SET", "k", struct{}{}),
		"a pipeline of no client":    func() error { var p evenkeel.Pipeline; p.Do("PING"); _, err := p.Exec(ctx); return err }(),
	} {
		if !errors.Is(err, evenkeel.ErrUsage) || evenkeel.MayHaveRun(err) || strings.Contains(err.Error(), "  ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(fake.Requests()); n > 0 {
		t.Errorf("%d requests reached the server", n)
	}
}

// Types based on those that arguments may have: they are arguments too, and no way around a refusal.
type (
	named      string
	namedBytes []byte
)

// TestWithConnPanic: a panic of the function reaches the caller, and the conn is given back clean.
func TestWithConnPanic(t *testing.T) {
	server := evenkeeltest.StartServer(t)
	cfg := evenkeel.DefaultConfig(server.Addr())
	cfg.Size, cfg.Overflow = 1, 0
	client, err := evenkeel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	for range 3 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic did not pass through")
				}
			}()
			_ = client.WithConn(t.Context(), func(c *evenkeel.Conn) error {
				c.Do(t.Context(), "MULTI")
				panic("a bug of the caller")
			})
		}()
	}
	if text, err := client.DoExclusive(t.Context(), "ECHO", "hello").Text(); err != nil || text != "hello" {
		t.Errorf("afterwards: %q, %v", text, err)
	}
	if st := client.Stats().Exclusive; st.InUse != 0 || st.Opened != 1 {
		t.Errorf("afterwards: %d conns in use, %d ever opened", st.InUse, st.Opened)
	}
}

// TestG2_TransactionLeftHalfWay: an EXEC that was never sent, or was refused, does not make a conn clean on which MULTI has run.
func TestG2_TransactionLeftHalfWay(t *testing.T) {
	server := evenkeeltest.StartServer(t)
	cfg := evenkeel.DefaultConfig(server.Addr())
	cfg.Size, cfg.Overflow = 1, 0
	client, err := evenkeel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, leave := range map[string]func(*evenkeel.Conn) error{
		"EXEC never sent":    func(c *evenkeel.Conn) error { return c.Do(gone, "EXEC").Err() },
		"DISCARD never sent": func(c *evenkeel.Conn) error { return c.Do(gone, "DISCARD").Err() },
		"EXEC refused":       func(c *evenkeel.Conn) error { return c.Do(t.Context(), "EXEC", "one word too many").Err() },
		"pipeline never sent": func(c *evenkeel.Conn) error {
			p := c.Pipeline()
			p.Do("EXEC")
			_, err := p.Exec(gone)
			return err
		},
	} {
		err := client.WithConn(t.Context(), func(c *evenkeel.Conn) error {
			if err := c.Do(t.Context(), "MULTI").Err(); err != nil {
				t.Fatal(err)
			}
			return leave(c)
		})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if text, err := client.DoExclusive(t.Context(), "ECHO", "hello").Text(); err != nil || text != "hello" {
			t.Errorf("%s: the next caller got %q, %v", name, text, err)
		}
	}
}

// TestWatchDoesNotOutliveWithConn: a MULTI that was never sent, because its context had ended, does not leave the keys watched.
func TestWatchDoesNotOutliveWithConn(t *testing.T) {
	server := evenkeeltest.StartServer(t)
	cfg := evenkeel.DefaultConfig(server.Addr())
	cfg.Size, cfg.Overflow = 1, 0
	client, err := evenkeel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, multi := range map[string]func(*evenkeel.Conn) error{
		"Do": func(c *evenkeel.Conn) error { return c.Do(ended, "MULTI").Err() },
		"a pipeline": func(c *evenkeel.Conn) error {
			p := c.Pipeline()
			p.Do("MULTI")
			p.Do("EXEC")
			_, err := p.Exec(ended)
			return err
		},
	} {
		if err := client.WithConn(t.Context(), func(c *evenkeel.Conn) error {
			if err := c.Do(t.Context(), "WATCH", "k").Err(); err != nil {
				return err
			}
			if err := multi(c); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: MULTI under an ended context: %v", name, err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Do(t.Context(), "SET", "k", name); err != nil {
			t.Fatal(err)
		}
		p := client.Pipeline()
		p.Do("MULTI")
		p.Do("INCR", "n")
		p.Do("EXEC")
		replies, err := p.Exec(t.Context())
		if err != nil || replies[2].IsNil() {
			t.Errorf("%s: the next transaction was aborted: %v", name, err)
		}
		if st := client.Stats().Exclusive; st.Opened != 1 {
			t.Errorf("%s: %d conns were opened", name, st.Opened)
		}
	}
}
