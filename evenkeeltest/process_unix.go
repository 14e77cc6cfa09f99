//go:build unix

package evenkeeltest

import (
	"fmt"
	"syscall"
)

func killGroup(p *process) {
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	_ = p.cmd.Process.Kill() // in case the group was not made
}

func stopProcess(p *process) error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("evenkeeltest: stop: %w", err)
	}
	return awaitStopped(p.pid)
}

func contProcess(p *process) error {
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("evenkeeltest: cont: %w", err)
	}
	return nil
}

// raise sends a signal to this very process.
func raise(sig syscall.Signal) error { return syscall.Kill(syscall.Getpid(), sig) }
