package evenkeeltest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel-go/evenkeel/internal/simnet"
)

// scene is a fake on a simulated network, in virtual time.
type scene struct {
	*testing.T
	net  *simnet.Network
	fake *Fake
}

func (s *scene) dial() *wire {
	s.Helper()
	c, err := s.net.Dial(s.Context(), "tcp", "fake")
	if err != nil {
		s.Fatal(err)
	}
	return onWire(s, c)
}

func inBubble(t *testing.T, test func(*scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, net: simnet.New(simnet.Options{})}
		ln, err := s.net.Listen("fake")
		if err != nil {
			t.Fatal(err)
		}
		s.fake = NewFake(ln, nil)
		defer s.fake.Close()
		test(s)
	})
}

func TestFakeCommands(t *testing.T) {
	inBubble(t, func(s *scene) {
		dial := s.dial
		w := dial()
		for _, step := range [][2]string{
			{"PING", "+PONG\r\n"},
			{"ping hi", "$2\r\nhi\r\n"},
			{"ECHO x", "$1\r\nx\r\n"},
			{"GET k", "$-1\r\n"},
			{"SET k v", "+OK\r\n"},
			{"GET k", "$1\r\nv\r\n"},
			{"INCR k", "-ERR value is not an integer or out of range\r\n"},
			{"SET k v EX 1", "-ERR syntax error: the fake knows no options of SET\r\n"},
			{"INCR n", ":1\r\n"},
			{"INCR n", ":2\r\n"},
			{"MSET a 1 b 2", "+OK\r\n"},
			{"MSET a", "-ERR wrong number of arguments for 'mset' command\r\n"},
			{"MGET a nil b", "*3\r\n$1\r\n1\r\n$-1\r\n$1\r\n2\r\n"},
			{"EXISTS a b c", ":2\r\n"},
			{"DEL a b c", ":2\r\n"},
			{"RPUSH q 1 2", ":2\r\n"},
			{"LPUSH q 0", ":3\r\n"},
			{"LLEN q", ":3\r\n"},
			{"GET q", "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"},
			{"LPOP k", "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"},
			{"BLPOP q 0", "*2\r\n$1\r\nq\r\n$1\r\n0\r\n"},
			{"LPOP q", "$1\r\n1\r\n"},
			{"SELECT 3", "+OK\r\n"},
			{"SELECT 99", "-ERR DB index is out of range\r\n"},
			{"CLIENT ID", ":1\r\n"},
			{"CLIENT SETNAME me", "+OK\r\n"},
			{"CLIENT GETNAME", "$2\r\nme\r\n"},
			{"CLIENT SETINFO lib-name x", "+OK\r\n"},
			{"CLIENT FROBNICATE", "-ERR unknown subcommand or wrong number of arguments for 'FROBNICATE'. Try CLIENT HELP.\r\n"},
			{"NOSUCH a b", "-ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' \r\n"},
			{"GET", "-ERR wrong number of arguments for 'get' command\r\n"},
			{"MULTI", "+OK\r\n"},
			{"INCR n", "+QUEUED\r\n"},
			{"BLPOP nothing 0", "+QUEUED\r\n"},
			{"EXEC", "*2\r\n:3\r\n*-1\r\n"},
			{"EXEC", "-ERR EXEC without MULTI\r\n"},
			{"FLUSHALL", "+OK\r\n"},
			{"GET n", "$-1\r\n"},
			{"RESET", "+RESET\r\n"},
			{"QUIT", "+OK\r\n"},
		} {
			w.ask(step[0], step[1])
		}
		_ = w.end()
	})
}

func TestFakeInlineAndBatch(t *testing.T) {
	inBubble(t, func(s *scene) {
		t, f, dial := s.T, s.fake, s.dial
		w := dial()
		batch := "PING\r\n\r\nset k v\n" + command("GET", "k") + "ping x\r\n"
		for i := range len(batch) { // at every byte
			if _, err := io.WriteString(w.nc, batch[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		w.expect("+PONG\r\n+OK\r\n$1\r\nv\r\n$1\r\nx\r\n")
		var names []string
		for _, r := range f.Requests() {
			names = append(names, r.Name)
		}
		if d := cmp.Diff([]string{"PING", "SET", "GET", "PING"}, names); d != "" {
			t.Fatal(d)
		}
		if f.Count("ping") != 2 {
			t.Fatalf("%d PINGs", f.Count("ping"))
		}
	})
}

func TestFakeProtocolError(t *testing.T) {
	inBubble(t, func(s *scene) {
		f, dial := s.fake, s.dial
		f.Handle("get", func(*Request) Reply { return Int(1) })
		for _, bad := range []string{"*x\r\n", "*1\r\n:1\r\n", strings.Repeat("x", maxPending+1)} {
			w := dial()
			if _, err := io.WriteString(w.nc, bad); err != nil {
				w.t.Fatal(err)
			}
			w.expect("-ERR Protocol error: invalid request\r\n")
			_ = w.end()
		}
	})
}

func TestFakeHello(t *testing.T) {
	inBubble(t, func(s *scene) {
		t, f, dial := s.T, s.fake, s.dial
		w := dial()
		w.ask("HELLO 3 SETNAME app", "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:1\r\n"+
			"$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n")
		w.ask("GET none", "_\r\n")
		if c := f.Conns()[0]; c.Proto() != 3 || c.Name() != "app" {
			t.Fatalf("proto %d, name %q", c.Proto(), c.Name())
		}
		w.ask("HELLO 4", "-NOPROTO unsupported protocol version\r\n")
		w.ask("HELLO 3 BOGUS", "-ERR Syntax error in HELLO option 'BOGUS'\r\n")
		f.SetHello(HelloNoProto)
		w.ask("HELLO 3", "-NOPROTO unsupported protocol version\r\n")
		f.SetHello(HelloUnknown)
		w.ask("HELLO 3", "-ERR unknown command 'HELLO', with args beginning with: '3' \r\n")
	})
}

func TestFakeAuth(t *testing.T) {
	inBubble(t, func(s *scene) {
		t, f, dial := s.T, s.fake, s.dial
		w := dial()
		w.send("AUTH x")
		w.expect("-ERR AUTH <password> called without any password")
		f.SetPassword("default", "secret")
		f.SetPassword("app", "hush")
		w = dial()
		w.ask("GET k", "-NOAUTH Authentication required.\r\n")
		w.send("HELLO 3")
		w.expect("-NOAUTH HELLO must be called")
		_, _ = w.br.ReadString('\n')
		w.ask("AUTH wrong", "-WRONGPASS invalid username-password pair or user is disabled.\r\n")
		w.ask("HELLO 3 AUTH app wrong", "-WRONGPASS invalid username-password pair or user is disabled.\r\n")
		w.ask("AUTH secret", "+OK\r\n")
		w.ask("GET k", "$-1\r\n")
		w.ask("AUTH app hush", "+OK\r\n")
		if got := f.Conns()[1].User(); got != "app" {
			t.Fatalf("signed in as %q", got)
		}
	})
}

func TestFakeBlocking(t *testing.T) {
	inBubble(t, func(s *scene) {
		t, f, dial := s.T, s.fake, s.dial
		a, b := dial(), dial()
		start := time.Now()
		a.ask("BLPOP q 1.5", "*-1\r\n")
		if d := time.Since(start); d != 1500*time.Millisecond {
			t.Fatalf("timed out after %v", d)
		}
		a.send("BLPOP q p 0")
		synctest.Wait()
		b.ask("RPUSH p x y", ":2\r\n")
		a.expect("*2\r\n$1\r\np\r\n$1\r\nx\r\n")
		a.send("BLPOP q 0")
		synctest.Wait()
		b.ask("CLIENT UNBLOCK 1", ":1\r\n")
		a.expect("*-1\r\n")
		a.send("BLPOP q 0")
		synctest.Wait()
		b.ask("CLIENT UNBLOCK 1 ERROR", ":1\r\n")
		a.expect("-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n")
		b.ask("CLIENT UNBLOCK 1", ":0\r\n")
		// One that leaves while it waits takes nothing.
		a.send("BLPOP q 0")
		synctest.Wait()
		_ = a.nc.Close()
		synctest.Wait()
		b.ask("RPUSH q z", ":1\r\n")
		b.ask("LPOP q", "$1\r\nz\r\n")
		if got := f.Stats().Open; got != 1 {
			t.Fatalf("open %d", got)
		}
	})
}

func TestFakeReplies(t *testing.T) {
	inBubble(t, func(s *scene) {
		f, dial := s.fake, s.dial
		w := dial()
		var reply Reply
		f.Handle("X", func(*Request) Reply { return reply })
		for _, tc := range []struct {
			reply Reply
			want  string
		}{
			{Double(1.5), "$3\r\n1.5\r\n"},
			{Bool(true), ":1\r\n"},
			{NullArray(), "*-1\r\n"},
			{Map(Bulk("k"), Int(1)), "*2\r\n$1\r\nk\r\n:1\r\n"},
			{Set(Simple("a")), "*1\r\n+a\r\n"},
			{Strings("a", "b"), "*2\r\n$1\r\na\r\n$1\r\nb\r\n"},
			{Err("BUSY no"), "-BUSY no\r\n"},
			{Raw("HTTP/1.1 400\r\n"), "HTTP/1.1 400\r\n"},
		} {
			reply = tc.reply
			w.ask("X", tc.want)
		}
		f.Handle("x", nil)
		w.ask("X", "-ERR unknown command 'X', with args beginning with: \r\n")
	})
}

func TestFakeFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		reply Reply
		want  string
		ends  error // nil: the conn stays open and silent
	}{
		"silence":      {Silence(), "", nil},
		"hang up":      {Hangup(), "", io.EOF},
		"half":         {Bulk("0123").Half(), "$4\r\n0", nil},
		"cut":          {Bulk("0123").CutAt(3), "$4\r", nil},
		"cut, close":   {Bulk("0123").CutAt(5).ThenClose(), "$4\r\n0", io.EOF},
		"then close":   {OK().ThenClose(), "+OK\r\n", io.EOF},
		"garbage":      {Raw("\x00\xff").ThenClose(), "\x00\xff", io.EOF},
		"default half": {Default().Half(), "$1\r", nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(s *scene) {
				t, f, dial := s.T, s.fake, s.dial
				w := dial()
				w.ask("SET k v", "+OK\r\n")
				f.Handle("GET", func(*Request) Reply { return tc.reply })
				w.ask("GET k", tc.want)
				if tc.ends == nil {
					w.send("PING") // is read and never answered
					tc.ends = os.ErrDeadlineExceeded
				}
				if err := w.end(); !errors.Is(err, tc.ends) {
					t.Fatalf("ended with %v, want %v", err, tc.ends)
				}
			})
		})
	}
}

func TestFakeResetOmitAndDelay(t *testing.T) {
	inBubble(t, func(s *scene) {
		t, f, dial := s.T, s.fake, s.dial
		f.Handle("SLOW", func(*Request) Reply { return OK().After(3 * time.Second) })
		f.Handle("OMIT", func(*Request) Reply { return Omit() })
		f.Handle("RST", func(*Request) Reply { return Hangup().ThenReset() })
		w := dial()
		start := time.Now()
		w.send("SLOW")
		w.ask("PING", "+OK\r\n+PONG\r\n")
		if d := time.Since(start); d != 3*time.Second {
			t.Fatalf("after %v", d)
		}
		w.send("OMIT")
		w.ask("ECHO a", "$1\r\na\r\n")
		w.send("RST")
		if err := w.end(); !simnet.IsReset(err) {
			t.Fatal(err)
		}
	})
}

func TestFakePauseKeepsConnsAndOrder(t *testing.T) {
	inBubble(t, func(s *scene) {
		t, f, dial := s.T, s.fake, s.dial
		f.Pause()
		w := dial()
		w.send("PING")
		w.send("ECHO a")
		synctest.Wait()
		if f.Stats().Open != 1 {
			t.Fatal("a paused fake did not accept")
		}
		time.AfterFunc(time.Second, f.Resume)
		start := time.Now()
		w.expect("+PONG\r\n$1\r\na\r\n")
		if d := time.Since(start); d != time.Second {
			t.Fatalf("after %v", d)
		}
	})
}

func TestFakeOnConnectAndMaxClients(t *testing.T) {
	inBubble(t, func(s *scene) {
		t, f, dial := s.T, s.fake, s.dial
		f.SetMaxClients(1)
		first := dial()
		first.ask("PING", "+PONG\r\n")
		w := dial()
		w.expect("-ERR max number of clients reached\r\n")
		_ = w.end()
		if d := cmp.Diff(FakeStats{Accepted: 2, Open: 1, OpenMax: 1, Refused: 1, Commands: 1}, f.Stats()); d != "" {
			t.Fatal(d)
		}
		f.SetMaxClients(0)
		f.OnConnect(func(*FakeConn) Reply { return Err("DENIED go away").ThenClose() })
		w = dial()
		w.expect("-DENIED go away\r\n")
		_ = w.end()
		f.OnConnect(func(*FakeConn) Reply { return Silence() })
		w = dial()
		w.send("PING")
		if err := w.end(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	})
}

func TestFakePush(t *testing.T) {
	inBubble(t, func(s *scene) {
		f, dial := s.fake, s.dial
		w := dial()
		w.send("HELLO 3")
		w.ask("ECHO mark", "%7\r\n")
		for line := ""; line != "mark\r\n"; {
			line, _ = w.br.ReadString('\n')
		}
		f.Conns()[0].Push(Push(Bulk("message"), Bulk("ch"), Bulk("hi")))
		w.expect(">3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n")
		w.ask("PING", "+PONG\r\n")
	})
}

func TestFakeKillAndReset(t *testing.T) {
	inBubble(t, func(s *scene) {
		t, f, dial := s.T, s.fake, s.dial
		a, b := dial(), dial()
		a.ask("PING", "+PONG\r\n")
		b.ask("CLIENT KILL ID 1", ":1\r\n")
		if err := a.end(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		synctest.Wait()
		b.ask("CLIENT KILL ID 1", ":0\r\n")
		f.ResetConns()
		if err := b.end(); !simnet.IsReset(err) {
			t.Fatal(err)
		}
	})
}

// A client that writes and never reads must not keep Close waiting.
func TestFakeCloseWithStuckClient(t *testing.T) {
	f := StartFake(t, func(*Request) Reply { return Bulk(strings.Repeat("x", 1<<20)) })
	w := connect(t, f.Addr())
	for range 64 {
		w.send("GET k")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := f.Await(ctx, func(s FakeStats) bool { return s.Commands > 8 }); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := f.Stats().Open; got != 0 {
		t.Fatalf("open after Close: %d", got)
	}
	if err := f.Await(ctx, func(s FakeStats) bool { return s.Open == 0 }); err != nil {
		t.Fatal(err)
	}
	done, stop := context.WithCancel(ctx)
	stop()
	if err := f.Await(done, func(FakeStats) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestFakeOverTLS(t *testing.T) {
	a, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	ln, err := ListenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	f := NewFake(tls.NewListener(ln, a.ServerConfig()), nil)
	defer f.Close()
	nc, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", f.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w := onWire(t, tls.Client(nc, a.ClientConfig()))
	w.ask("PING", "+PONG\r\n")
	f.ResetConns()
	if err := w.end(); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
}
