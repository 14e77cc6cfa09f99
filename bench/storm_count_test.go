package bench

import (
	"testing"
	"time"
)

func TestLateQuantile(t *testing.T) {
	late := []time.Duration{1, 2, 3, 4}
	for _, test := range []struct {
		total int64
		q     float64
		want  time.Duration
	}{
		{4, 0.5, 2},         // all were late: the second of four
		{4, 1, 4},           // the latest
		{1000, 0.999, 3},    // the 999th of 1,000, of which 996 were in time
		{1000, 0.996, 0},    // the last one in time
		{100_000, 0.999, 0}, // four late ones are fewer than one in a thousand
	} {
		if got := lateQuantile(late, test.total, test.q); got != test.want {
			t.Errorf("quantile %v of %d: %d, want %d", test.q, test.total, got, test.want)
		}
	}
}

// TestRecovery: 1,000 calls a second until the fault at 2 s, none during it, half
// the rate for 300 ms after its end at 3 s, and then all of it.
func TestRecovery(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var samples []sample
	ok := 0.0
	for ms := 0; ms <= 5000; ms += 10 {
		samples = append(samples, sample{at: at(ms), ok: int64(ok)})
		switch {
		case ms < 2000, ms >= 3300:
			ok += 10
		case ms >= 3000:
			ok += 5
		}
	}
	s := &stormRun{result: &StormResult{}, healed: at(3000), marks: [4]time.Time{at(0), at(2000), at(3000), at(5000)}}
	s.recovery(samples)
	// A window of 200 ms may hold 40 ms at half the rate and still have 90 % of it.
	if ms := s.result.RecoveryMs; ms == nil || *ms < 250 || *ms > 310 {
		t.Errorf("recovery after %v ms", ms)
	}

	flat := append([]sample(nil), samples[:301]...)
	for ms := 3010; ms <= 5000; ms += 10 {
		flat = append(flat, sample{at: at(ms), ok: samples[300].ok})
	}
	s.result.RecoveryMs = nil
	s.recovery(flat)
	if s.result.RecoveryMs != nil {
		t.Errorf("recovery after %v ms without a call", *s.result.RecoveryMs)
	}
}

func TestRecoveryMax(t *testing.T) {
	judged := func(f Fault) bool {
		r := &StormResult{Fault: f, Phases: []StormPhase{{Name: PhaseBefore}, {Name: PhaseDuring}, {Name: PhaseAfter}}, RecoveryMs: new(1500.0)}
		r.Judge()
		return len(r.Missed()) == 0
	}
	for f, want := range map[Fault]bool{FaultPause: false, FaultStop: false, FaultKill: true, FaultRefuse: true} {
		if got := judged(f); got != want {
			t.Errorf("%s: 1.5 s kept the promise: %v, want %v", f, got, want)
		}
	}
}
