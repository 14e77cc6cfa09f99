package measure

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type fixedInfo map[string]string

func (f fixedInfo) Info(context.Context, string) (map[string]string, error) { return f, nil }

func TestAskServer(t *testing.T) {
	info := fixedInfo{
		"total_commands_processed": "1000", "total_connections_received": "12", "connected_clients": "3", "total_reads_processed": "100",
		"used_cpu_user": "1.500000", "used_cpu_sys": "0.250000",
	}
	got, err := AskServer(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	want := Server{CPU: 1750 * time.Millisecond, Commands: 1000, Reads: 100, Accepted: 12, Clients: 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name := range info {
		broken := maps.Clone(info)
		broken[name] = "many"
		if _, err := AskServer(t.Context(), broken); err == nil {
			t.Errorf("%s=many is no error", name)
		}
	}
}

func TestNowCountsWork(t *testing.T) {
	before := Now()
	var kept [][]byte
	for range 100 {
		kept = append(kept, make([]byte, 1000))
	}
	for CPU() == before.CPU {
		kept[0][0]++ // until the clock of the CPU has moved
	}
	after := Now()
	if n := after.Mallocs - before.Mallocs; n < 100 {
		t.Errorf("%d allocations counted, want at least 100", n)
	}
	if after.AllocBytes-before.AllocBytes < 100_000 || after.CPU <= before.CPU || !after.At.After(before.At) {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
