package bench

// MaxClientsSchema names the JSON form of a [MaxClientsResult].
const MaxClientsSchema = "evenkeel.bench.maxclients/v1"

// MaxClientsResult is what MaxClients found. Parts that the run did not get to are
// null.
type MaxClientsResult struct {
	// Schema is [MaxClientsSchema].
	Schema string `json:"schema"`
	// Environment says where the numbers were taken.
	Environment Environment `json:"environment"`
	// Interrupted is true when the run was cut short.
	Interrupted bool `json:"interrupted"`
	// Params are the options as used.
	Params MaxClientsParams `json:"params"`
	// Limits are what bounds the server's clients.
	Limits MaxClientsLimits `json:"limits"`
	// Ramp is how the server was filled.
	Ramp *MaxClientsRamp `json:"ramp"`
	// Newcomer is what a program sees that connects to the full server, as redis-cli
	// does.
	Newcomer *MaxClientsNewcomer `json:"newcomer"`
	// Reserved is what can be seen over a connection that was there beforehand.
	Reserved *MaxClientsReserved `json:"reserved"`
	// Client is how an Evenkeel client fares that finds the server full.
	Client *MaxClientsClient `json:"client"`
	// Recovery is what happened once there was room.
	Recovery *MaxClientsRecovery `json:"recovery"`
}

// MaxClientsParams are the options of a run as they stand in the result.
type MaxClientsParams struct {
	Limit    int     `json:"limit"`
	Attempts int     `json:"attempts"`
	Callers  int     `json:"callers"`
	WatchS   float64 `json:"watch_s"`
	RecoverS float64 `json:"recover_s"`
}

// MaxClientsLimits are what bounds the server's clients. Fields are null where the
// server does not say, or its process cannot be looked at.
type MaxClientsLimits struct {
	// Asked is the maxclients in a private server's configuration; null for a given
	// one. Effective is what the server says that it has: it lowers maxclients by
	// itself to its limit of file descriptors less 32, and only logs it.
	Asked     *int `json:"asked"`
	Effective *int `json:"effective"`
	// Descriptors is the limit of file descriptors of a private server's process.
	Descriptors *int64 `json:"descriptors"`
}

// MaxClientsRamp is how the server was filled.
type MaxClientsRamp struct {
	// Before is how many connections were open beforehand, the run's own two or so
	// among them. Accepted is how many more the server took, and Refused how many of
	// the further attempts it turned away; Failed counts attempts that ended
	// otherwise.
	Before   int `json:"before"`
	Accepted int `json:"accepted"`
	Refused  int `json:"refused"`
	Failed   int `json:"failed"`
	// The time to open a connection, its handshake included, in µs.
	AcceptP50Us float64 `json:"accept_p50_us"`
	AcceptP99Us float64 `json:"accept_p99_us"`
	// The time until an attempt was turned away, in µs.
	RefuseP50Us float64 `json:"refuse_p50_us"`
	RefuseMaxUs float64 `json:"refuse_max_us"`
	// RefuseText is the first refusal as the client's error says it.
	RefuseText string `json:"refuse_text"`
}

// MaxClientsNewcomer is what a program sees that connects to the full server.
type MaxClientsNewcomer struct {
	// Connected is true when TCP let it in: the system accepts before the server
	// looks.
	Connected bool `json:"connected"`
	// Said is the line that the server sent, empty if none. Ended says what came
	// after it: "closed", "reset", "open" (nothing within two seconds), or the error
	// of connecting.
	Said  string `json:"said"`
	Ended string `json:"ended"`
	// AfterUs is the time from connecting until the end.
	AfterUs float64 `json:"after_us"`
}

// MaxClientsReserved is what can be seen over a connection that was there
// beforehand, while the server is full.
type MaxClientsReserved struct {
	// PingP50Us is the time of a PING.
	PingP50Us float64 `json:"ping_p50_us"`
	// Clients is how many connections the server counts, Listed how many CLIENT LIST
	// shows, 0 when it is forbidden.
	Clients int `json:"clients"`
	Listed  int `json:"listed"`
	// Rejected is how many the server has turned away since the run began; null when
	// it does not say.
	Rejected *int64 `json:"rejected"`
}

// MaxClientsClient is how an Evenkeel client fares that finds the server full.
type MaxClientsClient struct {
	// Calls is how many calls were made, all by callers that call again 1 ms after a
	// failure; Served how many of them succeeded.
	Calls  int64 `json:"calls"`
	Served int64 `json:"served"`
	// FailP50Us and FailMaxUs are the times of a call that failed.
	FailP50Us float64 `json:"fail_p50_us"`
	FailMaxUs float64 `json:"fail_max_us"`
	// Dials is how many connections the client asked for meanwhile.
	Dials int64 `json:"dials"`
	// Error is the last failed call's error.
	Error string `json:"error"`
}

// MaxClientsRecovery is what happened once there was room. Times run from when the
// closing of the run's connections began, and are null when they were not reached
// in time.
type MaxClientsRecovery struct {
	// ClosedMs is how long closing took.
	ClosedMs float64 `json:"closed_ms"`
	// NewcomerMs is until a new connection was taken, by one that tries again and
	// again; ClientMs until the client's first call was served.
	NewcomerMs *float64 `json:"newcomer_ms"`
	ClientMs   *float64 `json:"client_ms"`
}

// NewMaxClientsResult returns an empty result for a run with these options.
func NewMaxClientsResult(env Environment, o MaxClientsOptions) *MaxClientsResult {
	return &MaxClientsResult{
		Schema:      MaxClientsSchema,
		Environment: env,
		Params: MaxClientsParams{
			Limit: o.Limit, Attempts: o.Attempts, Callers: o.Callers, WatchS: o.Watch.Seconds(), RecoverS: o.Recover.Seconds(),
		},
	}
}
