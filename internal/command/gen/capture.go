package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// capture is a server's answer to COMMAND, subcommands put beside their containers.
type capture struct {
	Server   string     `json:"server"`
	Commands []captured `json:"commands"`
}

// captured is one command as the server describes it. Name is in upper case, a subcommand's after its container's and a space.
type captured struct {
	Name       string   `json:"name"`
	Arity      int      `json:"arity"`
	Flags      []string `json:"flags"`
	FirstKey   int      `json:"first_key"`
	LastKey    int      `json:"last_key"`
	KeyStep    int      `json:"key_step"`
	Categories []string `json:"categories"`
	Tips       []string `json:"tips,omitempty"`
	KeySpecs   any      `json:"key_specs,omitempty"` // the server's own nesting of names and values
	Container  bool     `json:"container,omitempty"`
}

// encode writes one command per line, so that differences between servers can be read.
func (c *capture) encode() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"server\": %q, \"commands\": [\n", c.Server)
	for i := range c.Commands {
		line, err := json.Marshal(&c.Commands[i])
		if err != nil {
			return nil, err
		}
		b.Write(line)
		if i < len(c.Commands)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	return b.Bytes(), nil
}

func readCapture(path string) (*capture, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := new(capture)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ask captures the commands of the server at an address: host:port, or the path of a unix socket.
func ask(ctx context.Context, address string) (*capture, error) {
	network := "tcp"
	if strings.ContainsRune(address, '/') {
		network = "unix"
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // all has been read or has failed by then
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	if _, err := io.WriteString(conn, "*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n*1\r\n$7\r\nCOMMAND\r\n"); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	info, err := readReply(r)
	if err != nil {
		return nil, fmt.Errorf("INFO: %w", err)
	}
	reply, err := readReply(r)
	if err != nil {
		return nil, fmt.Errorf("COMMAND: %w", err)
	}
	c := &capture{Server: version(info)}
	if err := c.add(reply); err != nil {
		return nil, fmt.Errorf("COMMAND: %w", err)
	}
	slices.SortFunc(c.Commands, func(a, b captured) int { return cmp.Compare(a.Name, b.Name) })
	return c, nil
}

// version names the server from its INFO text: "redis-server 7.0.15".
func version(info any) string {
	text, _ := info.(string)
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[key] = value
		}
	}
	if v := fields["valkey_version"]; v != "" {
		return "valkey-server " + v
	}
	return "redis-server " + fields["redis_version"]
}

// add takes a list of command descriptions: name, arity, flags, first key, last key, step, categories, tips, key specifications, subcommands.
func (c *capture) add(reply any) error {
	list, ok := reply.([]any)
	if !ok {
		return fmt.Errorf("want a list of commands, got %T", reply)
	}
	for _, item := range list {
		fields, ok := item.([]any)
		if !ok || len(fields) < 10 {
			return errors.New("want ten fields for a command: the server is older than 7.0")
		}
		name, _ := fields[0].(string)
		var numbers [4]int
		for i, at := range []int{1, 3, 4, 5} {
			n, ok := fields[at].(int64)
			if !ok {
				return fmt.Errorf("%s: field %d is %T, want an integer", name, at, fields[at])
			}
			numbers[i] = int(n)
		}
		subcommands, _ := fields[9].([]any)
		c.Commands = append(c.Commands, captured{
			Name:       strings.ToUpper(strings.ReplaceAll(name, "|", " ")),
			Arity:      numbers[0],
			Flags:      texts(fields[2]),
			FirstKey:   numbers[1],
			LastKey:    numbers[2],
			KeyStep:    numbers[3],
			Categories: texts(fields[6]),
			Tips:       texts(fields[7]),
			KeySpecs:   orNil(fields[8]),
			Container:  len(subcommands) > 0,
		})
		if err := c.add(subcommands); err != nil {
			return err
		}
	}
	return nil
}

func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func orNil(v any) any {
	if list, ok := v.([]any); ok && len(list) == 0 {
		return nil
	}
	return v
}

// readReply reads one RESP2 reply: string, int64, []any or nil. The generator reads only what it asked a trusted server for, before the real codec's
// package can be built, and so has this small one of its own.
func readReply(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return nil, errors.New("empty line where a reply should begin")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, errors.New(rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("reply %q: %w", line, err)
	}
	switch {
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		var text strings.Builder
		if _, err := io.CopyN(&text, r, n); err != nil {
			return nil, err
		}
		if _, err := r.Discard(len("\r\n")); err != nil {
			return nil, err
		}
		return text.String(), nil
	case kind == '*':
		list := []any{}
		for range n {
			item, err := readReply(r)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	default:
		return nil, fmt.Errorf("reply of unknown kind %q", line)
	}
}
