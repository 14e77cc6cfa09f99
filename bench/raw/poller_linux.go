package raw

import (
	"encoding/binary"
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// eventBatch is how many events one wait takes at most.
const eventBatch = 256

// wakeIndex marks the events of the poller's own descriptors.
const wakeIndex = -1

// poller is an epoll with an eventfd, by which other goroutines wake it, and waits that
// are exact to some microseconds.
type poller struct {
	epoll, event int
	timer        int // a timerfd where epoll_pwait2 is missing (before Linux 5.11), else -1
	events       [eventBatch]unix.EpollEvent
	timeout      timespec
}

// timespec is the kernel's, on all architectures.
type timespec struct{ seconds, nanos int64 }

func newPoller() (p *poller, err error) {
	p = &poller{epoll: -1, event: -1, timer: -1}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if p.event, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, err
	}
	if err = p.add(p.event, wakeIndex, 0); err != nil {
		return nil, err
	}
	if _, errno := p.pwait2(0); errno == unix.ENOSYS || errno == unix.EPERM { // a sandbox refuses with EPERM
		if p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
			return nil, err
		}
		if err = p.add(p.timer, wakeIndex, 0); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *poller) close() {
	for _, fd := range []int{p.epoll, p.event, p.timer} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// name is what a wait is timed by.
func (p *poller) name() string {
	if p.timer >= 0 {
		return "timerfd"
	}
	return "epoll_pwait2"
}

// add watches for what can be read. The events carry the index and the generation.
func (p *poller) add(fd int, index, generation int32) error {
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: index, Pad: generation})
}

// change changes what a descriptor is watched for.
func (p *poller) change(fd int, index, generation int32, events uint32) error {
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_MOD, fd, &unix.EpollEvent{Events: events, Fd: index, Pad: generation})
}

// wake ends the wait that is under way, or the next one. Any goroutine may call it.
func (p *poller) wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(p.event, one[:]) // it fails only when it is set already
}

// calm empties the poller's own descriptors, once an event says that there is something.
func (p *poller) calm() {
	var b [8]byte
	_, _ = read(p.event, b[:])
	if p.timer >= 0 {
		_, _ = read(p.timer, b[:])
	}
}

// poll takes the events that are there, without waiting.
func (p *poller) poll() (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events)), eventBatch, 0, 0, 0)
	return counted(n, errno)
}

// wait takes events, and waits for the first one: until it comes, or for d. A negative d
// waits without bound.
func (p *poller) wait(d time.Duration) (int, error) {
	switch {
	case d == 0:
		return p.poll()
	case p.timer < 0:
		n, errno := p.pwait2(d)
		return counted(n, errno)
	case d > 0:
		if err := unix.TimerfdSettime(p.timer, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil); err != nil {
			return 0, err
		}
	}
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events)), eventBatch, ^uintptr(0), 0, 0)
	return counted(n, errno)
}

// pwait2 may block, so the runtime is told of the call.
func (p *poller) pwait2(d time.Duration) (uintptr, unix.Errno) {
	var timeout unsafe.Pointer
	if d >= 0 {
		p.timeout = timespec{seconds: int64(d / time.Second), nanos: int64(d % time.Second)}
		timeout = unsafe.Pointer(&p.timeout)
	}
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events)), eventBatch, uintptr(timeout), 0, 0)
	return n, errno
}

func counted(n uintptr, errno unix.Errno) (int, error) {
	switch errno {
	case 0:
		return int(n), nil //nolint:gosec // at most eventBatch
	case unix.EINTR:
		return 0, nil
	default:
		return 0, errors.Join(errors.New("epoll"), errno)
	}
}
