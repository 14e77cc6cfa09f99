package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// How agents and their coordinator talk: through streams of a server that both reach.
const (
	// agentPrefix begins the keys of streams; all have a TTL.
	agentPrefix = "evenkeel:agents:"
	// agentProtocol changes when messages do.
	agentProtocol = 1
	// mailboxLength bounds a stream, in messages.
	mailboxLength = 10_000
	// mailboxWait is how long one read waits for messages.
	mailboxWait = 500 * time.Millisecond
	// agentBeat is how often each side lets the other know that it is there, and agentLost
	// after how long a silence it is not.
	agentBeat = time.Second
	agentLost = 10 * time.Second
	// clockLooks is how often a clock is compared.
	clockLooks = 15
)

// The kinds of message.
const (
	mailJob     = "job"     // coordinator: who takes part?
	mailHello   = "hello"   // agent: I do
	mailRefused = "refused" // agent: I cannot, and why
	mailPart    = "part"    // coordinator: these take part, in this order
	mailReady   = "ready"   // agent: my connections are open
	mailBegin   = "begin"   // coordinator: begin at this moment
	mailAlive   = "alive"   // both: I am here, and how it goes
	mailStop    = "stop"    // coordinator: end at once
	mailDone    = "done"    // agent: the result
	mailLeft    = "left"    // agent: I go, and why
)

// mail is one message.
type mail struct {
	Kind string
	// Run is the run's identity.
	Run string
	// From is an agent's name; empty from the coordinator.
	From string
	Data json.RawMessage
}

// mailbox sends to streams and reads one of them, over a client of its own. It belongs to
// one goroutine at a time, but for send.
type mailbox struct {
	client *evenkeel.Client
	ttl    time.Duration // of the streams it sends to
	stream string        // read
	last   string        // read up to
}

// openMailbox connects to the server that messages go through.
func openMailbox(ctx context.Context, t Target, ttl time.Duration) (*mailbox, error) {
	cfg := t.config()
	cfg.ClientName, cfg.Protocol = clientName, 2
	cfg.Governor = evenkeel.NewGovernor(0)
	client, err := evenkeel.New(cfg)
	if err != nil {
		return nil, err
	}
	m := &mailbox{client: client, ttl: ttl}
	if err := client.Ping(ctx); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *mailbox) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return m.client.Close(ctx)
}

// jobs is the stream of all runs' announcements; up and down are those of one.
func jobs() string           { return agentPrefix + "jobs" }
func up(run string) string   { return agentPrefix + run + ":up" }
func down(run string) string { return agentPrefix + run + ":down" }

// follow reads a stream from now on, or from its beginning.
func (m *mailbox) follow(ctx context.Context, stream string, fromNow bool) error {
	m.stream, m.last = stream, "0-0"
	if !fromNow {
		return nil
	}
	r := m.client.Do(ctx, "XREVRANGE", stream, "+", "-", "COUNT", 1)
	entries, err := r.Slice()
	if err != nil || len(entries) == 0 {
		return err
	}
	entry, err := entries[0].Slice()
	if err == nil && len(entry) > 0 {
		m.last, err = entry[0].Text()
	}
	return err
}

// send adds a message to a stream.
func (m *mailbox) send(ctx context.Context, stream string, msg mail, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	err = m.client.Do(ctx, "XADD", stream, "MAXLEN", "~", mailboxLength, "*", "kind", msg.Kind, "run", msg.Run, "from", msg.From, "data", text).Err()
	if err != nil {
		return err
	}
	return m.client.Do(ctx, "PEXPIRE", stream, m.ttl.Milliseconds()).Err()
}

// read waits a moment for messages; there may be none.
func (m *mailbox) read(ctx context.Context) ([]mail, error) {
	r := m.client.Do(ctx, "XREAD", "COUNT", 100, "BLOCK", mailboxWait.Milliseconds(), "STREAMS", m.stream, m.last)
	if errors.Is(r.Err(), evenkeel.ErrNil) || r.Err() == nil && r.IsNil() {
		return nil, nil
	}
	streams, err := r.Slice()
	if err != nil || len(streams) == 0 {
		return nil, err
	}
	named, err := streams[0].Slice()
	if err != nil || len(named) != 2 {
		return nil, fmt.Errorf("XREAD answered what is no stream: %w", err)
	}
	entries, err := named[1].Slice()
	if err != nil {
		return nil, err
	}
	var out []mail
	for _, e := range entries {
		parts, err := e.Slice()
		if err != nil || len(parts) != 2 {
			return nil, fmt.Errorf("XREAD answered what is no entry: %w", err)
		}
		if m.last, err = parts[0].Text(); err != nil {
			return nil, err
		}
		fields, err := parts[1].Map()
		if err != nil {
			continue // not ours
		}
		out = append(out, mail{Kind: fields["kind"], Run: fields["run"], From: fields["from"], Data: json.RawMessage(fields["data"])})
	}
	return out, nil
}

// clock is how far the server's clock is ahead of this process's, as the quickest of
// several looks has it, and half of how long that one took: so much it may be off.
func (m *mailbox) clock(ctx context.Context) (ahead, doubt time.Duration, err error) {
	doubt = time.Hour
	for range clockLooks {
		begin := time.Now()
		parts, err := m.client.Do(ctx, "TIME").Ints()
		if err != nil {
			return 0, 0, err
		}
		took := time.Since(begin)
		if len(parts) == 2 && took/2 < doubt {
			doubt = took / 2
			ahead = time.Unix(parts[0], parts[1]*1000).Sub(begin.Add(took / 2))
		}
	}
	return ahead, doubt, nil
}
