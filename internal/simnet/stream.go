package simnet

import (
	"sync"
	"time"
)

// keepBuffer is the largest drained buffer, in bytes, that a stream keeps: many
// idle conns must stay small.
const keepBuffer = 4 << 10

// batch is a run of bytes that become readable together.
type batch struct {
	n  int
	at time.Time
}

// stream is one direction of a link: a bounded byte queue between one writing and
// one reading end. Every field is guarded by the link's lock.
type stream struct {
	limit int
	buf   []byte
	off   int // buf[:off] has been read

	// Bytes under way, oldest first, behind the arrived ones. Empty without latency.
	flying  []batch
	arrived int
	latency time.Duration
	lastAt  time.Time // arrival of the youngest byte: a shorter latency must not reorder

	sent  int64 // bytes taken from the writer, ever
	cutAt int64 // cut when sent reaches it; 0 means never
	cut   cutKind

	frozen  bool // nothing is delivered, nothing is lost
	dropped bool // everything from now on is lost, FIN and RST too

	split       int // at most so many bytes per read; 0 means no limit
	trickle     int // at most so many bytes per trickleGap; 0 means no limit
	trickleGap  time.Duration
	trickleNext time.Time

	fin, rst     bool
	finAt, rstAt time.Time // when they arrive
	readerGone   bool      // the reading end is closed
	readerShut   bool      // the reading end is closed for reading: bytes go nowhere
	broken       error     // what the next write gets

	readable, writable    sync.Cond
	readTimer, writeTimer *time.Timer
}

type cutKind uint8

const (
	cutNone cutKind = iota
	cutFIN
	cutRST
)

func (s *stream) buffered() int { return len(s.buf) - s.off }

// arrive moves what has landed by now from the flying bytes to the readable ones.
func (s *stream) arrive(now time.Time) {
	k := 0
	for k < len(s.flying) && !s.flying[k].at.After(now) {
		s.arrived += s.flying[k].n
		k++
	}
	if k > 0 {
		s.flying = append(s.flying[:0], s.flying[k:]...)
	}
}

// landing returns when something that is sent now arrives.
func (s *stream) landing(now time.Time) time.Time {
	at := now.Add(s.latency)
	if at.Before(s.lastAt) {
		at = s.lastAt
	}
	s.lastAt = at
	return at
}

// take copies to p what the reader may have now. When it may have nothing yet it
// returns errWouldBlock, and the time to look again if that is known.
func (s *stream) take(p []byte, now time.Time) (n int, again time.Time, err error) {
	if s.frozen {
		return 0, time.Time{}, errWouldBlock
	}
	s.arrive(now)
	if s.arrived > 0 {
		n = min(len(p), s.arrived)
		if s.split > 0 {
			n = min(n, s.split)
		}
		if s.trickle > 0 {
			if now.Before(s.trickleNext) {
				return 0, s.trickleNext, errWouldBlock
			}
			n = min(n, s.trickle)
			s.trickleNext = now.Add(s.trickleGap)
		}
		copy(p, s.buf[s.off:s.off+n])
		s.consume(n)
		return n, time.Time{}, nil
	}
	if len(s.flying) > 0 {
		return 0, s.flying[0].at, errWouldBlock
	}
	if s.rst {
		if s.rstAt.After(now) {
			return 0, s.rstAt, errWouldBlock
		}
		return 0, time.Time{}, errReset
	}
	if s.fin {
		if s.finAt.After(now) {
			return 0, s.finAt, errWouldBlock
		}
		return 0, time.Time{}, errEOF
	}
	return 0, time.Time{}, errWouldBlock
}

func (s *stream) consume(n int) {
	s.off += n
	s.arrived -= n
	if s.off == len(s.buf) {
		s.off = 0
		if cap(s.buf) > keepBuffer {
			s.buf = nil
		} else {
			s.buf = s.buf[:0]
		}
	}
	s.writable.Broadcast()
}

// put takes from p what fits. It reports whether this reached the point of a cut.
func (s *stream) put(p []byte, now time.Time) (n int, cut bool) {
	if s.dropped || s.readerGone || s.readerShut {
		s.sent += int64(len(p))
		if s.readerGone && !s.dropped {
			// The peer's answer to these bytes is an RST.
			s.broken = errPipe
		}
		return len(p), false
	}
	n = min(len(p), s.limit-s.buffered())
	keep := n
	if s.cut != cutNone && s.sent+int64(n) >= s.cutAt {
		keep = int(s.cutAt - s.sent)
		n = len(p) // the writer's system has taken it all; it will not get far
		cut = true
	}
	if keep > 0 {
		s.append(p[:keep])
		if s.latency > 0 || len(s.flying) > 0 {
			s.flying = append(s.flying, batch{keep, s.landing(now)})
		} else {
			s.arrived += keep
		}
		s.readable.Broadcast()
	}
	s.sent += int64(n)
	return n, cut
}

func (s *stream) append(p []byte) {
	if s.off > 0 && len(s.buf)+len(p) > cap(s.buf) {
		s.buf = s.buf[:copy(s.buf, s.buf[s.off:])]
		s.off = 0
	}
	s.buf = append(s.buf, p...)
}

// discard forgets what has not been read.
func (s *stream) discard() {
	s.buf, s.off, s.flying, s.arrived = nil, 0, nil, 0
	s.writable.Broadcast()
}

// finish sends a FIN behind what has been written.
func (s *stream) finish(now time.Time) {
	if s.fin || s.dropped {
		return
	}
	s.fin, s.finAt = true, s.landing(now)
	s.readable.Broadcast()
}

// abort sends an RST behind what has been written. The opposite direction's
// writer hears of it too, when it arrives: that is for the link to check.
func (s *stream) abort(now time.Time) {
	if s.rst || s.dropped {
		return
	}
	s.rst, s.rstAt = true, s.landing(now)
	s.readable.Broadcast()
}

// resetSeen tells whether an RST in this direction has reached its end by now,
// and if not, when it will (zero: unknown).
func (s *stream) resetSeen(now time.Time) (bool, time.Time) {
	if !s.rst || s.frozen {
		return false, time.Time{}
	}
	return !s.rstAt.After(now), s.rstAt
}

// endSeen tells whether the reading end's system has been told that the other
// end is gone.
func (s *stream) endSeen(now time.Time) (bool, time.Time) {
	if s.frozen {
		return false, time.Time{}
	}
	if s.rst {
		return !s.rstAt.After(now), s.rstAt
	}
	if s.fin {
		return !s.finAt.After(now), s.finAt
	}
	return false, time.Time{}
}

// waitReadable waits for a change, or until the given time when it is not zero.
// The caller holds the lock.
func (s *stream) waitReadable(until time.Time) {
	wait(&s.readable, &s.readTimer, until)
}

// waitWritable is waitReadable for the writing end.
func (s *stream) waitWritable(until time.Time) {
	wait(&s.writable, &s.writeTimer, until)
}

// wait arms the one timer of a condition. Those who wait on the same condition
// ask for the same time, or for none, so the last one to arm it is right for all.
func wait(c *sync.Cond, timer **time.Timer, until time.Time) {
	if !until.IsZero() {
		d := time.Until(until)
		if *timer == nil {
			*timer = time.AfterFunc(d, func() {
				c.L.Lock()
				defer c.L.Unlock()
				c.Broadcast()
			})
		} else {
			(*timer).Reset(d)
		}
	}
	c.Wait()
}

// stopReading and stopWriting end the timer of the end that has been closed.
func (s *stream) stopReading() { stop(s.readTimer) }
func (s *stream) stopWriting() { stop(s.writeTimer) }

func stop(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

func (s *stream) wakeAll() {
	s.readable.Broadcast()
	s.writable.Broadcast()
}

// earlier returns the earlier of two times, where zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
