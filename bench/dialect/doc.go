// Package dialect speaks as other load generators do: it writes what a run measured in
// the forms that redis-benchmark prints, so that scripts which read those go on working.
//
// It measures nothing and opens no connection. Where redis-benchmark rounds latencies to
// steps of 8 µs and clamps them at 3 s, the figures here are those of the histogram: the
// shape of the output is the same, the numbers are finer.
//
// Start reading at redis.go.
package dialect
