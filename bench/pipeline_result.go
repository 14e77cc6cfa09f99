package bench

// PipelineSchema names the JSON form of a [PipelineResult].
const PipelineSchema = "evenkeel.bench.pipeline/v1"

// PipelineResult is what Pipeline found.
type PipelineResult struct {
	// Schema is [PipelineSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// Params are the options as used.
	Params PipelineParams `json:"params"`
	// Commands are in the order in which they were given.
	Commands []PipelineCommand `json:"commands"`
}

// PipelineParams are the options of a run as they stand in the result.
type PipelineParams struct {
	Conns     int     `json:"conns"`
	Workers   int     `json:"workers"`
	Sliding   bool    `json:"sliding"`
	Rounds    int     `json:"rounds"`
	SlotS     float64 `json:"slot_s"`
	Keys      int     `json:"keys"`
	ValueSize int     `json:"value_size"`
	Seed      uint64  `json:"seed"`
	TLS       bool    `json:"tls"`
	// Engine is "epoll" or "portable"; empty when nothing was measured.
	Engine string `json:"engine"`
}

// PipelineCommand is the sweep of one command.
type PipelineCommand struct {
	// Name is what it is called in tables, and Command its text.
	Name    string `json:"name"`
	Command string `json:"command"`
	// Points are in ascending order of depth; those without a whole round are left out.
	Points []PipelinePoint `json:"points"`
	// BestDepth is the depth with the highest median rate, KneeDepth the smallest with
	// at least 90 % of it; short points left out. The rounds leave it open from KneeLow,
	// the smallest whose interval reaches 90 %, to KneeHigh, the smallest whose whole
	// interval is above. 0 when there is none.
	BestDepth int `json:"best_depth"`
	KneeDepth int `json:"knee_depth"`
	KneeLow   int `json:"knee_low"`
	KneeHigh  int `json:"knee_high"`
}

// PipelinePoint is one command at one depth. Times are in µs.
type PipelinePoint struct {
	// Depth is how many requests are in flight on each connection.
	Depth int `json:"depth"`
	// OK are replies that were no errors, Failed the requests that had an error reply
	// or whose connection was lost, by code in Errors. Unanswered had no reply within a
	// second of the end of their turn.
	OK         int64            `json:"ok"`
	Failed     int64            `json:"failed"`
	Errors     map[string]int64 `json:"errors"`
	Unanswered int64            `json:"unanswered"`
	// Rate is OK per second, over the rounds. Share is its ratio to that of the best
	// depth in the same round; null when there is no best.
	Rate  *Estimate `json:"ops_per_s"`
	Share *Estimate `json:"of_best"`
	// The time of a reply, from the write of its request on.
	MeanUs float64 `json:"mean_us"`
	P50Us  float64 `json:"p50_us"`
	P99Us  float64 `json:"p99_us"`
	MaxUs  float64 `json:"max_us"`
	// ServerPerOpUs is the server's CPU time for each reply, and ServerCPUShare what it
	// used of one CPU; null when it does not say.
	ServerPerOpUs  *float64 `json:"server_per_op_us"`
	ServerCPUShare *float64 `json:"server_cpu_share"`
	// WorkerCPUShare is what the busiest thread of the generator used of one CPU; null
	// when that is not known.
	WorkerCPUShare *float64 `json:"worker_cpu_share"`
	// GeneratorBound says that in most rounds the generator had no time left: the server
	// can do at least this much.
	GeneratorBound bool `json:"generator_bound"`
	// Short marks a depth with fewer than 10 × connections × depth replies, whose numbers
	// say more about the beginnings and ends of its turns than about the depth.
	Short bool `json:"short"`
	// Rounds are those that count.
	Rounds []PipelineRound `json:"rounds"`
}

// PipelineRound is one turn.
type PipelineRound struct {
	OpsPerS        float64 `json:"ops_per_s"`
	P50Us          float64 `json:"p50_us"`
	P99Us          float64 `json:"p99_us"`
	GeneratorBound bool    `json:"generator_bound"`
}

// NewPipelineResult returns an empty result for a run with these options.
func NewPipelineResult(env Environment, o PipelineOptions) *PipelineResult {
	return &PipelineResult{
		Schema:      PipelineSchema,
		Environment: env,
		Params: PipelineParams{
			Conns: o.Conns, Workers: o.Workers, Sliding: o.Sliding, Rounds: o.Rounds, SlotS: o.Slot.Seconds(),
			Keys: o.Keys, ValueSize: o.ValueSize, Seed: o.Seed, TLS: o.Target.TLS != nil,
		},
		Commands: []PipelineCommand{},
	}
}

// FindKnees fills in all that follows from the rounds: rates, which depths are short or
// were bound by the generator, the best depths and the knees.
func (r *PipelineResult) FindKnees() {
	for i := range r.Commands {
		c := &r.Commands[i]
		c.BestDepth, c.KneeDepth, c.KneeLow, c.KneeHigh = 0, 0, 0, 0
		var best *PipelinePoint
		for n := range c.Points {
			p := &c.Points[n]
			bound, rates := 0, make([]float64, len(p.Rounds))
			for k, round := range p.Rounds {
				rates[k] = round.OpsPerS
				if round.GeneratorBound {
					bound++
				}
			}
			p.Rate, p.Share = estimate(rates), nil
			p.GeneratorBound = 2*bound > len(p.Rounds)
			p.Short = p.OK < int64(depthFull)*int64(r.Params.Conns)*int64(p.Depth)
			if p.Rate != nil && !p.Short && (best == nil || p.Rate.Median > best.Rate.Median) {
				best = p
			}
		}
		if best == nil || best.Rate.Median <= 0 {
			continue
		}
		c.BestDepth = best.Depth
		for n := range c.Points {
			p := &c.Points[n]
			var shares []float64
			for k := range min(len(p.Rounds), len(best.Rounds)) {
				if base := best.Rounds[k].OpsPerS; base > 0 {
					shares = append(shares, p.Rounds[k].OpsPerS/base)
				}
			}
			p.Share = estimate(shares)
			if p.Share == nil || p.Short {
				continue
			}
			first(&c.KneeDepth, p.Depth, p.Share.Median >= kneeShare)
			first(&c.KneeLow, p.Depth, p.Share.High >= kneeShare)
			first(&c.KneeHigh, p.Depth, p.Share.Low >= kneeShare)
		}
	}
}

func (c *PipelineCommand) point(depth int) *PipelinePoint {
	for i := range c.Points {
		if c.Points[i].Depth == depth {
			return &c.Points[i]
		}
	}
	return nil
}
