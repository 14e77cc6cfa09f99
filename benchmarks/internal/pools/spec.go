package pools

import "context"

// Size is how many things each pool holds.
const Size = 16

// Names of the pools, as they stand in records and tables.
const (
	Evenkeel = "evenkeel"
	Puddle   = "puddle"
	Redigo   = "redigo"
	Channel  = "channel"
	Mutex    = "mutex"
)

// Cycle takes a thing out, calls hold, and puts the thing back. hold is nil when there
// is nothing to do meanwhile.
type Cycle func(ctx context.Context, hold func()) error

// Spec is one pool.
type Spec struct {
	Name string
	// Module is where its version is looked up; empty for a sketch.
	Module string
	Setup  string
	// Open makes the pool and fills it.
	Open func(ctx context.Context) (cycle Cycle, closePool func(), err error)
}

// All returns every pool, ours first.
func All() []Spec {
	return []Spec{
		{Evenkeel, "github.com/evenkeel-go/evenkeel", "Size 16, no Overflow", openEvenkeel},
		{Puddle, "github.com/jackc/puddle/v2", "MaxSize 16", openPuddle},
		{Redigo, "github.com/gomodule/redigo", "MaxActive and MaxIdle 16, Wait", openRedigo},
		{Channel, "", "a sketch: buffered channel of 16", openChannel},
		{Mutex, "", "a sketch: mutex, last-in first-out, strict hand-over to the oldest waiter", openMutex},
	}
}

// thing is what the pools hold: of the size of a small struct, like a conn's handle.
type thing struct{ _ [64]byte }

// fill takes Size things out at once, so that the pool must make them all, and puts
// them back.
func fill(acquire func() (release func(), err error)) error {
	var releases []func()
	for range Size {
		release, err := acquire()
		if err != nil {
			return err
		}
		releases = append(releases, release)
	}
	for _, release := range releases {
		release()
	}
	return nil
}
