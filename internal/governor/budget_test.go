package governor

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// Whatever share of the commands fails, retries add at most a tenth to the load, beside
// the first ten and one a second.
func TestRetryAmplification(t *testing.T) {
	for _, failing := range []float64{0, 0.01, 0.1, 0.5, 0.9, 1} {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(5, 6))
			b := NewRetryBudget()
			const commands = 20_000
			attempts := 0
			start := time.Now()
			for range commands {
				for try := 0; ; try++ {
					attempts++
					if rnd.Float64() >= failing {
						b.Success()
						break
					}
					if try == 2 || !b.Allow() {
						break
					}
				}
				time.Sleep(time.Millisecond)
			}
			limit := 1.1*commands + 10 + time.Since(start).Seconds() + 1
			if float64(attempts) > limit {
				t.Errorf("%.0f %% fail: %d attempts for %d commands, limit %.0f", 100*failing, attempts, commands, limit)
			}
			if failing == 0.01 && b.Denied() > 0 {
				t.Errorf("%d retries denied although 1 %% fail", b.Denied())
			}
			if failing == 1 && b.Denied() == 0 {
				t.Error("no retry denied although all fail")
			}
		})
	}
}

func TestRetryBudgetTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewRetryBudget()
		for i := range 10 {
			if !b.Allow() {
				t.Fatalf("retry %d of the initial 10", i)
			}
		}
		if b.Balance() != 0 || !b.Allow() {
			t.Error("the reserve should allow one more")
		}
		if b.Allow() {
			t.Error("a second from the reserve")
		}
		time.Sleep(time.Second)
		if !b.Allow() || b.Allow() {
			t.Error("the reserve should allow one a second")
		}
		for range 35 {
			b.Success()
		}
		if b.Balance() != 3.5 {
			t.Errorf("balance %v", b.Balance())
		}
		for range 1000 {
			b.Success()
		}
		if b.Balance() != 10 {
			t.Errorf("balance %v, 10 is all it holds", b.Balance())
		}
		if n := testing.AllocsPerRun(100, b.Success); n != 0 {
			t.Errorf("%v allocations per success", n)
		}
	})
}
