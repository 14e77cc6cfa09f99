package raw

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// maxCodes bounds how many different codes are counted apart: what a server says must
// not make the engine's memory grow. The rest counts as otherCode.
const (
	maxCodes   = 64
	otherCode  = "other"
	verifyCode = "VERIFY"
)

var (
	errMaxClients = errors.New("the server says that its maxclients is reached")
	errUnasked    = errors.New("a reply that no request asked for")
)

// count adds one to a code in a map that stays bounded. It does not allocate for a code
// that is there already.
func count(m map[string]int64, code []byte) {
	if _, known := m[string(code)]; !known && len(m) >= maxCodes {
		m[otherCode]++
		return
	}
	m[string(code)]++
}

// codeOf is the first word of an error's text, where that is a code in capitals as all of the
// servers' are, and "ERR" otherwise.
func codeOf(text []byte) []byte {
	end := bytes.IndexByte(text, ' ')
	if end < 0 {
		end = len(text)
	}
	if end == 0 || end > 32 {
		return []byte("ERR")
	}
	for _, c := range text[:end] {
		if (c < 'A' || c > 'Z') && c != '_' && (c < '0' || c > '9') {
			return []byte("ERR")
		}
	}
	return text[:end]
}

// saysMaxClients reports whether an error's text is what a full server sends to a conn
// before it closes it.
func saysMaxClients(text []byte) bool {
	return bytes.Contains(text, []byte("max number of clients"))
}

// passes reports whether a refusal of what begins a conn will go away by itself.
func passes(text string) bool {
	code, _, _ := strings.Cut(text, " ")
	switch code {
	case "LOADING", "MASTERDOWN", "BUSY", "TRYAGAIN", "CLUSTERDOWN":
		return true
	default:
		return false
	}
}

// lossOf names why a conn was lost.
func lossOf(err error) string {
	var protocol *resp.ProtocolError
	switch {
	case errors.Is(err, errMaxClients):
		return "maxclients"
	case errors.Is(err, errUnasked):
		return "conn: " + errUnasked.Error()
	case errors.As(err, &protocol):
		return "conn: not the protocol"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "conn: closed by peer"
	}
	if word := systemWord(err); word != "" {
		return "conn: " + word
	}
	return "conn: failed"
}

// dialLossOf names why a dial failed.
func dialLossOf(err error) string {
	var dns *net.DNSError
	var refused *HelloError
	switch {
	case errors.Is(err, errMaxClients):
		return "maxclients"
	case errors.As(err, &refused):
		return "dial: " + string(codeOf([]byte(refused.Reply)))
	case errors.As(err, &dns):
		return "dial: name not found"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "dial: timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "dial: closed by peer"
	}
	if word := systemWord(err); word != "" {
		return "dial: " + word
	}
	return "dial: failed"
}

// explain is an error's text, with what to do where that is known.
func explain(err error) string {
	if err == nil {
		return ""
	}
	if remedy := remedyFor(err); remedy != "" {
		return fmt.Sprintf("%v (%s)", err, remedy)
	}
	return err.Error()
}

func remedyFor(err error) string {
	if errors.Is(err, errMaxClients) {
		return "raise maxclients on the server, or use fewer conns"
	}
	switch systemWord(err) {
	case wordNoPorts:
		return "the local ports are used up: widen net.ipv4.ip_local_port_range, wait for TIME_WAIT to pass, use a unix socket, or reconnect less often"
	case wordNoFiles:
		return "raise the limit of open files, ulimit -n, or use fewer conns"
	default:
		return ""
	}
}

// Words for the failures that a system reports.
const (
	wordRefused = "connection refused"
	wordReset   = "reset by peer"
	wordNoPorts = "no local port left"
	wordNoFiles = "too many open files"
	wordTimeout = "timeout"
	wordNoRoute = "host unreachable"
	wordNoFile  = "no such socket"
)
