//go:build unix && !linux

package evenkeeltest

import "syscall"

// childAttr gives the child a process group of its own, so that a Ctrl-C on the
// terminal is ours alone to handle.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitStopped has nothing portable to look at.
func awaitStopped(int) error { return nil }
