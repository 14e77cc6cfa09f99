package wire

// A long pipeline is sent in windows: so many commands are under way that the server and the network stay busy, and not so
// many that the server must hold all their replies in memory while the client still writes, or that both sides wait for each
// other to read.
const (
	firstWindow = 256       // commands sent before anything is known about the size of the replies
	chunkBytes  = 128 << 10 // bytes appended at a time, one command at least
	replyBytes  = 4 << 20   // replies under way at most, by the mean size of those that have come
	minWindow   = 8
	maxWindow   = 16384
)

// A pump holds what is yet to be sent of a long pipeline. It belongs to the Call, and to its caller as the reader.
type pump struct {
	b      []byte // the whole pipeline
	ends   []int  // where each command ends in b
	queued int    // commands appended to the conn's write buffer
	read   int64  // bytes read since the start
}

// Pipeline sets the commands encoded in b, of which ends tells where each ends, to be sent in windows. b and ends are not
// read any more once RoundTrip has returned. Only for a conn that nobody else uses meanwhile.
func (k *Call) Pipeline(b []byte, ends []int) {
	k.want = len(ends)
	if len(ends) <= firstWindow && len(b) <= chunkBytes {
		k.ext = b
		return
	}
	p := &pump{b: b, ends: ends}
	k.pump = p
	k.ext = p.next(firstWindow)
}

// next takes up to n commands of at most chunkBytes together.
func (p *pump) next(n int) []byte {
	from := p.queued
	start := 0
	if from > 0 {
		start = p.ends[from-1]
	}
	to := from
	for to < len(p.ends) && to-from < n && (to == from || p.ends[to]-start <= chunkBytes) {
		to++
	}
	p.queued = to
	if to == from {
		return nil
	}
	return p.b[start:p.ends[to-1]]
}

// window is how many commands may be under way.
func (p *pump) window(got int) int {
	if got == 0 {
		return firstWindow
	}
	mean := max(1, p.read/int64(got))
	return int(min(maxWindow, max(minWindow, replyBytes/mean)))
}

// pumpLocked appends the next commands when the window allows and nobody is flushing. It returns what to write then, having
// made the caller, who is the reader, the flusher too.
func (c *Conn) pumpLocked(k *Call) *[]byte {
	p := k.pump
	room := p.window(k.got) - (p.queued - k.got)
	// Refilled by halves: single commands would make single packets.
	if c.flushing || p.queued == len(p.ends) || room < p.window(k.got)/2 {
		return nil
	}
	next := p.next(room)
	if c.wbuf == nil {
		if c.wbuf, c.spare = c.spare, nil; c.wbuf == nil {
			c.wbuf = getWriteBuffer()
		}
	}
	*c.wbuf = append(*c.wbuf, next...)
	n := int64(len(next))
	c.appended += n
	k.end += n
	k.size += n
	c.flushing, c.flusher = true, k
	c.tenure++
	return c.takeLocked()
}

// cutLocked gives up what has not been sent, once its caller has left: only what was sent is owed a reply. It returns the
// number of commands not sent.
func (c *Conn) cutLocked(k *Call) int {
	unsent := len(k.pump.ends) - k.pump.queued
	c.owed.Add(int32(-unsent)) //nolint:gosec // bounded by the pipeline's length
	return unsent
}
