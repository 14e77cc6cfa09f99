//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package wire

import "net"

// newRawTransport has nothing to offer where sockets cannot be written to without waiting.
func newRawTransport(net.Conn) transport { return nil }
