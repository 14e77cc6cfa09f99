//go:build !linux

package wire

import (
	"context"
	"syscall"
	"time"
)

// control has nothing to set: TCP_USER_TIMEOUT is Linux's. Keepalive and the stall watch find a dead peer elsewhere.
func control(time.Duration) func(context.Context, string, string, syscall.RawConn) error { return nil }
