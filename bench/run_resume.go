package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/raw"
)

// openJournal begins the journal that is wanted, or reads the one to go on with.
func (r *runRun) openJournal() (err error) {
	o := r.options
	switch {
	case o.Journal == "":
		return nil
	case !o.Resume:
		r.journal, err = createJournal(o.Journal)
		return err
	}
	f, err := os.OpenFile(o.Journal, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("--journal: %w", err)
	}
	if err := r.takeUp(f); err != nil {
		return errors.Join(fmt.Errorf("--journal: %s: %w", o.Journal, err), f.Close())
	}
	return nil
}

// takeUp goes on with the run whose journal f is.
func (r *runRun) takeUp(f *os.File) error {
	h, err := readJournal(f)
	if err != nil {
		return err
	}
	if err := r.sameRun(h.result); err != nil {
		return err
	}
	o := r.options
	if o.Duration > 0 && h.elapsed >= o.Duration || o.Requests > 0 && h.result.OK+h.result.Failed >= o.Requests {
		return errors.New("its run is complete; there is nothing left to do")
	}
	// What was cut off in the middle is no line.
	if err := f.Truncate(h.whole); err != nil {
		return err
	}
	r.journal, r.earlier, r.series = &journal{f: f, at: h.whole}, h, h.series
	r.result.Begin, r.result.Preload = h.result.Begin, h.result.Preload
	return r.journal.begin(r.result)
}

// sameRun refuses to put two different runs into one result.
func (r *runRun) sameRun(was *RunResult) error {
	now := r.result
	a, b := was.Params, now.Params
	// What may differ: when to end, how much of it is warm-up, what the engine found out.
	for _, p := range []*RunParams{&a, &b} {
		p.DurationS, p.Requests, p.WarmupS, p.Engine, p.Timer = 0, 0, 0, "", ""
	}
	if a != b {
		return fmt.Errorf("its run has other parameters; give the same:\n  %s\n  %s", oneLine(a), oneLine(b))
	}
	if oneLine(was.Workload) != oneLine(now.Workload) {
		return errors.New("its run has another workload; give the same")
	}
	return nil
}

func oneLine(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // plain data: it never happens
		return err.Error()
	}
	return string(b)
}

// keysAreThere reports whether an earlier part of the run has left its keys: a run that
// ended has removed them, and a private server is gone with them.
func (r *runRun) keysAreThere() bool {
	return r.earlier != nil && r.earlier.result.Preload != nil && !r.server.target.Private() && (!r.earlier.ended || r.options.Keep)
}

// done is how long earlier parts of the run have measured.
func (r *runRun) done() time.Duration {
	if r.earlier == nil {
		return 0
	}
	return r.earlier.elapsed
}

// leaveOut takes from what is to do what earlier parts have done.
func (r *runRun) leaveOut(cfg *raw.Config) {
	if r.earlier == nil {
		return
	}
	if cfg.Duration > 0 {
		cfg.Duration -= r.earlier.elapsed
	}
	if cfg.Requests > 0 {
		cfg.Requests -= r.earlier.result.OK + r.earlier.result.Failed
	}
}

// addEarlier adds what earlier parts have measured to what this one has.
func (r *runRun) addEarlier(m *raw.Result) {
	if r.earlier == nil || r.earlier.total == nil {
		return
	}
	was := r.earlier
	total := was.total
	if !was.ended && r.result.Loop == LoopOpen {
		r.result.Scheduled += total.Busy.Count()
	}
	total.Merge(&m.Counts)
	r.result.count(total, was.elapsed+m.Elapsed)
	r.result.Scheduled += was.result.Scheduled
	r.result.Backlog += was.result.Backlog
	r.result.Unanswered += was.result.Unanswered
	r.result.Begin = was.result.Begin
	r.result.Verdict.Reason += " (in the part since it went on)"
}

// closeJournal ends the journal, if there is one.
func (r *runRun) closeJournal() error {
	if r.journal == nil {
		return nil
	}
	if !r.began { // nothing was measured: an empty file can be begun anew
		return r.journal.f.Close()
	}
	return r.journal.end(r.result)
}
