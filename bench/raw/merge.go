package raw

import "sync"

// Merge makes one result of several runs of the same load that went on at the same time,
// such as one for each node of a cluster; there has to be at least one. It changes the
// first. Counts add up, the time is that of the longest, and the verdict is the worst.
func Merge(results []*Result) *Result {
	sum := results[0]
	for _, r := range results[1:] {
		sum.Counts.Merge(&r.Counts)
		if r.Begin.Before(sum.Begin) {
			sum.Begin = r.Begin
		}
		sum.Elapsed = max(sum.Elapsed, r.Elapsed)
		sum.Unanswered += r.Unanswered
		sum.OldestUnanswered = max(sum.OldestUnanswered, r.OldestUnanswered)
		sum.Scheduled += r.Scheduled
		sum.Backlog += r.Backlog
		sum.Workers = append(sum.Workers, r.Workers...)
		// They ran in one process, of which each saw the whole.
		sum.GC.Collections = max(sum.GC.Collections, r.GC.Collections)
		sum.GC.Pauses, sum.GC.Longest = max(sum.GC.Pauses, r.GC.Pauses), max(sum.GC.Longest, r.GC.Longest)
		if r.Verdict.GeneratorBound && !sum.Verdict.GeneratorBound {
			sum.Verdict = r.Verdict
		}
	}
	return sum
}

// Joiner makes one series of intervals out of those of several runs of the same load that
// go on at the same time. Its methods may be called concurrently.
type Joiner struct {
	mu    sync.Mutex
	out   func(*Interval)
	feeds []feed
}

// feed is what one run gave that the others have no counterpart for yet.
type feed struct {
	waiting []*Interval
	ended   bool
}

// NewJoiner joins so many runs. out gets the joined intervals, one call at a time.
func NewJoiner(runs int, out func(*Interval)) *Joiner {
	return &Joiner{out: out, feeds: make([]feed, runs)}
}

// Add takes the next interval of a run, numbered from 0. The interval is the Joiner's
// from then on.
func (j *Joiner) Add(run int, i *Interval) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.feeds[run].waiting = append(j.feeds[run].waiting, i)
	j.join()
}

// End says that a run gives no more.
func (j *Joiner) End(run int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.feeds[run].ended = true
	j.join()
}

// join hands on what all runs that go on have given.
func (j *Joiner) join() {
	for {
		var heads []int
		warm := false
		for n := range j.feeds {
			switch f := &j.feeds[n]; {
			case len(f.waiting) > 0:
				heads = append(heads, n)
				warm = warm || f.waiting[0].Warmup
			case !f.ended:
				return
			}
		}
		if len(heads) == 0 {
			return
		}
		var sum *Interval
		for _, n := range heads {
			f := &j.feeds[n]
			// The clocks of the runs differ a little: the warm-up of one may have an interval
			// more, and no interval is of both.
			if f.waiting[0].Warmup == warm {
				sum = sum.plus(f.waiting[0])
				f.waiting = f.waiting[1:]
			}
		}
		j.out(sum)
	}
}

// plus adds an interval of another run about the same time; i may be nil.
func (i *Interval) plus(o *Interval) *Interval {
	if i == nil {
		return o
	}
	i.Counts.Merge(&o.Counts)
	end := max(i.Begin+i.Elapsed, o.Begin+o.Elapsed)
	i.Begin = min(i.Begin, o.Begin)
	i.Elapsed = end - i.Begin
	i.Open += o.Open
	i.Backlog += o.Backlog
	return i
}
