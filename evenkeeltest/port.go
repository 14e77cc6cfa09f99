package evenkeeltest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken below those that systems hand out to dialing sockets: nobody
// takes one by chance while a server is down, and a dial to it cannot meet itself.
const (
	firstPort = 10_000
	lastPort  = 32_000
)

// ListenLoopback listens on a free TCP port of 127.0.0.1. The port is not one of
// those that the system gives to dialing sockets, so that it stays free when the
// listener is closed and opened again.
func ListenLoopback() (net.Listener, error) {
	var lc net.ListenConfig
	var last error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		ln, err := lc.Listen(context.Background(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return ln, nil
		}
		last = err
	}
	return nil, last
}

// freePort returns a loopback port that was free a moment ago.
func freePort() (int, error) {
	ln, err := ListenLoopback()
	if err != nil {
		return 0, err
	}
	defer func() { _ = ln.Close() }() // nobody has connected to it
	addr, ok := ln.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("evenkeeltest: no TCP address")
	}
	return addr.Port, nil
}
