//go:build race

package pool

// raceEnabled: the race detector allocates on its own, so budgets do not hold.
const raceEnabled = true
