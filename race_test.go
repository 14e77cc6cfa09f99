//go:build race

package evenkeel_test

// raceEnabled: the race detector allocates on its own account, so allocations are only judged without it.
const raceEnabled = true
