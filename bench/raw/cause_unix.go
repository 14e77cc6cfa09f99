//go:build unix

package raw

import (
	"errors"
	"os"
	"syscall"
)

// systemWord names a system's error, or is "" for one without a name of its own.
func systemWord(err error) string {
	var number syscall.Errno
	if !errors.As(err, &number) {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return wordTimeout
		}
		return ""
	}
	switch number {
	case syscall.ECONNREFUSED:
		return wordRefused
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED:
		return wordReset
	case syscall.EADDRNOTAVAIL:
		return wordNoPorts
	case syscall.EMFILE, syscall.ENFILE:
		return wordNoFiles
	case syscall.ETIMEDOUT:
		return wordTimeout
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH:
		return wordNoRoute
	case syscall.ENOENT:
		return wordNoFile
	default:
		return number.Error()
	}
}
