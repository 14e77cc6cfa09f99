package bench

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// Handshake is how a new connection sends its set-up.
type Handshake string

// The ways of a handshake.
const (
	// HandshakePipelined sends all of it in one round trip, as Evenkeel does.
	HandshakePipelined Handshake = "pipelined"
	// HandshakeSequential waits for each reply before it sends the next
	// command, as many clients do: a password then costs a round trip.
	HandshakeSequential Handshake = "sequential"
)

// Handshakes lists the ways of a handshake.
func Handshakes() []Handshake { return []Handshake{HandshakePipelined, HandshakeSequential} }

// ConnectOptions say what Connect does: Callers run Requests commands over
// connections that are reused, then with a new one for each, and so for each
// way to log in and encrypt. Make it with [DefaultConnectOptions].
type ConnectOptions struct {
	// Target is the server; the zero value means a private one.
	Target Target
	// Requests is how many commands a row runs, 100 to 100,000,000. Default
	// 10,000.
	Requests int
	// Callers is how many run at once, 1 to 1,000. Default 1, which shows what
	// each command waits for.
	Callers int
	// MaxRowTime ends a row that is slow before its requests are done, 100 ms
	// to 1 h. Default 10 s.
	MaxRowTime time.Duration
	// Handshake is how new connections set up. Default pipelined.
	Handshake Handshake
	// Auth adds rows with a password, TLS rows with encryption, where the
	// private server can have them. On a given server both are as its Target
	// says. Default true.
	Auth, TLS bool
	// Disturb allows load on a given server that is busy, a replica, or near a
	// limit. Default false: refuse.
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultConnectOptions returns the defaults that the fields name.
func DefaultConnectOptions() ConnectOptions {
	return ConnectOptions{
		Requests:   10_000,
		Callers:    1,
		MaxRowTime: 10 * time.Second,
		Handshake:  HandshakePipelined,
		Auth:       true,
		TLS:        true,
	}
}

// Validate reports the first option that is out of bounds as an [OptionError].
func (o ConnectOptions) Validate() error {
	var c check
	c.target(o.Target)
	c.between(o.Requests, 100, 100_000_000, "requests")
	c.between(o.Callers, 1, 1_000, "callers")
	c.that(o.Callers <= o.Requests, "callers", "%d callers share %d requests; give at least one request for each", o.Callers, o.Requests)
	c.lasts(o.MaxRowTime, 100*time.Millisecond, time.Hour, "max-row-time")
	oneOf(&c, o.Handshake, "handshake", Handshakes())
	return c.err
}

// Plan says what Connect will do.
func (o ConnectOptions) Plan() Plan {
	kinds := []string{"plain"}
	if o.Target.Private() {
		if o.Auth {
			kinds = append(kinds, "with a password")
		}
		if o.TLS {
			kinds = append(kinds, "with TLS")
		}
		if o.Auth && o.TLS {
			kinds = append(kinds, "with both")
		}
	} else {
		kinds = []string{"as the server asks"}
	}
	var p Plan
	for _, kind := range kinds {
		p.Steps = append(p.Steps, fmt.Sprintf("%s: %s by %s, first over reused connections, then a new one for each",
			kind, report.Plural(o.Requests, "command", "commands"), report.Plural(o.Callers, "caller", "callers")))
		p.Length += 2 * o.MaxRowTime
	}
	p.Conns = 2*o.Callers + 2
	p.Memory = int64(p.Conns) * connMemory
	return p
}
