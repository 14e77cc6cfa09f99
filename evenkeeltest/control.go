package evenkeeltest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// controlName is the client name of the launcher's own conns.
const controlName = "evenkeeltest-control"

// ServerError is an error reply of a real server, with its code word first.
type ServerError string

// Error returns the reply.
func (e ServerError) Error() string { return string(e) }

// control is a minimal client: one conn, one command at a time.
type control struct {
	conn   net.Conn
	parser resp.Parser
	stale  bool   // a context that ended late may yet spoil its deadlines
	in     []byte // received, not yet parsed
	buf    [4096]byte
}

// dialControl connects and signs in as the default user.
func dialControl(ctx context.Context, addr, password string) (*control, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &control{conn: conn}
	if password != "" {
		if _, err := c.do(ctx, "AUTH", password); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	if _, err := c.do(ctx, "CLIENT", "SETNAME", controlName); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

// do runs one command. An error reply is a ServerError, and leaves the conn in
// order; after any other error it must be closed.
func (c *control) do(ctx context.Context, args ...string) (any, error) {
	b := resp.AppendArrayHeader(nil, len(args))
	for _, a := range args {
		b = resp.AppendBulkString(b, a)
	}
	// A context that ends makes the blocked read fail at once.
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() {
			c.stale = true
		}
	}()
	if _, err := c.conn.Write(b); err != nil {
		return nil, ctxError(ctx, err)
	}
	var v resp.Value
	for {
		n, done, err := c.parser.Next(c.in, &v)
		c.in = c.in[n:]
		if err != nil {
			return nil, err
		}
		if done {
			break
		}
		n, err = c.conn.Read(c.buf[:])
		if err != nil {
			return nil, ctxError(ctx, err)
		}
		c.in = c.buf[:n]
	}
	if v.Kind == resp.KindError {
		return nil, ServerError(v.Str)
	}
	return plain(&v), nil
}

// alive tells whether the server has left the conn open, as far as is known here.
func (c *control) alive() bool {
	if c.stale || c.conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return false
	}
	_, err := c.conn.Read(c.buf[:1]) // a byte nobody asked for would be as bad as an end
	return errors.Is(err, os.ErrDeadlineExceeded) && c.conn.SetReadDeadline(time.Time{}) == nil
}

func ctxError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("evenkeeltest: %w", context.Cause(ctx))
	}
	return err
}

// plain turns a value into what Do documents.
func plain(v *resp.Value) any {
	switch v.Kind {
	case resp.KindNull:
		return nil
	case resp.KindInteger:
		return v.Int
	case resp.KindDouble:
		return v.Float()
	case resp.KindBoolean:
		return v.Bool()
	case resp.KindError:
		return ServerError(v.Str)
	case resp.KindArray, resp.KindSet, resp.KindMap, resp.KindPush:
		out := make([]any, len(v.Elems))
		for i := range v.Elems {
			out[i] = plain(&v.Elems[i])
		}
		return out
	default:
		return v.Str
	}
}

// parseInfo splits the text of INFO into its fields.
func parseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok && !strings.HasPrefix(k, "#") {
			fields[k] = v
		}
	}
	return fields
}
