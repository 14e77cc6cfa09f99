package measure

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/stat, which Linux fixes at 1/100 s for user space.
const tick = 10 * time.Millisecond

// machineBusy adds what all CPUs spent on user, nice, system, irq, softirq and steal.
func machineBusy() (busy time.Duration, ok bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	return parseBusy(string(text))
}

func parseBusy(stat string) (busy time.Duration, ok bool) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, false
	}
	const idle, iowait = 4, 5
	for i, field := range fields[1:9] {
		if i+1 == idle || i+1 == iowait {
			continue
		}
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, false
		}
		busy += time.Duration(n) * tick
	}
	return busy, true
}
