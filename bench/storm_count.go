package bench

import (
	"math"
	"slices"
	"sync"
	"time"
)

const (
	stormSample     = 10 * time.Millisecond  // between two looks at the counters
	stormWindow     = 200 * time.Millisecond // over which a rate is taken to be back or not
	stormBack       = 0.9                    // of the rate before
	stormTimeline   = 100                    // steps of the timeline, about
	stormStepMin    = 50 * time.Millisecond
	stormSampleMost = 100_000
	stormGone       = 100 * time.Millisecond // until a client has noticed that all its conns are gone
)

// sample is one look at the counters.
type sample struct {
	at         time.Time
	ok, failed int64 // so far
	phase      int32
	underWay   int   // most dials under way since the sample before
	refused    int64 // dials so far that never reached the relay
}

// sampleEvery keeps the number of samples of a long run within bounds.
func sampleEvery(o StormOptions) time.Duration {
	return max(stormSample, (o.Before+o.During+o.After)/stormSampleMost)
}

// sampler looks at the counters until it is stopped.
type sampler struct {
	load    *stormLoad
	dials   *dialCount
	done    chan struct{}
	wg      sync.WaitGroup
	samples []sample
}

func startSampler(load *stormLoad, dials *dialCount, every time.Duration) *sampler {
	s := &sampler{load: load, dials: dials, done: make(chan struct{})}
	s.look()
	s.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.look()
			case <-s.done:
				s.look()
				return
			}
		}
	})
	return s
}

func (s *sampler) look() {
	phase := s.load.phase.Load()
	s.samples = append(s.samples, sample{
		at: time.Now(), ok: s.load.ok.Load(), failed: s.load.failed.Load(), phase: phase,
		underWay: s.dials.take(), refused: s.dials.failed.Load(),
	})
}

// stop ends the sampling and returns what was seen.
func (s *sampler) stop() []sample {
	close(s.done)
	s.wg.Wait()
	return s.samples
}

// count fills in the result from the samples, the callers and the relay's log.
func (s *stormRun) count(samples []sample) {
	st := s.relay.Stats()
	s.result.OpenMaxServer = st.OpenMax
	for i, name := range stormPhases() {
		if s.marks[i].IsZero() {
			break
		}
		end := s.marks[3]
		if i < 2 && !s.marks[i+1].IsZero() {
			end = s.marks[i+1]
		}
		s.result.Phases = append(s.result.Phases, s.countPhase(i, name, end, samples))
	}
	s.timeline(samples)
	if !s.healed.IsZero() {
		s.recovery(samples)
	}
}

func (s *stormRun) countPhase(i int, name string, end time.Time, samples []sample) StormPhase {
	p := StormPhase{Name: name, DialsServer: s.accepted(s.marks[i], end), Failed: map[string]int64{}}
	var refused int64
	for j, x := range samples {
		if int(x.phase) != i {
			continue
		}
		// While the last calls still succeed nobody can know that the server is gone.
		if name != PhaseDuring || s.o.Fault != FaultRefuse || x.at.Sub(s.cut) > stormGone {
			p.DialsUnderWayMax = max(p.DialsUnderWayMax, x.underWay)
		}
		if j > 0 {
			refused += x.refused - samples[j-1].refused
		}
	}
	p.DialsRefused = int(refused)
	var late []time.Duration
	total := int64(0)
	for j := range s.load.callers {
		c := &s.load.callers[j]
		p.OK += c.ok[i]
		total += c.ok[i]
		for kind, n := range c.failed[i] {
			p.Failed[kind] += n
			total += n
		}
		late = append(late, c.late[i]...)
	}
	if len(late) > 0 {
		slices.Sort(late)
		p.LateMaxMs = micros(late[len(late)-1]) / 1000
		p.LateP999Ms = micros(lateQuantile(late, total, 0.999)) / 1000
	}
	return p
}

// lateQuantile is the quantile q of how late total calls were, of which only
// those in late, sorted, were late at all.
func lateQuantile(late []time.Duration, total int64, q float64) time.Duration {
	rank := int64(math.Ceil(q*float64(total))) - (total - int64(len(late)))
	if rank <= 0 {
		return 0
	}
	return late[rank-1]
}

// accepted counts the conns that the relay accepted from one moment to another.
func (s *stormRun) accepted(from, to time.Time) int {
	n := 0
	for _, e := range s.relay.Events() {
		if e.Open && !e.At.Before(from) && e.At.Before(to) {
			n++
		}
	}
	return n
}

// timeline follows the run in equal steps.
func (s *stormRun) timeline(samples []sample) {
	step := max(stormStepMin, (s.o.Before+s.o.During+s.o.After)/stormTimeline)
	events := s.relay.Events()
	open := 0
	last := samples[0]
	for _, x := range samples[1:] {
		if x.at.Sub(last.at) < step && x != samples[len(samples)-1] {
			continue
		}
		p := StormPoint{TMs: micros(x.at.Sub(s.begin)) / 1000}
		if d := x.at.Sub(last.at).Seconds(); d > 0 {
			p.OKPerS, p.FailedPerS = float64(x.ok-last.ok)/d, float64(x.failed-last.failed)/d
		}
		for len(events) > 0 && !events[0].At.After(x.at) {
			if events[0].Open {
				open++
				p.DialsServer++
			} else {
				open--
			}
			events = events[1:]
		}
		p.OpenServer = open
		s.result.Timeline = append(s.result.Timeline, p)
		last = x
	}
}

// recovery finds the first moment after the fault from which on the rate of a
// whole window was back. The rate before is that of the second half of its phase:
// in the first one the conns were opened.
func (s *stormRun) recovery(samples []sample) {
	half := s.marks[0].Add(s.marks[1].Sub(s.marks[0]) / 2)
	before := rateOf(samples, half, s.marks[1])
	for i, x := range samples {
		if x.at.Before(s.healed) || s.marks[3].Sub(x.at) < stormWindow {
			continue
		}
		if before > 0 && rateOf(samples[i:], x.at, x.at.Add(stormWindow)) >= stormBack*before {
			ms := micros(x.at.Sub(s.healed)) / 1000
			s.result.RecoveryMs = &ms
			return
		}
	}
}

// rateOf is how many calls a second succeeded between two moments.
func rateOf(samples []sample, from, to time.Time) float64 {
	var first, last *sample
	for i := range samples {
		x := &samples[i]
		if x.at.Before(from) {
			continue
		}
		if first == nil {
			first = x
		}
		last = x
		if !x.at.Before(to) {
			break
		}
	}
	if first == nil || !last.at.After(first.at) {
		return 0
	}
	return float64(last.ok-first.ok) / last.at.Sub(first.at).Seconds()
}
