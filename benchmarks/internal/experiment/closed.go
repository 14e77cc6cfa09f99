package experiment

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/clients"
	"github.com/evenkeel-go/evenkeel/benchmarks/internal/record"
)

// Context kinds of a call.
const (
	// WithDeadline: each call gets a context of its own, with a deadline that is never
	// reached, as a server's handler would have it.
	WithDeadline = "timeout"
	// WithoutDeadline: all calls share context.Background().
	WithoutDeadline = "background"
)

// callTimeout is far above any latency, so that what is measured is the price of having
// a deadline, and not of meeting it.
const callTimeout = 5 * time.Second

// errWrongValue: a reply that is not what was stored.
var errWrongValue = errors.New("the value read has not the length of the value stored")

// ClosedOptions are the parameters of the closed-loop experiment.
type ClosedOptions struct {
	Options
	Keys, ValueSize int
	Callers         []int
	Contexts        []string
}

// ClosedCase names the case of so many callers with contexts of one kind.
func ClosedCase(callers int, contextKind string) string {
	return fmt.Sprintf("callers=%d ctx=%s", callers, contextKind)
}

// Closed measures callers that each wait for a reply before they send the next command:
// GET and SET, one to one, of random keys that all exist.
func Closed(ctx context.Context, o ClosedOptions) error {
	space, err := load(ctx, o.Server, o.Keys, o.ValueSize)
	if err != nil {
		return err
	}
	var turns []turn
	for _, contextKind := range o.Contexts {
		for _, callers := range o.Callers {
			l := newLoader(&o.Options, callers, 1)
			for _, spec := range clients.All() {
				if spec.Open == nil {
					continue
				}
				turns = append(turns, turn{client: spec.Name, label: ClosedCase(callers, contextKind), measure: closedSlot(&o, l, spec, space, contextKind)})
			}
		}
	}
	return o.rounds(ctx, "closed", turns)
}

func closedSlot(o *ClosedOptions, l *loader, spec clients.Spec, space *keyspace, contextKind string) func(context.Context, uint64) (map[record.Metric]float64, error) {
	return func(ctx context.Context, seed uint64) (m map[record.Metric]float64, err error) {
		kv, err := openKV(ctx, o.Server.Addr(), spec, space)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, kv.Close()) }()
		return l.run(ctx, seed, func(int) step {
			if contextKind == WithDeadline {
				return func(_ context.Context, r uint64) error {
					ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
					defer cancel()
					return getOrSet(ctx, kv, space, r)
				}
			}
			return func(_ context.Context, r uint64) error {
				return getOrSet(context.Background(), kv, space, r)
			}
		})
	}
}

// openKV opens a client and makes sure that it works.
func openKV(ctx context.Context, addr string, spec clients.Spec, space *keyspace) (clients.KV, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	kv, err := spec.Open(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("%s: opening: %w", spec.Name, err)
	}
	if err := get(ctx, kv, space, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: first call: %w", spec.Name, err), kv.Close())
	}
	return kv, nil
}

func getOrSet(ctx context.Context, kv clients.KV, space *keyspace, r uint64) error {
	if r>>63 == 0 {
		return get(ctx, kv, space, r)
	}
	return set(ctx, kv, space, r)
}

func get(ctx context.Context, kv clients.KV, space *keyspace, r uint64) error {
	n, err := kv.Get(ctx, space.key(r))
	if err == nil && n != len(space.value) {
		return errWrongValue
	}
	return err
}

func set(ctx context.Context, kv clients.KV, space *keyspace, r uint64) error {
	return kv.Set(ctx, space.key(r), space.value)
}

func (s *keyspace) key(r uint64) string { return s.keys[r%uint64(len(s.keys))] }

func cpus() int { return runtime.NumCPU() }
