package raw

import (
	"time"

	"golang.org/x/sys/unix"
)

// exactTimers asks the kernel not to delay the calling thread's timers by the usual 50 µs
// to bundle them. Where that is refused, open loop is that much later.
func exactTimers() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// cpuTime is the calling thread's, so far.
type cpuTime struct{ user, system time.Duration }

func threadCPU() cpuTime {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return cpuTime{} // it cannot fail for the thread itself
	}
	return cpuTime{user: time.Duration(u.Utime.Nano()), system: time.Duration(u.Stime.Nano())}
}
