package bench

// IdleSchema names the JSON form of an [IdleResult].
const IdleSchema = "evenkeel.bench.idle/v1"

// IdleResult is what Idle found.
type IdleResult struct {
	// Schema is [IdleSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// Params are the options as used.
	Params IdleParams `json:"params"`
	// Opened is how many connections were open at the end, Refused how many the
	// server turned away for want of room (maxclients), Failed how many failed
	// otherwise, and FirstError what the first of these said.
	Opened     int    `json:"opened"`
	Refused    int    `json:"refused"`
	Failed     int    `json:"failed"`
	FirstError string `json:"first_error,omitempty"`
	// OpenS is how long opening took, the looks in between left out; OpenPerS the
	// rate.
	OpenS    float64 `json:"open_s"`
	OpenPerS float64 `json:"open_per_s"`
	// DialP50Us and DialP99Us are quantiles of the time to open one, its handshake
	// included.
	DialP50Us float64 `json:"dial_p50_us"`
	DialP99Us float64 `json:"dial_p99_us"`
	// Steps are the looks, the first of them before any connection.
	Steps []IdleStep `json:"steps"`
	// Without and With are the server at rest, without the connections and with
	// them; With is null when the run did not get there.
	Without *IdleRest `json:"without"`
	With    *IdleRest `json:"with"`
	// PerConn is what one connection costs, once at rest; null when the run did not
	// get there.
	PerConn *IdlePerConn `json:"per_conn"`
}

// IdleParams are the options of a run as they stand in the result.
type IdleParams struct {
	Conns   int     `json:"conns"`
	Step    int     `json:"step"`
	Dialers int     `json:"dialers"`
	Pings   int     `json:"pings"`
	SettleS float64 `json:"settle_s"`
	HoldS   float64 `json:"hold_s"`
}

// IdleStep is one look while connections are being opened.
type IdleStep struct {
	// Conns is how many are open.
	Conns int `json:"conns"`
	// OpenPerS is the rate at which those since the last look were opened; 0 for the
	// first look.
	OpenPerS float64 `json:"open_per_s"`
	// The server's memory in bytes: what it counts as its clients' (null before
	// version 4), all that it uses, and all that its process has.
	ClientsBytes *int64 `json:"clients_bytes"`
	UsedBytes    int64  `json:"used_bytes"`
	RSSBytes     int64  `json:"rss_bytes"`
	// PingP50Us and PingP99Us are quantiles of the PINGs at this look.
	PingP50Us float64 `json:"ping_p50_us"`
	PingP99Us float64 `json:"ping_p99_us"`
}

// IdleRest is the server while nothing but PINGs is asked of it.
type IdleRest struct {
	// CPUShare is the server's CPU time over the time watched; null when it does not
	// say. The few PINGs and looks are in it.
	CPUShare *float64 `json:"cpu_share"`
	// PingP50Us and PingP99Us are quantiles of a PING.
	PingP50Us float64 `json:"ping_p50_us"`
	PingP99Us float64 `json:"ping_p99_us"`
}

// IdlePerConn is what a connection at rest costs. Fields are null when they could
// not be measured.
type IdlePerConn struct {
	// ListBytes is the median of what the server counts for each (tot-mem in CLIENT
	// LIST, since version 6.2 or so).
	ListBytes *int64 `json:"list_bytes"`
	// ClientsBytes is the growth of the server's sum for all clients
	// (mem_clients_normal), UsedBytes of all it uses, RSSBytes of its process, each
	// over the number of connections. A process whose memory was already there may
	// grow by less than it uses.
	ClientsBytes *float64 `json:"clients_bytes"`
	UsedBytes    float64  `json:"used_bytes"`
	RSSBytes     float64  `json:"rss_bytes"`
	// HereBytes is the growth of this process's heap and stacks, and Goroutines that
	// of its goroutines, over the number of connections.
	HereBytes  float64 `json:"here_bytes"`
	Goroutines float64 `json:"goroutines"`
}

// NewIdleResult returns an empty result for a run with these options.
func NewIdleResult(env Environment, o IdleOptions) *IdleResult {
	return &IdleResult{
		Schema:      IdleSchema,
		Environment: env,
		Params: IdleParams{
			Conns: o.Conns, Step: o.Step, Dialers: o.Dialers, Pings: o.Pings,
			SettleS: o.Settle.Seconds(), HoldS: o.Hold.Seconds(),
		},
		Steps: []IdleStep{},
	}
}
