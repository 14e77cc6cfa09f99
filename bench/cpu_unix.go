//go:build unix

package bench

import (
	"syscall"
	"time"
)

// processCPU is the CPU time of this process so far; ok is false when the system
// does not say.
func processCPU() (user, system time.Duration, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0, false
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano()), true
}
