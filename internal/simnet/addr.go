package simnet

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// Addr is the address of a listener or of one end of a conn.
type Addr string

// Network returns "tcp": a simulated conn stands in for a TCP conn.
func (Addr) Network() string { return "tcp" }

// String returns the address as it was given to Listen, or as it was made up for
// the dialing end.
func (a Addr) String() string { return string(a) }

// errWouldBlock is internal: a call that may wait turns it into a wait, a Try
// call into a timeout.
var errWouldBlock = errors.New("would block")

// The causes that callers see, below a *net.OpError, the same that package net
// reports for TCP.
var (
	errTimeout = os.ErrDeadlineExceeded
	errReset   = os.NewSyscallError("read", syscall.ECONNRESET)
	errResetW  = os.NewSyscallError("write", syscall.ECONNRESET)
	errPipe    = os.NewSyscallError("write", syscall.EPIPE)
	errRefused = os.NewSyscallError("connect", syscall.ECONNREFUSED)
	errInUse   = os.NewSyscallError("bind", syscall.EADDRINUSE)
)

func opError(op string, source, addr net.Addr, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: source, Addr: addr, Err: err}
}
