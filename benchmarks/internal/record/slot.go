package record

// Metric names a figure of a slot. The unit is part of the name.
type Metric string

// The metrics of the experiments. Not every experiment has them all.
const (
	// OpsPerSecond counts finished operations, as all callers together see them.
	OpsPerSecond Metric = "ops_per_s"
	// ClientCPU is user and system time of the measuring process per operation.
	ClientCPU Metric = "client_cpu_us_per_op"
	// ServerCPU is user and system time of the server per command it processed, both
	// as the server counts them.
	ServerCPU Metric = "server_cpu_us_per_command"
	// Batch is how many commands the server found, on average, in one read.
	Batch Metric = "commands_per_server_read"
	// P50, P99 and P999 are quantiles of the time one call takes.
	P50  Metric = "p50_us"
	P99  Metric = "p99_us"
	P999 Metric = "p999_us"
	// Samples is how many calls were timed for the quantiles.
	Samples Metric = "latency_samples"
	// Allocs and AllocBytes are heap allocations of the whole process per operation.
	Allocs     Metric = "allocs_per_op"
	AllocBytes Metric = "alloc_bytes_per_op"
	// Conns is how many conns of the client the server has open.
	Conns Metric = "conns"
	// NewConns is how many conns the server accepted while the slot was measured.
	NewConns Metric = "new_conns"
	// Errors is how many operations failed, or gave a wrong reply.
	Errors Metric = "errors"
	// OtherCPU is the share of the machine's CPU time that neither the client nor the
	// server used, a lower bound on what disturbed the slot. From 0 to 1.
	OtherCPU Metric = "other_cpu_share"
	// NsPerOp is wall time divided by operations, over all goroutines.
	NsPerOp Metric = "ns_per_op"
	// HeapPerConn is live heap after two collections, per conn.
	HeapPerConn Metric = "heap_bytes_per_conn"
	// StackPerConn is memory of goroutine stacks, per conn.
	StackPerConn Metric = "stack_bytes_per_conn"
	// GoroutinesPerConn is what it says.
	GoroutinesPerConn Metric = "goroutines_per_conn"
	// OpenRate is how many conns were opened and greeted per second.
	OpenRate Metric = "conns_opened_per_s"
	// IdleCPU is CPU time of the process, in microseconds for each second in which
	// nobody used the conns.
	IdleCPU Metric = "idle_cpu_us_per_s"
)

// Slot is what one client did in one short stretch of time.
type Slot struct {
	// Experiment is the subcommand that measured.
	Experiment string `json:"experiment"`
	// Case tells the parameters apart, for example "callers=64 ctx=timeout". Only slots
	// of one case are compared.
	Case string `json:"case"`
	// Round numbers the turns in which each client was measured once, from 1. Slots of
	// one round and case lie side by side in time, so their ratio is fair on a machine
	// whose speed changes.
	Round  int    `json:"round"`
	Client string `json:"client"`
	// Metrics holds finite numbers only.
	Metrics map[Metric]float64 `json:"metrics"`
	// Failed says why there are no metrics; empty when all went well.
	Failed string `json:"failed,omitempty"`
}
