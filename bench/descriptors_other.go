//go:build !unix

package bench

// descriptorLimit is not known here.
func descriptorLimit() (n uint64, ok bool) { return 0, false }
