package wire

import (
	"context"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h, which package syscall lacks.
const tcpUserTimeout = 18

// control sets how long written data may stay unacknowledged before the kernel gives the conn up; without it the kernel
// retransmits for about fifteen minutes, and keepalive does not run meanwhile.
func control(timeout time.Duration) func(context.Context, string, string, syscall.RawConn) error {
	if timeout <= 0 {
		return nil
	}
	return func(_ context.Context, network, _ string, rc syscall.RawConn) error {
		if network == "unix" {
			return nil
		}
		var err error
		if cerr := rc.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(timeout.Milliseconds()))
		}); cerr != nil {
			return cerr
		}
		return err
	}
}
