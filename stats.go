package evenkeel

import (
	"time"

	"github.com/evenkeel-go/evenkeel/pool"
)

// Stats is a snapshot of a client. The conns in it add up to what the server sees, within the moment.
type Stats struct {
	Endpoint EndpointStats
	// Shared, Exclusive and Blocking are the pools of the lanes. The conns of the shared lane are all in use by the lane itself.
	Shared, Exclusive, Blocking pool.Stat
	// Conns is how many conns there are in all lanes, dialing and closing ones included; never above MaxConns.
	Conns, MaxConns int

	// Counters since the client was made.
	Retries       uint64 // commands repeated
	RetriesDenied uint64 // not repeated for want of retry budget
	Stalls        uint64 // conns that stalled
	Probes        uint64 // attempts to see whether a stalled endpoint answers, by a dial or else a PING
	LostReplies   uint64 // elements that came for blocking commands whose callers had left
}

// EndpointStats is what the governor knows of the endpoint.
type EndpointStats struct {
	Addr        string
	Failing     bool
	NextAttempt time.Time // when a dial may start again; zero when none is forbidden
	LastError   error     // the last dial error; nil again once a command has succeeded
	Dialing     int
	Dials       uint64
	DialsFailed uint64
	Denied      uint64 // dials not allowed to start when they were asked for
}

// Stats returns a snapshot; it costs a few short locks.
func (c *Client) Stats() Stats {
	st := c.endpoint.State()
	s := Stats{
		Endpoint: EndpointStats{
			Addr: c.cfg.Addr, Failing: st.Failing, NextAttempt: st.NextAttempt, LastError: st.LastError,
			Dialing: st.Pending, Dials: st.Started, DialsFailed: st.Failed, Denied: st.Denied,
		},
		Shared: c.shared.pool.Stat(), Conns: c.budget.Used(), MaxConns: c.cfg.MaxConns,
		Retries: c.retries.Load(), RetriesDenied: c.retryBudget.Denied(), Stalls: c.stalls.Load(),
		Probes: c.probes.Load(), LostReplies: c.lostReplies.Load(),
	}
	if c.exclusive != nil {
		s.Exclusive = c.exclusive.Stat()
	}
	if c.blocking != nil {
		s.Blocking = c.blocking.Stat()
	}
	return s
}
