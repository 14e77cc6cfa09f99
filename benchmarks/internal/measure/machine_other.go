//go:build !linux

package measure

import "time"

func machineBusy() (busy time.Duration, ok bool) { return 0, false }
