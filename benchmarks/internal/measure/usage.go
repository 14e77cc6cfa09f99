package measure

import (
	"runtime"
	"time"
)

// Usage is what this process and this machine have spent so far.
type Usage struct {
	At         time.Time
	CPU        time.Duration // user and system time of this process
	Machine    time.Duration // busy time of all CPUs together; 0 where it is not to be had
	Mallocs    uint64
	AllocBytes uint64
}

// Now reads the usage. It stops the world for some tens of microseconds, before it
// takes the times.
func Now() Usage {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	machine, _ := machineBusy()
	return Usage{Machine: machine, Mallocs: mem.Mallocs, AllocBytes: mem.TotalAlloc, CPU: processCPU(), At: time.Now()}
}

// CPU returns user and system time of this process so far, to a microsecond or so.
func CPU() time.Duration { return processCPU() }
