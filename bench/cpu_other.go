//go:build !unix

package bench

import "time"

// processCPU is not known here.
func processCPU() (user, system time.Duration, ok bool) { return 0, 0, false }
