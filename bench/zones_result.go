package bench

// ZonesSchema names the JSON form of a [ZonesResult].
const ZonesSchema = "evenkeel.bench.zones/v1"

// Distance says how far an endpoint seems to be, by the median of its PINGs.
type Distance string

// The distances. The borders are rules of thumb for clouds: about 1 ms within a zone,
// 3 ms and more between zones.
const (
	// DistanceNear is at most 1 ms: the same zone.
	DistanceNear Distance = "near"
	// DistanceZone is more than 1 ms, and at most 3 ms: probably another zone.
	DistanceZone Distance = "zone"
	// DistanceFar is more than 3 ms: another zone, or farther.
	DistanceFar Distance = "far"
	// DistanceUnknown is of an endpoint that never answered.
	DistanceUnknown Distance = "unknown"
)

// The borders between the distances, in µs.
const (
	nearUs = 1_000
	zoneUs = 3_000
)

// distanceOf classes a time in µs.
func distanceOf(us float64) Distance {
	switch {
	case us <= 0:
		return DistanceUnknown
	case us <= nearUs:
		return DistanceNear
	case us <= zoneUs:
		return DistanceZone
	default:
		return DistanceFar
	}
}

// ZonesResult is what Zones found.
type ZonesResult struct {
	// Schema is [ZonesSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken; its server is the first
	// endpoint's that answered.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// Params are the options as used.
	Params ZonesParams `json:"params"`
	// Endpoints are in the order in which they were given.
	Endpoints []ZonesEndpoint `json:"endpoints"`
	// Nearest is the index of the endpoint with the shortest median, null when none
	// answered. Tied are those whose difference from it cannot be told from chance.
	Nearest *int  `json:"nearest"`
	Tied    []int `json:"tied"`
	// Seconds follow the medians over time, in up to 120 equal stretches.
	Seconds []ZonesSecond `json:"seconds"`
}

// ZonesParams are the options of a run as they stand in the result.
type ZonesParams struct {
	DurationS    float64 `json:"duration_s"`
	IntervalMs   float64 `json:"interval_ms"`
	ConnectEvery int     `json:"connect_every"`
	TimeoutMs    float64 `json:"timeout_ms"`
}

// ZonesEndpoint is one endpoint. Times are in µs, 0 when nothing succeeded.
type ZonesEndpoint struct {
	// Address is the endpoint without its password.
	Address string `json:"address"`
	// Server, Version and Role are what it says of itself; empty when it does not.
	Server  string `json:"server"`
	Version string `json:"version"`
	Role    string `json:"role"`
	// Zone is the availability zone that it says it is in (Valkey 8 and later, when
	// configured); empty when it does not.
	Zone string `json:"zone"`
	// Pings is how many PINGs were answered, and Errors how many PINGs and dials
	// failed, the first with Error.
	Pings  int64  `json:"pings"`
	Errors int64  `json:"errors"`
	Error  string `json:"error,omitempty"`
	// The time of a PING.
	PingMinUs float64 `json:"ping_min_us"`
	PingP50Us float64 `json:"ping_p50_us"`
	PingP95Us float64 `json:"ping_p95_us"`
	PingP99Us float64 `json:"ping_p99_us"`
	PingMaxUs float64 `json:"ping_max_us"`
	// Connects is how many new connections were opened, and the times to open one:
	// all of it, and TCP alone.
	Connects     int64   `json:"connects"`
	ConnectP50Us float64 `json:"connect_p50_us"`
	ConnectP99Us float64 `json:"connect_p99_us"`
	TCPP50Us     float64 `json:"tcp_p50_us"`
	// Over1Ms and Over3Ms are the shares of the PINGs that took longer.
	Over1Ms float64 `json:"over_1ms"`
	Over3Ms float64 `json:"over_3ms"`
	// Distance is how far it seems to be.
	Distance Distance `json:"distance"`
	// Farther is by how many µs its PING is longer than the nearest's in the same
	// round; null for the nearest, and where either never answered.
	Farther *Estimate `json:"farther_us"`
}

// ZonesSecond is one stretch of time.
type ZonesSecond struct {
	// T is its end, in seconds since the run began.
	T float64 `json:"t"`
	// P50Us has the median of each endpoint's PINGs in it, null for none.
	P50Us []*float64 `json:"p50_us"`
}

// NewZonesResult returns an empty result for a run with these options.
func NewZonesResult(env Environment, o ZonesOptions) *ZonesResult {
	return &ZonesResult{
		Schema:      ZonesSchema,
		Environment: env,
		Params: ZonesParams{
			DurationS: o.Duration.Seconds(), IntervalMs: micros(o.Interval) / 1000, ConnectEvery: o.ConnectEvery, TimeoutMs: micros(o.Timeout) / 1000,
		},
		Endpoints: []ZonesEndpoint{},
		Tied:      []int{},
		Seconds:   []ZonesSecond{},
	}
}

// rank finds the nearest and those that cannot be told from it, by the differences
// of each round: rounds[n][i] is endpoint i's PING in round n in µs, 0 for none.
func (r *ZonesResult) rank(rounds [][]float64) {
	r.Nearest, r.Tied = nil, []int{}
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		e.Distance, e.Farther = distanceOf(e.PingP50Us), nil
		if e.Pings > 0 && (r.Nearest == nil || e.PingP50Us < r.Endpoints[*r.Nearest].PingP50Us) {
			r.Nearest = &i
		}
	}
	if r.Nearest == nil {
		return
	}
	for i := range r.Endpoints {
		if i == *r.Nearest {
			continue
		}
		var farther []float64
		for _, round := range rounds {
			if own, nearest := round[i], round[*r.Nearest]; own > 0 && nearest > 0 {
				farther = append(farther, own-nearest)
			}
		}
		e := &r.Endpoints[i]
		if e.Farther = estimate(farther); e.Farther != nil && (e.Farther.holds(0) || e.Farther.Rounds < 6) {
			r.Tied = append(r.Tied, i)
		}
	}
}
