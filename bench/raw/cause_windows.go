package raw

import (
	"errors"
	"os"
	"syscall"
)

// The numbers of Windows Sockets that package syscall has no name for.
const (
	wsaEMFILE        = syscall.Errno(10024)
	wsaEADDRNOTAVAIL = syscall.Errno(10049)
	wsaENETUNREACH   = syscall.Errno(10051)
	wsaETIMEDOUT     = syscall.Errno(10060)
	wsaECONNREFUSED  = syscall.Errno(10061)
	wsaEHOSTUNREACH  = syscall.Errno(10065)
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
	case wsaECONNREFUSED:
		return wordRefused
	case syscall.WSAECONNRESET, syscall.WSAECONNABORTED, syscall.ERROR_BROKEN_PIPE:
		return wordReset
	case wsaEADDRNOTAVAIL:
		return wordNoPorts
	case wsaEMFILE:
		return wordNoFiles
	case wsaETIMEDOUT:
		return wordTimeout
	case wsaEHOSTUNREACH, wsaENETUNREACH:
		return wordNoRoute
	case syscall.ERROR_FILE_NOT_FOUND, syscall.ERROR_PATH_NOT_FOUND:
		return wordNoFile
	default:
		return number.Error()
	}
}
