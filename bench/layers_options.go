package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// SecurityLayer is a way to log in and encrypt.
type SecurityLayer string

// The layers of Layers.
const (
	// LayerPlain is neither: no password and no TLS.
	LayerPlain SecurityLayer = "plain"
	// LayerPassword logs in as a user who may do everything, as requirepass does.
	LayerPassword SecurityLayer = "password"
	// LayerACL logs in as a user whose commands and keys are restricted, so that the
	// server has to check each command.
	LayerACL SecurityLayer = "acl"
	// LayerTLS12 and LayerTLS13 encrypt, with a full handshake for each connection;
	// the others resume an earlier session.
	LayerTLS12        SecurityLayer = "tls1.2"
	LayerTLS12Resumed SecurityLayer = "tls1.2-resumed"
	LayerTLS13        SecurityLayer = "tls1.3"
	LayerTLS13Resumed SecurityLayer = "tls1.3-resumed"
)

// SecurityLayers lists the layers in the order in which they are shown.
func SecurityLayers() []SecurityLayer {
	return []SecurityLayer{LayerPlain, LayerPassword, LayerACL, LayerTLS12, LayerTLS12Resumed, LayerTLS13, LayerTLS13Resumed}
}

// encrypted and resumed say what a layer does.
func (l SecurityLayer) encrypted() bool {
	return l == LayerTLS12 || l == LayerTLS13 || l.resumed()
}

func (l SecurityLayer) resumed() bool { return l == LayerTLS12Resumed || l == LayerTLS13Resumed }

// LayersOptions say what Layers does: in each round, each layer opens Dials
// connections one after the other, and then one caller runs SET and GET by turns
// over a connection that is kept. Make it with [DefaultLayersOptions].
type LayersOptions struct {
	// Target is the server; the zero value means a private one, which has all
	// layers. A given one has those that it speaks with the credentials given.
	Target Target
	// Layers are what is compared, each at most once; the first that the server has
	// is what the others are held against. Default: all.
	Layers []SecurityLayer
	// Rounds is how often each layer has its turn, 3 to 1,000. Default 20. One more
	// comes first and does not count.
	Rounds int
	// Dials is how many connections a layer opens in its turn, 1 to 1,000. Default
	// 10.
	Dials int
	// Slot is how long commands run in its turn, 10 ms to 10 s. Default 100 ms.
	Slot time.Duration
	// ValueSize is the size of a value in bytes, 1 to 1 MiB. Default 100.
	ValueSize int
	// Disturb allows load on a given server that is busy, a replica, or near a limit.
	// Default false: refuse.
	Disturb bool
	// Progress receives events; may be nil.
	Progress Progress
}

// DefaultLayersOptions returns the defaults that the fields name.
func DefaultLayersOptions() LayersOptions {
	return LayersOptions{Layers: SecurityLayers(), Rounds: 20, Dials: 10, Slot: 100 * time.Millisecond, ValueSize: 100}
}

// Validate reports the first option that is out of bounds as an [OptionError].
func (o LayersOptions) Validate() error {
	var c check
	c.target(o.Target)
	c.that(len(o.Layers) > 0, "layers", "no layer is given; give at least one, or all")
	for i, l := range o.Layers {
		oneOf(&c, l, "layers", SecurityLayers())
		c.that(!slices.Contains(o.Layers[:i], l), "layers", "%q is given twice; give each layer once", string(l))
	}
	c.between(o.Rounds, 3, 1_000, "rounds")
	c.between(o.Dials, 1, 1_000, "dials")
	c.lasts(o.Slot, 10*time.Millisecond, 10*time.Second, "slot")
	c.between(o.ValueSize, 1, 1<<20, "value-size")
	return c.err
}

// slowestDial is what the plan takes a TLS handshake for.
const slowestDial = 5 * time.Millisecond

// Plan says what Layers will do.
func (o LayersOptions) Plan() Plan {
	turn := o.Slot + time.Duration(o.Dials)*slowestDial
	step := fmt.Sprintf("%s of %s each, by turns: %s, and commands for %v over one that is kept",
		report.Plural(o.Rounds+1, "round", "rounds"), report.Plural(len(o.Layers), "layer", "layers"), report.Plural(o.Dials, "new connection", "new connections"), o.Slot)
	if !o.Target.Private() {
		step += ", as far as the server has the layers"
	}
	return Plan{
		Steps:  []string{step},
		Length: time.Duration((o.Rounds+1)*len(o.Layers)) * turn,
		Conns:  len(o.Layers) + 3, // one being opened, and one that the server is still closing
		Memory: int64(len(o.Layers)+3) * (connMemory + int64(o.ValueSize)),
	}
}
