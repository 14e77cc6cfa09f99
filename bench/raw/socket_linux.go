package raw

import (
	"errors"
	"io"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// read and write are for descriptors that do not block, so that the runtime need not
// be told of the call: that would cost more than a short read does.

// read returns io.EOF at the end, and unix.EAGAIN when there is nothing.
func read(fd int, b []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			return 0, unix.EAGAIN // a constant error does not allocate
		case errno != 0:
			return 0, errno
		case n == 0:
			return 0, io.EOF
		default:
			return int(n), nil //nolint:gosec // at most len(b)
		}
	}
}

// write returns how much the socket took, which may be nothing. SIGPIPE does not come up: the
// runtime ignores it for descriptors above 2.
func write(fd int, b []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			return 0, nil
		case errno != 0:
			return 0, errno
		default:
			return int(n), nil //nolint:gosec // at most len(b)
		}
	}
}

// detach takes a conn's descriptor out of the runtime's hands: a copy of it, which does
// not block, and closes the conn.
func detach(conn net.Conn) (fd int, err error) {
	defer func() { _ = conn.Close() }()
	owner, ok := conn.(syscall.Conn)
	if !ok {
		return -1, errors.New("the conn has no descriptor")
	}
	raw, err := owner.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd = -1
	var dupErr error
	if err := raw.Control(func(s uintptr) {
		fd, dupErr = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 3)
	}); err != nil {
		return -1, err
	}
	return fd, dupErr
}

// peer is where a conn leads, for opening another one without asking the runtime.
type peer struct {
	addr   unix.Sockaddr
	family int
}

// peerOf returns the peer of a conn, or nil where it cannot be dialled again by address.
func peerOf(conn net.Conn) *peer {
	switch a := conn.RemoteAddr().(type) {
	case *net.TCPAddr:
		if v4 := a.IP.To4(); v4 != nil {
			return &peer{addr: &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(v4)}, family: unix.AF_INET}
		}
		if v6 := a.IP.To16(); v6 != nil && a.Zone == "" {
			return &peer{addr: &unix.SockaddrInet6{Port: a.Port, Addr: [16]byte(v6)}, family: unix.AF_INET6}
		}
	case *net.UnixAddr:
		if a.Net == "unix" && a.Name != "" {
			return &peer{addr: &unix.SockaddrUnix{Name: a.Name}, family: unix.AF_UNIX}
		}
	}
	return nil
}

// connect begins a conn to p. It may not be established yet: writes take nothing until it
// is, and fail when it cannot be.
func (p *peer) connect() (fd int, err error) {
	fd, err = unix.Socket(p.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if p.family != unix.AF_UNIX {
		// Requests are written whole, so there is nothing to wait for.
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
	}
	switch err := unix.Connect(fd, p.addr); {
	case err == nil, errors.Is(err, unix.EINPROGRESS):
		return fd, nil
	default:
		_ = unix.Close(fd)
		return -1, err
	}
}
