package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/evenkeel-go/evenkeel/bench/raw"
)

// runMetrics shows Prometheus a run while it goes on: what was counted since it began, its
// warm-up left out, and the quantiles of the last interval, which no sum over the whole run
// would show.
type runMetrics struct {
	mu       sync.Mutex
	requests map[[2]string]float64 // by command and outcome
	errors   map[string]float64    // by code
	failures map[string]float64    // of conns, by cause
	open     float64
	overdue  float64
	response map[float64]float64 // seconds by quantile, of the last interval
}

func newRunMetrics() *runMetrics {
	return &runMetrics{requests: map[[2]string]float64{}, errors: map[string]float64{}, failures: map[string]float64{}, response: map[float64]float64{}}
}

var shownQuantiles = [...]float64{0.5, 0.9, 0.99, 0.999, 1}

// observe takes an interval.
func (m *runMetrics) observe(i *raw.Interval) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open, m.overdue = float64(i.Open), float64(i.Backlog)
	clear(m.response)
	if i.OK() > 0 {
		times := i.Times()
		for _, q := range shownQuantiles {
			m.response[q] = times.Quantile(q).Seconds()
		}
	}
	if i.Warmup {
		return
	}
	for n := range i.Classes {
		c := &i.Classes[n]
		m.requests[[2]string{c.Class.Name, "ok"}] += float64(c.OK)
		m.requests[[2]string{c.Class.Name, "failed"}] += float64(c.Errors)
	}
	for code, n := range i.Errors {
		m.errors[code] += float64(n)
	}
	for cause, n := range i.Failures {
		m.failures[cause] += float64(n)
	}
}

var (
	requestsDesc = prometheus.NewDesc("evenkeel_bench_requests_total", "Requests of the measured part, by command and outcome.", []string{"command", "outcome"}, nil)
	errorsDesc   = prometheus.NewDesc("evenkeel_bench_errors_total", "Failed requests of the measured part, by code.", []string{"code"}, nil)
	failuresDesc = prometheus.NewDesc("evenkeel_bench_conn_failures_total", "Connections lost or not opened in the measured part, by cause.", []string{"cause"}, nil)
	openDesc     = prometheus.NewDesc("evenkeel_bench_connections", "Open connections.", nil, nil)
	overdueDesc  = prometheus.NewDesc("evenkeel_bench_overdue_requests", "Requests that were due and not sent, in open loop.", nil, nil)
	responseDesc = prometheus.NewDesc("evenkeel_bench_interval_latency_seconds",
		"Latency in the last interval: of the response in open loop, of the service in closed loop.", []string{"q"}, nil)
)

// Describe implements prometheus.Collector.
func (m *runMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{requestsDesc, errorsDesc, failuresDesc, openDesc, overdueDesc, responseDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *runMetrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for labels, n := range m.requests {
		out <- prometheus.MustNewConstMetric(requestsDesc, prometheus.CounterValue, n, labels[:]...)
	}
	for code, n := range m.errors {
		out <- prometheus.MustNewConstMetric(errorsDesc, prometheus.CounterValue, n, code)
	}
	for cause, n := range m.failures {
		out <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, n, cause)
	}
	out <- prometheus.MustNewConstMetric(openDesc, prometheus.GaugeValue, m.open)
	out <- prometheus.MustNewConstMetric(overdueDesc, prometheus.GaugeValue, m.overdue)
	for q, s := range m.response {
		out <- prometheus.MustNewConstMetric(responseDesc, prometheus.GaugeValue, s, fmt.Sprint(q))
	}
}

// serve answers /metrics at an address until stop is called.
func (m *runMetrics) serve(ctx context.Context, address string) (where string, stop func(), err error) {
	// Without a host only this machine can ask.
	if host, port, err := net.SplitHostPort(address); err == nil && host == "" {
		address = net.JoinHostPort(defaultHost, port)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("--metrics: %w; give an address such as 127.0.0.1:9099", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			_ = l.Close() // nobody can scrape it any more; the run goes on
		}
	}()
	return l.Addr().String(), func() { _ = server.Close(); <-ended }, nil
}
