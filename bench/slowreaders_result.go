package bench

// SlowReadersSchema names the JSON form of a [SlowReadersResult].
const SlowReadersSchema = "evenkeel.bench.slow-readers/v1"

// SlowReadersResult is what SlowReaders found.
type SlowReadersResult struct {
	// Schema is [SlowReadersSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// Params are the options as used.
	Params SlowReadersParams `json:"params"`
	// Phases are in the order in which they ran: without and with a limit, or one
	// alone.
	Phases []SlowReadersPhase `json:"phases"`
}

// SlowReadersParams are the options of a run as they stand in the result.
type SlowReadersParams struct {
	Readers    int     `json:"readers"`
	ValueBytes int     `json:"value_bytes"`
	RatePerS   int     `json:"rate_bytes_per_s"`
	LimitBytes int64   `json:"limit_bytes"`
	WatchS     float64 `json:"watch_s"`
}

// SlowReadersPhase is one run of the readers. Memory is the server's, in bytes.
type SlowReadersPhase struct {
	// LimitBytes is the server's maxmemory-clients in this phase, 0 for none; null
	// when the server has no such setting or does not tell.
	LimitBytes *int64 `json:"limit_bytes"`
	// Before is the server without the readers; the PINGs are its.
	Before SlowReadersPoint `json:"before"`
	// Points are a tenth of a second apart.
	Points []SlowReadersPoint `json:"points"`
	// UsedGrowth is the most that the server's memory had grown by, ClientsMax the
	// most that it counted as its clients', OutputMax the most that one reader's
	// output buffer held; null when it does not say.
	UsedGrowth int64  `json:"used_growth"`
	ClientsMax *int64 `json:"clients_max"`
	OutputMax  *int64 `json:"output_max"`
	// Evicted is how many clients the server closed to keep its limit, by its own
	// count; null before version 7.0. Lost is how many readers lost their connection.
	Evicted *int64 `json:"evicted"`
	Lost    int    `json:"lost"`
	// Finished is how many readers had read all of the value.
	Finished int `json:"finished"`
	// The PINGs without the readers, and those beside them, in µs, and how many of the
	// latter failed.
	PingBeforeP50Us float64 `json:"ping_before_p50_us"`
	PingBeforeP99Us float64 `json:"ping_before_p99_us"`
	PingP50Us       float64 `json:"ping_p50_us"`
	PingP99Us       float64 `json:"ping_p99_us"`
	PingMaxUs       float64 `json:"ping_max_us"`
	PingErrors      int64   `json:"ping_errors"`
	// ReleasedMs is the time from when the readers were closed until nine tenths of
	// the growth were given back; null when that took longer than two seconds.
	ReleasedMs *float64 `json:"released_ms"`
}

// SlowReadersPoint is one look at the server.
type SlowReadersPoint struct {
	// T is in seconds since the readers asked.
	T float64 `json:"t"`
	// Used is all memory that the server uses, Clients what it counts as its
	// clients', Output the sum of the readers' output buffers; the latter two are
	// null when it does not say.
	Used    int64  `json:"used_bytes"`
	Clients *int64 `json:"clients_bytes"`
	Output  *int64 `json:"output_bytes"`
	// Readers is how many of them are connected.
	Readers int `json:"readers"`
	// PingMaxUs is the longest PING since the last look.
	PingMaxUs float64 `json:"ping_max_us"`
}

// NewSlowReadersResult returns an empty result for a run with these options.
func NewSlowReadersResult(env Environment, o SlowReadersOptions) *SlowReadersResult {
	return &SlowReadersResult{
		Schema:      SlowReadersSchema,
		Environment: env,
		Params:      SlowReadersParams{Readers: o.Readers, ValueBytes: o.ValueSize, RatePerS: o.Rate, LimitBytes: o.Limit, WatchS: o.Watch.Seconds()},
		Phases:      []SlowReadersPhase{},
	}
}

// summarise fills in what the points say.
func (p *SlowReadersPhase) summarise() {
	for _, point := range p.Points {
		p.UsedGrowth = max(p.UsedGrowth, point.Used-p.Before.Used)
		if point.Clients != nil && (p.ClientsMax == nil || *point.Clients > *p.ClientsMax) {
			p.ClientsMax = point.Clients
		}
	}
}
