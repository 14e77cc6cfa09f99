//go:build unix

package evenkeeltest

import (
	"errors"
	"net"
	"syscall"
)

// hungUp tells whether the peer has closed the conn and nothing is left to read, or
// has reset it. It does not wait and takes no bytes; of a reset, the next read sees
// the end alone. It is false for conns that are no sockets.
func hungUp(c net.Conn) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		gone = n == 0 && err == nil || errors.Is(err, syscall.ECONNRESET)
	})
	return err == nil && gone
}
