// Package race tells tests whether the race detector is on: it allocates on its own account, so budgets of allocations and
// memory are only judged without it.
//
// It never changes what code does: only tests import it. It is one constant, in one of two files that the build chooses from.
package race
