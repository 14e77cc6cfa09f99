package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/hist"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
)

func TestMetrics(t *testing.T) {
	m := newRunMetrics()
	where, stop, err := m.serve(t.Context(), ":0")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(where, "127.0.0.1:") {
		t.Errorf("without a host it listens at %s", where)
	}
	get := func() string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+where+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DisableKeepAlives: true}
		reply, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reply.Body)
		if err != nil || reply.StatusCode != http.StatusOK {
			t.Fatalf("%d, %v: %s", reply.StatusCode, err, text)
		}
		_ = reply.Body.Close()
		return string(text)
	}
	interval := func(ok, failed int64, warmup bool) {
		h := hist.New()
		h.RecordN(2*time.Millisecond, ok)
		m.observe(&raw.Interval{
			Counts: raw.Counts{
				Classes: []raw.ClassResult{{Class: workload.Class{Name: "GET"}, OK: ok, Errors: failed, Service: h}},
				Errors:  map[string]int64{"OOM": failed}, Failures: map[string]int64{"dial: refused": 1},
			},
			Open: 7, Backlog: 3, Warmup: warmup,
		})
	}
	if text := get(); !strings.Contains(text, "evenkeel_bench_connections 0") || strings.Contains(text, "_seconds{") {
		t.Errorf("before the first interval:\n%s", text)
	}
	interval(1000, 0, true)
	interval(10, 2, false)
	interval(20, 1, false)
	text := get()
	for _, want := range []string{
		`evenkeel_bench_requests_total{command="GET",outcome="ok"} 30`, `evenkeel_bench_requests_total{command="GET",outcome="failed"} 3`,
		`evenkeel_bench_errors_total{code="OOM"} 3`, `evenkeel_bench_conn_failures_total{cause="dial: refused"} 2`,
		`evenkeel_bench_connections 7`, `evenkeel_bench_overdue_requests 3`, `evenkeel_bench_interval_latency_seconds{q="0.99"} 0.002`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	if _, _, err := m.serve(t.Context(), where); err == nil || !strings.Contains(err.Error(), "--metrics") {
		t.Errorf("at an address in use: %v", err)
	}
	stop()
}
