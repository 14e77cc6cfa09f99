//go:build !unix

package evenkeeltest

import (
	"errors"
	"os"
	"syscall"
)

func childAttr() *syscall.SysProcAttr { return nil }

func killGroup(p *process) { _ = p.cmd.Process.Kill() }

func stopProcess(*process) error { return errors.ErrUnsupported }

func contProcess(*process) error { return errors.ErrUnsupported }

// raise ends this very process: there is no signal to pass on.
func raise(syscall.Signal) error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Kill()
}
