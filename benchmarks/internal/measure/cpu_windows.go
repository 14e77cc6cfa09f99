package measure

import (
	"syscall"
	"time"
)

func processCPU() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0 // it cannot fail for the process itself
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &kernel, &user); err != nil {
		return 0
	}
	return ticks(kernel) + ticks(user)
}

// ticks reads a Filetime that is a length of time, in units of 100 ns, and not a date.
func ticks(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
