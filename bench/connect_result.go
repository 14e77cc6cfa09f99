package bench

// ConnectSchema names the JSON form of a [ConnectResult].
const ConnectSchema = "evenkeel.bench.connect/v1"

// ConnectMode is what a row does with its connections.
type ConnectMode string

// The modes of Connect.
const (
	// ConnectReuse keeps its connections.
	ConnectReuse ConnectMode = "reuse"
	// ConnectReconnect opens a new one for each command.
	ConnectReconnect ConnectMode = "reconnect"
)

// The layers of opening a connection, as keys of [ConnectRow.LayersUs].
const (
	// LayerTCP is the handshake of TCP, or the connect of a unix socket.
	LayerTCP = "tcp"
	// LayerTLSFull and LayerTLSResumed are TLS handshakes without and with a
	// session ticket.
	LayerTLSFull    = "tls_full"
	LayerTLSResumed = "tls_resumed"
	// LayerAuth is logging in, in a round trip of its own.
	LayerAuth = "auth"
	// LayerFirstCommand is the first command's round trip.
	LayerFirstCommand = "first_command"
)

// ConnectLayers lists the layers in the order in which they happen.
func ConnectLayers() []string {
	return []string{LayerTCP, LayerTLSFull, LayerTLSResumed, LayerAuth, LayerFirstCommand}
}

// ConnectResult is what Connect found.
type ConnectResult struct {
	// Schema is [ConnectSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// Params are the options as used.
	Params ConnectParams `json:"params"`
	// Rows are in the order in which they ran.
	Rows []ConnectRow `json:"rows"`
	// Ratios compare the rows.
	Ratios ConnectRatios `json:"ratios"`
}

// ConnectParams are the options of a run as they stand in the result.
type ConnectParams struct {
	Requests    int       `json:"requests"`
	Callers     int       `json:"callers"`
	MaxRowTimeS float64   `json:"max_row_time_s"`
	Handshake   Handshake `json:"handshake"`
}

// ConnectRow is one way to use connections.
type ConnectRow struct {
	// Mode says what is done with them; Auth and TLS whether they log in and
	// are encrypted.
	Mode ConnectMode `json:"mode"`
	Auth bool        `json:"auth"`
	TLS  bool        `json:"tls"`
	// Commands is how many succeeded, fewer than were asked for when the row's time
	// ran out; OpsPerS is their rate.
	Commands int64   `json:"commands"`
	OpsPerS  float64 `json:"ops_per_s"`
	// The times of a command, in µs, from wanting a connection to the reply.
	AvgUs float64 `json:"avg_us"`
	MinUs float64 `json:"min_us"`
	P50Us float64 `json:"p50_us"`
	P95Us float64 `json:"p95_us"`
	P99Us float64 `json:"p99_us"`
	MaxUs float64 `json:"max_us"`
	// WallS is how long the row took; CPUUserS and CPUSysS the time of this
	// process's CPUs within it, in seconds; null where the system does not say.
	WallS    float64  `json:"wall_s"`
	CPUUserS *float64 `json:"cpu_user_s"`
	CPUSysS  *float64 `json:"cpu_sys_s"`
	// CPUServerS is the server's own count of its CPU time, user and system;
	// null when it does not say.
	CPUServerS *float64 `json:"cpu_server_s"`
	// NewConnectionsServer is the server's own count of connections accepted
	// for the row, those of its warm-up included and the experiment's control
	// connection not; null when it does not say.
	NewConnectionsServer *int64 `json:"new_connections_server"`
	// Errors counts commands that failed, error replies included.
	Errors int64 `json:"errors"`
	// LayersUs is the median cost of each layer in µs, measured apart on
	// connections of its own. Only rows that reconnect have it, and only the
	// layers that they use.
	LayersUs map[string]float64 `json:"layers_us"`
}

// ConnectRatios compare rows. A ratio whose rows were not run is null.
type ConnectRatios struct {
	// ReconnectSlowdown is how many times the rate of reuse is that of a new
	// connection for each command; the others the same with a password, TLS,
	// and both.
	ReconnectSlowdown        *float64 `json:"reconnect_slowdown"`
	ReconnectSlowdownAuth    *float64 `json:"reconnect_slowdown_auth"`
	ReconnectSlowdownTLS     *float64 `json:"reconnect_slowdown_tls"`
	ReconnectSlowdownAuthTLS *float64 `json:"reconnect_slowdown_auth_tls"`
	// ReuseAuth is the rate of reused connections that logged in, over that of
	// reused ones that did not: about 1, as a password costs only at the start.
	ReuseAuth *float64 `json:"reuse_auth"`
}

// NewConnectResult returns an empty result for a run with these options.
func NewConnectResult(env Environment, o ConnectOptions) *ConnectResult {
	return &ConnectResult{
		Schema:      ConnectSchema,
		Environment: env,
		Params: ConnectParams{
			Requests:    o.Requests,
			Callers:     o.Callers,
			MaxRowTimeS: o.MaxRowTime.Seconds(),
			Handshake:   o.Handshake,
		},
		Rows: []ConnectRow{},
	}
}

// Compare fills in the ratios from the rows.
func (r *ConnectResult) Compare() {
	slowdown := func(auth, tls bool) *float64 {
		return rateRatio(r.row(ConnectReuse, auth, tls), r.row(ConnectReconnect, auth, tls))
	}
	r.Ratios = ConnectRatios{
		ReconnectSlowdown:        slowdown(false, false),
		ReconnectSlowdownAuth:    slowdown(true, false),
		ReconnectSlowdownTLS:     slowdown(false, true),
		ReconnectSlowdownAuthTLS: slowdown(true, true),
		ReuseAuth:                rateRatio(r.row(ConnectReuse, true, false), r.row(ConnectReuse, false, false)),
	}
}

func (r *ConnectResult) row(mode ConnectMode, auth, tls bool) *ConnectRow {
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Mode == mode && row.Auth == auth && row.TLS == tls {
			return row
		}
	}
	return nil
}

func rateRatio(a, b *ConnectRow) *float64 {
	if a == nil || b == nil || a.OpsPerS <= 0 || b.OpsPerS <= 0 {
		return nil
	}
	ratio := a.OpsPerS / b.OpsPerS
	return &ratio
}

// SetLatency fills in the times and the rate from the merged times of the
// commands that succeeded.
func (r *ConnectRow) SetLatency(l *Latency) {
	r.AvgUs, r.MinUs, r.MaxUs = l.MeanUs(), l.MinUs(), l.MaxUs()
	r.P50Us, r.P95Us, r.P99Us = l.QuantileUs(0.5), l.QuantileUs(0.95), l.QuantileUs(0.99)
	r.Commands = l.Count()
	if r.WallS > 0 {
		r.OpsPerS = float64(l.Count()) / r.WallS
	}
}
