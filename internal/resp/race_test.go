//go:build race

package resp

// raceEnabled says that allocations are not those of a normal build.
const raceEnabled = true
