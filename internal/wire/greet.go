package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// A GreetError is the server's refusal of a command of the handshake.
type GreetError struct {
	Command string // "HELLO", "AUTH", "SELECT" …, without arguments
	Line    string // the server's error line
	Hint    string
}

func (e *GreetError) Error() string {
	s := e.Command + " refused: " + e.Line
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Errors that a GreetError is, for errors.Is.
var (
	ErrAuth       = errors.New("the server refused the credentials")
	ErrMaxClients = errors.New("the server has no room for another conn")
)

// Is makes a refusal ErrAuth or ErrMaxClients.
func (e *GreetError) Is(target error) bool {
	return target == ErrAuth && e.Auth() || target == ErrMaxClients && e.MaxClients()
}

// Auth reports whether the credentials were refused or are missing.
func (e *GreetError) Auth() bool {
	return strings.HasPrefix(e.Line, "WRONGPASS") || strings.HasPrefix(e.Line, "NOAUTH") ||
		strings.HasPrefix(e.Line, "ERR invalid password") || strings.HasPrefix(e.Line, "ERR Client sent AUTH") ||
		strings.HasPrefix(e.Line, "ERR AUTH")
}

// MaxClients reports whether the server has no room for another conn.
func (e *GreetError) MaxClients() bool { return strings.Contains(e.Line, "max number of clients") }

// A greeting is the handshake as far as it has come.
type greeting struct {
	nc   net.Conn
	cfg  *Config
	user string
	pass string
	p    resp.Parser
	buf  []byte // unparsed
	info Info
	size int // bytes read
}

// maxGreeting bounds, in bytes, what a server may say during the handshake.
const maxGreeting = 1 << 20

// step is one command of the handshake; optional ones may be refused.
type step struct {
	words    []string
	optional bool
}

// greet does the handshake on a fresh socket: HELLO 3 with AUTH and SETNAME, SELECT and the rest in one round trip; where the
// server does not know HELLO, the same again in RESP2.
// It also returns what the server has sent beyond its replies.
func greet(ctx context.Context, nc net.Conn, cfg *Config) (Info, []byte, error) {
	g := &greeting{nc: nc, cfg: cfg, user: cfg.Username, pass: cfg.Password}
	if cfg.Credentials != nil {
		var err error
		if g.user, g.pass, err = cfg.Credentials(ctx); err != nil {
			return Info{}, nil, fmt.Errorf("credentials: %w", err)
		}
	}
	if dl, ok := ctx.Deadline(); ok {
		if err := nc.SetDeadline(dl); err != nil {
			return Info{}, nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(longAgo) })
	defer stop()
	err := g.run()
	if !stop() && (err == nil || errors.Is(err, os.ErrDeadlineExceeded)) {
		err = ctx.Err() // it may have been cancelled
	}
	return g.info, g.buf, err
}

func (g *greeting) run() error {
	if g.cfg.Protocol != 2 {
		refusal, err := g.exchange(append([]step{{words: g.hello()}}, g.rest()...))
		if err != nil {
			return err
		}
		if refusal == nil {
			return nil
		}
		if g.cfg.Protocol == 3 || !refusal.noHello() {
			return refusal
		}
	}
	g.info = Info{Protocol: 2}
	var steps []step
	if g.pass != "" {
		words := []string{"AUTH", g.pass}
		if g.user != "" {
			words = []string{"AUTH", g.user, g.pass}
		}
		steps = append(steps, step{words: words})
	}
	if g.cfg.ClientName != "" {
		steps = append(steps, step{words: []string{"CLIENT", "SETNAME", g.cfg.ClientName}})
	}
	steps = append(steps, g.rest()...)
	refusal, err := g.exchange(append(steps, step{words: []string{"CLIENT", "ID"}, optional: true}))
	if err != nil {
		return err
	}
	if refusal != nil {
		return refusal
	}
	return nil
}

func (g *greeting) hello() []string {
	words := []string{"HELLO", "3"}
	if g.pass != "" {
		user := g.user
		if user == "" {
			user = "default"
		}
		words = append(words, "AUTH", user, g.pass)
	}
	if g.cfg.ClientName != "" {
		words = append(words, "SETNAME", g.cfg.ClientName)
	}
	return words
}

func (g *greeting) rest() []step {
	var steps []step
	if g.cfg.DB != 0 {
		steps = append(steps, step{words: []string{"SELECT", strconv.Itoa(g.cfg.DB)}})
	}
	if g.cfg.LibName != "" { // known from 7.2 on
		steps = append(steps, step{words: []string{"CLIENT", "SETINFO", "LIB-NAME", g.cfg.LibName}, optional: true},
			step{words: []string{"CLIENT", "SETINFO", "LIB-VER", g.cfg.LibVersion}, optional: true})
	}
	if g.cfg.NoEvict {
		steps = append(steps, step{words: []string{"CLIENT", "NO-EVICT", "on"}})
	}
	if len(steps) == 0 && g.cfg.Protocol == 2 {
		steps = append(steps, step{words: []string{"PING"}}) // something must show that a Redis server is there
	}
	return steps
}

// exchange sends the steps, together or one by one, and returns the first refusal of one that is not optional.
func (g *greeting) exchange(steps []step) (*GreetError, error) {
	if g.cfg.Sequential {
		for _, s := range steps {
			if refusal, err := g.trip([]step{s}); err != nil || refusal != nil {
				return refusal, err
			}
		}
		return nil, nil
	}
	return g.trip(steps)
}

func (g *greeting) trip(steps []step) (refusal *GreetError, err error) {
	var out []byte
	for _, s := range steps {
		out = resp.AppendArrayHeader(out, len(s.words))
		for _, w := range s.words {
			out = resp.AppendBulkString(out, w)
		}
	}
	_, werr := g.nc.Write(out) // a server that refuses us may have closed already: its last words matter more
	for _, s := range steps {
		var v resp.Value
		if err := g.reply(&v); err != nil {
			if refusal != nil {
				return refusal, nil
			}
			if werr != nil && !errors.Is(err, errNotRESP) {
				err = werr
			}
			return nil, err
		}
		switch {
		case v.Kind == resp.KindError && refusal == nil && (!s.optional || fatal(v.Str)):
			refusal = newGreetError(s.words[0], v.Str)
		case v.Kind == resp.KindError:
		case s.words[0] == "HELLO":
			g.learn(&v)
		case s.words[0] == "CLIENT" && s.words[1] == "ID":
			g.info.ID = v.Int
		}
	}
	return refusal, nil
}

// fatal tells the refusals that end the conn from those of an optional command.
func fatal(line string) bool {
	return strings.HasPrefix(line, "NOAUTH") || strings.Contains(line, "max number of clients") || strings.HasPrefix(line, "DENIED")
}

// reply reads one reply, passing over pushes.
func (g *greeting) reply(v *resp.Value) error {
	for {
		if len(g.buf) > 0 {
			if !g.p.Pending() {
				if err := notRESP(g.buf); err != nil {
					return err
				}
			}
			n, ok, err := g.p.Next(g.buf, v)
			if err != nil {
				return fmt.Errorf("%w: %w", errNotRESP, err)
			}
			g.buf = g.buf[n:]
			if ok && v.Kind != resp.KindPush {
				return nil
			}
			if ok {
				continue
			}
		}
		b := make([]byte, 1024)
		n, err := g.nc.Read(b)
		if n == 0 && err != nil {
			return err
		}
		if g.size += n; g.size > maxGreeting {
			return fmt.Errorf("%w: it said more than %d bytes and no reply among them", errNotRESP, maxGreeting)
		}
		g.buf = b[:n]
	}
}

var errNotRESP = errors.New("the server does not speak the Redis protocol")

// notRESP recognises the commonest wrong servers by their first bytes.
func notRESP(b []byte) error {
	switch {
	case strings.HasPrefix(string(b), "HTTP/"):
		return fmt.Errorf("%w: it answers in HTTP", errNotRESP)
	case b[0] == 0x15 || b[0] == 0x16:
		return fmt.Errorf("%w: it answers in TLS (use a rediss:// URL or --tls)", errNotRESP)
	}
	return nil
}

// learn takes what HELLO says.
func (g *greeting) learn(v *resp.Value) {
	g.info.Protocol = 3
	for i := 0; i+1 < len(v.Elems); i += 2 {
		switch val := &v.Elems[i+1]; v.Elems[i].Str {
		case "id":
			g.info.ID = val.Int
		case "server":
			g.info.Server = val.Str
		case "version":
			g.info.Version = val.Str
		}
	}
}

// noHello reports whether the server does not know HELLO or protocol 3.
func (e *GreetError) noHello() bool {
	return e.Command == "HELLO" && (strings.HasPrefix(e.Line, "NOPROTO") || strings.HasPrefix(e.Line, "ERR unknown command"))
}

func newGreetError(command, line string) *GreetError {
	e := &GreetError{Command: command, Line: line}
	switch {
	case e.MaxClients():
		e.Hint = "the server's maxclients is reached: raise it, or open fewer conns"
	case strings.HasPrefix(line, "NOAUTH"):
		e.Hint = "the server wants a password: give one in the URL or in Config.Password"
	case strings.HasPrefix(line, "WRONGPASS"), strings.HasPrefix(line, "ERR invalid password"):
		e.Hint = "wrong user name or password, or the user is off"
	case strings.HasPrefix(line, "ERR AUTH"), strings.HasPrefix(line, "ERR Client sent AUTH"):
		e.Hint = "the server has no password: leave it out"
	}
	return e
}
