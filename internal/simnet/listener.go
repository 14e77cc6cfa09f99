package simnet

import (
	"net"
	"sync"
)

// Listener is a listening address of a [Network]. Its methods may be called
// concurrently.
type Listener struct {
	net     *Network
	addr    Addr
	backlog chan *Conn
	closing chan struct{}
	once    sync.Once
}

var _ net.Listener = (*Listener)(nil)

// Accept waits for a conn. While the network is frozen towards the server it
// returns none. It fails with net.ErrClosed after Close.
func (ln *Listener) Accept() (net.Conn, error) {
	if ln.isClosed() {
		return nil, opError("accept", nil, ln.addr, net.ErrClosed)
	}
	select {
	case <-ln.closing:
		return nil, opError("accept", nil, ln.addr, net.ErrClosed)
	case c := <-ln.backlog:
		for {
			frozen, changed := ln.net.acceptFrozen()
			if !frozen {
				break
			}
			select {
			case <-changed:
			case <-ln.closing:
				c.refuse()
				return nil, opError("accept", nil, ln.addr, net.ErrClosed)
			}
		}
		ln.net.noteAccepted(c)
		return c, nil
	}
}

// Close ends listening: later dials are refused, and conns that were never
// accepted are reset. The address is free again. A second Close returns
// net.ErrClosed.
func (ln *Listener) Close() error {
	err := opError("close", nil, ln.addr, net.ErrClosed)
	ln.once.Do(func() {
		err = nil
		ln.net.unlisten(ln)
		close(ln.closing)
		for {
			select {
			case c := <-ln.backlog:
				c.refuse()
			default:
				return
			}
		}
	})
	return err
}

// Addr returns the address listened on.
func (ln *Listener) Addr() net.Addr { return ln.addr }

func (ln *Listener) isClosed() bool {
	select {
	case <-ln.closing:
		return true
	default:
		return false
	}
}
