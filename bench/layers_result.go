package bench

// LayersSchema names the JSON form of a [LayersResult].
const LayersSchema = "evenkeel.bench.layers/v1"

// LayersResult is what Layers found.
type LayersResult struct {
	// Schema is [LayersSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// Params are the options as used.
	Params LayersParams `json:"params"`
	// Rows are the layers that the server has, the one that the others are held
	// against first. Rows without a whole round are left out.
	Rows []LayersRow `json:"rows"`
}

// LayersParams are the options of a run as they stand in the result.
type LayersParams struct {
	Rounds    int     `json:"rounds"`
	Dials     int     `json:"dials"`
	SlotS     float64 `json:"slot_s"`
	ValueSize int     `json:"value_size"`
}

// LayersRow is one layer. Times are in µs.
type LayersRow struct {
	// Layer is the layer.
	Layer SecurityLayer `json:"layer"`
	// Dials is how many connections were opened; Resumed how many of them resumed an
	// earlier TLS session.
	Dials   int64 `json:"dials"`
	Resumed int64 `json:"resumed"`
	// The time to open one, all phases together.
	ConnectP50Us float64 `json:"connect_p50_us"`
	ConnectP99Us float64 `json:"connect_p99_us"`
	// The medians of its phases; 0 for one that there is not. The handshake is
	// Redis's, logging in included, in one round trip.
	TCPUs       float64 `json:"tcp_us"`
	TLSUs       float64 `json:"tls_us"`
	HandshakeUs float64 `json:"handshake_us"`
	// ServerPerDialUs is the server's CPU time for each connection, null when it
	// does not say.
	ServerPerDialUs *float64 `json:"server_per_dial_us"`
	// Commands is how many commands ran over the kept connection. One that fails ends
	// the run.
	Commands int64 `json:"commands"`
	// The time of a command.
	CommandP50Us float64 `json:"command_p50_us"`
	CommandP99Us float64 `json:"command_p99_us"`
	// ServerPerOpUs and ClientPerOpUs are the server's CPU time for each command and
	// this process's; null when they are not known.
	ServerPerOpUs *float64 `json:"server_per_op_us"`
	ClientPerOpUs *float64 `json:"client_per_op_us"`
	// Rounds are the rounds that count.
	Rounds []LayersRound `json:"rounds"`
	// Extra is by how many µs the median dial of a round is longer than that of the
	// first row in the same round, and Rate the ratio of their rates of commands;
	// null for the first row.
	Extra *Estimate `json:"connect_extra_us"`
	Rate  *Estimate `json:"rate_ratio"`
}

// LayersRound is one layer's turn.
type LayersRound struct {
	// ConnectUs is the median time to open a connection, OpsPerS the rate of
	// commands.
	ConnectUs float64 `json:"connect_us"`
	OpsPerS   float64 `json:"ops_per_s"`
}

// NewLayersResult returns an empty result for a run with these options.
func NewLayersResult(env Environment, o LayersOptions) *LayersResult {
	return &LayersResult{
		Schema:      LayersSchema,
		Environment: env,
		Params:      LayersParams{Rounds: o.Rounds, Dials: o.Dials, SlotS: o.Slot.Seconds(), ValueSize: o.ValueSize},
		Rows:        []LayersRow{},
	}
}

// Compare holds each row against the first, round by round.
func (r *LayersResult) Compare() {
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Extra, row.Rate = nil, nil
		if i == 0 {
			continue
		}
		var extra, rate []float64
		for n := range min(len(row.Rounds), len(r.Rows[0].Rounds)) {
			base, own := r.Rows[0].Rounds[n], row.Rounds[n]
			extra = append(extra, own.ConnectUs-base.ConnectUs)
			if base.OpsPerS > 0 {
				rate = append(rate, own.OpsPerS/base.OpsPerS)
			}
		}
		row.Extra, row.Rate = estimate(extra), estimate(rate)
	}
}

func (r *LayersResult) row(layer SecurityLayer) *LayersRow {
	for i := range r.Rows {
		if r.Rows[i].Layer == layer {
			return &r.Rows[i]
		}
	}
	return nil
}
