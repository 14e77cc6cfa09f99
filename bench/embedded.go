package bench

import (
	"errors"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// EmbeddedServer is a server in this process, for machines that have no other. It
// shares the CPUs with the load, so that only counts mean something. This package
// has none: whoever calls [Demo] brings one.
type EmbeddedServer interface {
	// Name is the software, such as "miniredis".
	Name() string
	// Addr is the host:port it listens on.
	Addr() string
	// Conns says how many conns its listener has accepted so far, and how many are
	// open now. It is called concurrently with the load.
	Conns() (accepted int64, open int)
	// Close ends it and all its conns.
	Close() error
}

// CanLaunch reports whether a server program for a private server is installed.
func CanLaunch() bool {
	_, err := evenkeeltest.FindServer()
	return !errors.Is(err, evenkeeltest.ErrNoServer)
}
