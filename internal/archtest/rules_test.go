package archtest

// rule says what one package, or one family of packages, may import besides the standard library.
type rule struct {
	dir    string   // relative to the module root; a trailing "/..." covers everything below as well
	own    []string // our packages that its code may import
	third  []string // third-party modules that its code may import
	layer  int      // its tests may import our packages of the same layer or a lower one
	reason string
}

// The core is the root package and all below it: layers 0 to 3, and none has third-party modules. Imports run from a higher layer to a lower one only.
var rules = []rule{
	{
		dir: "internal/resp", layer: 0,
		reason: "a codec turns bytes into values and back: whatever it imported, client, fake and proxy would carry along",
	},
	{
		dir: "internal/command", layer: 0,
		reason: "a table of facts about commands depends on nothing",
	},
	{
		dir: "internal/command/gen", layer: 0,
		reason: "the generator must run on a bare checkout, before the table exists, so it does not even import the package it writes",
	},
	{
		dir: "internal/governor", layer: 0,
		reason: "when a dial may start is a question of time and counts: it knows no Redis, so that it can govern any kind of dial",
	},
	{
		dir: "internal/simnet", layer: 0,
		reason: "a network knows nothing of what is spoken over it",
	},
	{
		dir: "internal/race", layer: 0,
		reason: "one constant of the build depends on nothing",
	},
	{
		dir: "internal/typo", layer: 0,
		reason: "the distance of two words depends on nothing",
	},
	{
		dir: "report", layer: 0,
		reason: "tables and plots are generic: a door turns its results into a page, and report imports no door",
	},
	{
		dir: "pool", own: []string{"internal/governor"}, layer: 1,
		reason: "pool holds any closable thing: it knows no Redis, so it imports neither resp nor wire nor command",
	},
	{
		dir: "internal/wire", own: []string{"internal/resp", "internal/command"}, layer: 1,
		reason: "one conn speaks the protocol and knows commands; which endpoint, which pool and when to dial are decided above it",
	},
	{
		dir: "evenkeeltest", own: []string{"internal/resp", "internal/command"},
		third: []string{"github.com/alicebob/miniredis/v2"}, layer: 1,
		reason: "test servers stand beside the client and never import it, so that the client's own internal tests can use them",
	},
	{
		dir: "internal/topology", own: []string{"internal/wire", "internal/resp", "internal/command", "internal/governor", "pool"}, layer: 2,
		reason: "which endpoint to use is decided from what conns say, below the client",
	},
	{
		dir: ".", own: []string{"internal/topology", "internal/wire", "internal/resp", "internal/command", "internal/governor", "internal/typo", "pool"}, layer: 3,
		reason: "what a Go program imports costs it the standard library and nothing else",
	},
	{
		dir: "bench/workload", own: []string{"internal/command", "internal/resp", "internal/typo"},
		third: []string{"github.com/goccy/go-yaml"}, layer: 4,
		reason: "what is sent is data: it opens no connection and measures nothing, so that engines, dialects and files share it",
	},
	{
		dir: "bench/hist", third: []string{"github.com/HdrHistogram/hdrhistogram-go"}, layer: 4,
		reason: "a histogram counts durations and knows nothing of what took them",
	},
	{
		dir: "bench/raw", own: []string{"bench/hist", "bench/workload", "internal/resp"}, third: []string{"golang.org/x/sys"}, layer: 5,
		reason: "the engine that measures a server must not measure a client: it imports none, and gets its conns from a function",
	},
	{
		dir: "bench/dialect", own: []string{"bench/hist"}, layer: 5,
		reason: "other tools' forms of output are text made of numbers: whoever measured them does not matter",
	},
	{
		dir: "bench/...", own: []string{".", "pool", "report", "evenkeeltest", "internal/resp", "internal/wire", "internal/governor", "bench/..."},
		third: []string{"github.com/HdrHistogram/hdrhistogram-go"}, layer: 5,
		reason: "a door uses the client and describes its results for report; doors never import each other, so each is usable alone",
	},
	{
		dir: "doctor/...", own: []string{".", "pool", "report", "evenkeeltest", "internal/resp", "internal/wire", "internal/command", "doctor/..."}, layer: 4,
		reason: "a door uses the client and describes its results for report; doors never import each other, so each is usable alone",
	},
	{
		dir: "sizing/...", own: []string{".", "pool", "report", "evenkeeltest", "internal/resp", "sizing/..."}, layer: 4,
		reason: "a door uses the client and describes its results for report; doors never import each other, so each is usable alone",
	},
	{
		dir: "examples/...", own: []string{".", "pool", "evenkeeltest"}, layer: 4,
		reason: "an example shows what a user can write, so it imports what a user can import",
	},
	{
		dir: "internal/cli/...", own: cliOwn, third: cliThird, layer: 6,
		reason: "flags and wiring see every door; nothing but cmd imports them",
	},
	{
		dir: "cmd/...", own: cliOwn, third: cliThird, layer: 7,
		reason: "a command is flags and wiring: it sees every door, and nothing imports it",
	},
	{
		dir: "internal/archtest", layer: 0,
		reason: "the rules judge all packages, so they depend on none",
	},
}

var (
	cliOwn = []string{
		".", "pool", "report", "evenkeeltest", "bench/...", "doctor/...", "sizing/...", "internal/cli/...", "internal/command", "internal/typo",
	}
	cliThird = []string{
		"github.com/spf13/cobra",
		"github.com/spf13/pflag",
		"github.com/vbauerster/mpb/v8",
		"github.com/prometheus/client_golang",
		"github.com/goccy/go-yaml",
		"github.com/alicebob/miniredis/v2", // the embedded server of the demo, for machines without one
		"golang.org/x/term",
	}
)

// testThird are the third-party modules that any test may import.
var testThird = []string{
	"github.com/google/go-cmp",
	"pgregory.net/rapid",
	"go.uber.org/goleak",
	"golang.org/x/net/nettest",
	"github.com/alicebob/miniredis/v2",
}

// testOwn are our packages that any test may import, whatever its layer: test servers, the virtual network, and whether the race detector is on. None imports a
// package that would close a cycle.
var testOwn = []string{"evenkeeltest", "internal/simnet", "internal/race"}

// testOnly are packages that no code but tests may import.
var testOnly = map[string]string{
	"internal/race":   "what code does must not depend on whether the race detector watches",
	"internal/simnet": "a virtual network is a test instrument: code that shipped with it would have a second way to reach a server",
}

// Doors are closed to each other, and the command line is closed to everyone.
var (
	doors      = []string{"bench", "doctor", "sizing"}
	doorReason = "doors never import each other: each is usable without the others"
)

// knowsNoRedis are packages that may not reach the protocol even through others.
var (
	knowsNoRedis  = []string{"pool", "internal/governor"}
	redisPackages = []string{"internal/resp", "internal/wire", "internal/command", "internal/topology", ".", "evenkeeltest"}
)

// packageState lists the package-level variables that may hold state, each with its reason. There is one by design: the process-wide governor.
var packageState = map[string]string{
	".:defaultGovernor": "the one documented process-wide default, used where Config.Governor is nil",
}
