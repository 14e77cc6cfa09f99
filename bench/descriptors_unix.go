//go:build unix

package bench

import "syscall"

// descriptorLimit is how many file descriptors this process may have open; ok is
// false when the system does not say. The Go runtime has raised it as far as it may.
func descriptorLimit() (n uint64, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true //nolint:unconvert // signed on some systems
}
