package wire

import "sync"

const (
	readBuffer  = 16 << 10  // first size of a read buffer, in bytes
	maxRead     = 256 << 10 // it grows to this while replies fill it
	firstWrite  = 4 << 10   // first size of a write buffer
	maxKeptIdle = 64 << 10  // larger buffers are not kept in the pools
	maxKeptBusy = 512 << 10 // larger write buffers are not kept between two writes of a busy conn
)

// Buffers come from process-wide pools and go back when a conn has nothing owed, so that idle conns hold none.
var (
	readBuffers  = sync.Pool{New: func() any { b := make([]byte, readBuffer); return &b }}
	writeBuffers = sync.Pool{New: func() any { b := make([]byte, 0, firstWrite); return &b }}
)

func getReadBuffer() *[]byte { return readBuffers.Get().(*[]byte) } //nolint:errcheck // the pool holds nothing else

func putReadBuffer(b *[]byte) {
	if len(*b) <= maxKeptIdle {
		readBuffers.Put(b)
	}
}

func getWriteBuffer() *[]byte { return writeBuffers.Get().(*[]byte) } //nolint:errcheck // the pool holds nothing else

func putWriteBuffer(b *[]byte) {
	if cap(*b) <= maxKeptIdle {
		*b = (*b)[:0]
		writeBuffers.Put(b)
	}
}

// readBufferLocked is the buffer for the next read. The holder of the reader role calls it.
func (c *Conn) readBufferLocked() []byte {
	if c.rbuf == nil {
		c.rbuf = getReadBuffer()
	}
	return *c.rbuf
}

// growReadBuffer makes the next read larger when this one filled its buffer. The holder of the reader role calls it.
func (c *Conn) growReadBuffer(n int) {
	if n < len(*c.rbuf) || n >= maxRead {
		return
	}
	b := make([]byte, 4*n)
	putReadBuffer(c.rbuf)
	c.rbuf = &b
}

// releaseBuffersLocked lets go of all buffers. Nothing may be owed and nobody may hold a role.
func (c *Conn) releaseBuffersLocked() {
	c.tr.release()
	if c.rbuf != nil {
		putReadBuffer(c.rbuf)
		c.rbuf = nil
	}
	if c.spare != nil {
		putWriteBuffer(c.spare)
		c.spare = nil
	}
	if c.wbuf != nil && (len(*c.wbuf) == 0 || c.err != nil) {
		putWriteBuffer(c.wbuf)
		c.wbuf = nil
	}
}
