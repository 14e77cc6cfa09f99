package clients

import (
	"context"
	"io"
	"time"
)

// Names of the clients, as they stand in records and tables.
const (
	Evenkeel     = "evenkeel"
	EvenkeelConn = "evenkeel-conn" // pipelines on an exclusive conn
	GoRedis      = "go-redis"
	Rueidis      = "rueidis"
	RueidisFlush = "rueidis-flush"
	Radix        = "radix"
	Redigo       = "redigo"
)

// PoolSize is how many conns a client with a pool of exclusive conns gets. On few CPUs
// more are of no use to any of them.
const PoolSize = 50

// flushDelay is the setting at which rueidis does best with many callers.
const flushDelay = 100 * time.Microsecond

// KV is a client in the hands of many concurrent callers. Each call costs one round
// trip as far as its caller is concerned.
type KV interface {
	// Get returns the length of the value.
	Get(ctx context.Context, key string) (int, error)
	Set(ctx context.Context, key, value string) error
	io.Closer
}

// Pipe sends explicit pipelines on one conn. It is for one goroutine.
type Pipe interface {
	// GetAll reads all keys in one pipeline, and returns the length of all values.
	GetAll(ctx context.Context, keys []string) (int, error)
	// SetAll writes the value to all keys in one pipeline.
	SetAll(ctx context.Context, keys []string, value string) error
	io.Closer
}

// Spec is one client with one set-up.
type Spec struct {
	Name string
	// Module is where its version is looked up.
	Module string
	// Setup says in one line what differs from its defaults, and why.
	Setup string
	// Open makes a client for the server at addr; nil: not made for that.
	Open func(ctx context.Context, addr string) (KV, error)
	// OpenPipe opens one conn for pipelines; nil: not made for that.
	OpenPipe func(ctx context.Context, addr string) (Pipe, error)
	// OpenIdle opens n conns and leaves them idle. It may return before the last is
	// open; nil: the client cannot be made to.
	OpenIdle func(ctx context.Context, addr string, n int) (io.Closer, error)
	// MaxIdle bounds n where the client's appetite demands it. 0: no bound.
	MaxIdle int
}

// All returns every client, ours first.
func All() []Spec {
	specs := evenkeelSpecs()
	specs = append(specs, goRedisSpec())
	specs = append(specs, rueidisSpecs()...)
	return append(specs, radixSpec(), redigoSpec())
}

// Modules returns the modules of the clients, each once.
func Modules() []string {
	var modules []string
	seen := map[string]bool{}
	for _, spec := range All() {
		if !seen[spec.Module] {
			seen[spec.Module] = true
			modules = append(modules, spec.Module)
		}
	}
	return modules
}

// Setups maps each client to its set-up.
func Setups() map[string]string {
	setups := map[string]string{}
	for _, spec := range All() {
		setups[spec.Name] = spec.Setup
	}
	return setups
}
