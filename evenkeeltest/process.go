package evenkeeltest

import (
	"context"
	"os"
	"os/exec"
	"runtime"
)

// process is one run of a server program.
type process struct {
	pid  int
	cmd  *exec.Cmd
	done chan struct{} // closed once it has been waited for
}

// startProcess starts the program with one argument, its output appended to a log
// file.
//
// On Linux the kernel kills the child when the *thread* that started it ends, so
// the goroutine that starts it keeps its thread until the child is gone.
func startProcess(binary, arg, logPath string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	// Its life ends by kill, which also reaches its children, not by a context.
	cmd := exec.CommandContext(context.Background(), binary, arg)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttr()
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = p.cmd.Process.Pid
	started <- nil
	_ = p.cmd.Wait() // how it ended is in its log, and killed it was most likely
	close(p.done)
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill ends the process, stopped or not, with the children it may have forked, and
// waits for it.
func (p *process) kill() {
	if p.running() {
		killGroup(p)
	}
	<-p.done
}
