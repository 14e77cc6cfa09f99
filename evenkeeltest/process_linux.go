package evenkeeltest

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"time"
)

// childAttr gives the child a process group of its own, so that a Ctrl-C on the
// terminal is ours alone to handle, and has the kernel kill it when we die.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitStopped waits until the kernel shows the process as stopped: the signal
// takes effect a little after it was sent.
func awaitStopped(pid int) error {
	deadline := time.Now().Add(time.Second)
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return fmt.Errorf("evenkeeltest: stop: %w", err)
		}
		// pid (name) state …, where the name may hold anything.
		if _, rest, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" ")); ok && len(rest) > 0 && rest[0] == 'T' {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("evenkeeltest: stop: process %d does not stop", pid)
		}
		<-time.After(time.Millisecond)
	}
}
