//go:build unix

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// Ctrl-C ends a run at once, with what there was until then.
func TestInterrupt(t *testing.T) {
	for _, args := range [][]string{
		{"bench", "churn", "--duration", "1m", "--json"},
		{"bench", "connect", "--requests", "100000000", "--max-row-time", "1m", "--json"},
		{"demo", "--html=", "--json"},
		{"demo", "--html=", "--json", "--embedded"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var sent time.Time
			got := program(t, func(line string, p *os.Process) {
				if sent.IsZero() && (strings.HasPrefix(line, "close-surplus (") || strings.Contains(line, "reuse (")) {
					sent = time.Now()
					if err := p.Signal(os.Interrupt); err != nil {
						t.Error(err)
					}
				}
			}, nil, args...)
			if got.code != 3 || !strings.Contains(got.stderr, "evenkeel: interrupted") {
				t.Errorf("exit %d: %s", got.code, got.stderr)
			}
			if sent.IsZero() || time.Since(sent) > 5*time.Second {
				t.Errorf("ended %v after the signal", time.Since(sent))
			}
			var doc struct{ Interrupted bool }
			if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || !doc.Interrupted {
				t.Errorf("%v: %s", err, got.stdout)
			}
		})
	}
}
