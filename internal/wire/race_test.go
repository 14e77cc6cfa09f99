//go:build race

package wire

// raceEnabled says that allocations are not those of a normal build.
const raceEnabled = true
