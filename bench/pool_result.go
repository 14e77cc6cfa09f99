package bench

import "math"

// PoolSchema names the JSON form of a [PoolResult].
const PoolSchema = "evenkeel.bench.pool/v1"

// PoolResult is what Pool found.
type PoolResult struct {
	// Schema is [PoolSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// Params are the options as used.
	Params PoolParams `json:"params"`
	// Points are in ascending order of size; those without a whole round are left out.
	Points []PoolPoint `json:"points"`
	// Shared is the shared lane; null when it was left out.
	Shared *PoolPoint `json:"shared"`
	// BestSize is the size with the highest median rate, KneeSize the smallest with at
	// least 90 % of it, and EnoughSize the smallest with at least 95 %. The rounds leave
	// it open from EnoughLow, the smallest whose interval reaches 95 %, to EnoughHigh, the
	// smallest whose whole interval is above. Sizes beyond the first that has a connection
	// for each caller are left out: nobody uses more. 0 when nothing was measured.
	BestSize   int `json:"best_size"`
	KneeSize   int `json:"knee_size"`
	EnoughSize int `json:"enough_size"`
	EnoughLow  int `json:"enough_low"`
	EnoughHigh int `json:"enough_high"`
	// P99Size is the smallest size whose p99 is at most 10 % longer than the shortest, by
	// the medians over the rounds.
	P99Size int `json:"p99_size"`
	// Fit describes the rate over the size, or over the callers where these are fewer;
	// null with fewer than 5 sizes up to the callers.
	Fit *ScalingFit `json:"fit"`
}

// PoolParams are the options of a run as they stand in the result.
type PoolParams struct {
	Callers   int     `json:"callers"`
	ThinkUs   float64 `json:"think_us"`
	Command   string  `json:"command"`
	Rounds    int     `json:"rounds"`
	SlotS     float64 `json:"slot_s"`
	Keys      int     `json:"keys"`
	ValueSize int     `json:"value_size"`
	Seed      uint64  `json:"seed"`
	TLS       bool    `json:"tls"`
}

// PoolPoint is one size, or the shared lane. Times are in µs.
type PoolPoint struct {
	// Size is how many connections there are.
	Size int `json:"size"`
	// Calls succeeded; Errors failed, error replies included, the first with Error.
	Calls  int64  `json:"calls"`
	Errors int64  `json:"errors"`
	Error  string `json:"error,omitempty"`
	// Rate is Calls per second, over the rounds. Share is its ratio to that of the best
	// size in the same round; null when there is no best.
	Rate  *Estimate `json:"ops_per_s"`
	Share *Estimate `json:"of_best"`
	// The time of a call, its wait for a connection included. P99 is over the rounds,
	// P99Us of all their calls together.
	MeanUs float64   `json:"mean_us"`
	P50Us  float64   `json:"p50_us"`
	P99Us  float64   `json:"p99_us"`
	MaxUs  float64   `json:"max_us"`
	P99    *Estimate `json:"p99_rounds_us"`
	// WaitUs is the mean wait for a connection of all calls that got one; null for the
	// shared lane, where nobody waits for one.
	WaitUs *float64 `json:"wait_us"`
	// ServerPerOpUs is the server's CPU time for each call, and ServerCPUShare what it
	// used of one CPU; OwnPerOpUs and OwnCPUShare are this process's. Null when they are
	// not known.
	ServerPerOpUs  *float64 `json:"server_per_op_us"`
	ServerCPUShare *float64 `json:"server_cpu_share"`
	OwnPerOpUs     *float64 `json:"own_per_op_us"`
	OwnCPUShare    *float64 `json:"own_cpu_share"`
	// Rounds are those that count.
	Rounds []PoolRound `json:"rounds"`
}

// PoolRound is one turn.
type PoolRound struct {
	OpsPerS float64 `json:"ops_per_s"`
	P99Us   float64 `json:"p99_us"`
}

// NewPoolResult returns an empty result for a run with these options.
func NewPoolResult(env Environment, o PoolOptions) *PoolResult {
	return &PoolResult{
		Schema:      PoolSchema,
		Environment: env,
		Params: PoolParams{
			Callers: o.Callers, ThinkUs: micros(o.Think), Command: o.Command, Rounds: o.Rounds, SlotS: o.Slot.Seconds(),
			Keys: o.Keys, ValueSize: o.ValueSize, Seed: o.Seed, TLS: o.Target.TLS != nil,
		},
		Points: []PoolPoint{},
	}
}

// shortTimes the shortest p99 is as short, for runs differ by as much.
const shortTimes = 1.1

// FindSizes fills in all that follows from the rounds: rates, shares, the sizes that
// stand out, and the fit.
func (r *PoolResult) FindSizes() {
	r.BestSize, r.KneeSize, r.EnoughSize, r.EnoughLow, r.EnoughHigh, r.P99Size, r.Fit = 0, 0, 0, 0, 0, 0, nil
	var best *PoolPoint
	for i := range r.Points {
		p := &r.Points[i]
		p.summarise()
		if r.useful(i) && p.Rate != nil && p.Rate.Median > 0 && (best == nil || p.Rate.Median > best.Rate.Median) {
			best = p
		}
	}
	if r.Shared != nil {
		r.Shared.summarise()
	}
	if best == nil {
		return
	}
	r.BestSize = best.Size
	shortest := math.Inf(1)
	for i := range r.Points {
		if p := &r.Points[i]; r.useful(i) && p.Calls > 0 && p.P99 != nil {
			shortest = min(shortest, p.P99.Median)
		}
	}
	var n, rates []float64
	for i := range r.Points {
		p := &r.Points[i]
		p.compare(best)
		if p.Share == nil || !r.useful(i) {
			continue
		}
		first(&r.KneeSize, p.Size, p.Share.Median >= kneeShare)
		first(&r.EnoughSize, p.Size, p.Share.Median >= recommendedShare)
		first(&r.EnoughLow, p.Size, p.Share.High >= recommendedShare)
		first(&r.EnoughHigh, p.Size, p.Share.Low >= recommendedShare)
		first(&r.P99Size, p.Size, p.Calls > 0 && p.P99.Median <= shortTimes*shortest)
		if p.Rate.Median > 0 {
			n, rates = append(n, float64(min(p.Size, r.Params.Callers))), append(rates, p.Rate.Median)
		}
	}
	if r.Shared != nil {
		r.Shared.compare(best)
	}
	r.Fit = fitScaling(n, rates)
}

// useful reports whether the callers can make use of all connections of point i, or it is
// the first for which they cannot.
func (r *PoolResult) useful(i int) bool { return i == 0 || r.Points[i-1].Size < r.Params.Callers }

// summarise makes the estimates of a point.
func (p *PoolPoint) summarise() {
	var rates, p99 []float64
	for _, round := range p.Rounds {
		rates, p99 = append(rates, round.OpsPerS), append(p99, round.P99Us)
	}
	p.Rate, p.P99, p.Share = estimate(rates), estimate(p99), nil
}

// compare holds the point against the best one, round by round.
func (p *PoolPoint) compare(best *PoolPoint) {
	var shares []float64
	for k := range min(len(p.Rounds), len(best.Rounds)) {
		if base := best.Rounds[k].OpsPerS; base > 0 {
			shares = append(shares, p.Rounds[k].OpsPerS/base)
		}
	}
	p.Share = estimate(shares)
}

func (r *PoolResult) point(size int) *PoolPoint {
	for i := range r.Points {
		if r.Points[i].Size == size {
			return &r.Points[i]
		}
	}
	return nil
}
