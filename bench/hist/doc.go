// Package hist is a histogram of durations for load generators: log-linear, in
// nanoseconds, without an upper end, and cheap enough to record every reply.
//
// Values below 256 ns have a bucket each; above, a power of two is cut into 128
// equal buckets, so that a bucket is never wider than 1/128 (0.8 %) of the values
// in it. The whole range of time.Duration is covered: nothing is clamped. Count,
// minimum, maximum and mean are exact, quantiles are exact to a bucket's width. A
// histogram takes 58 KiB, all at once, and recording allocates nothing.
//
// What the package never does: it takes no lock and corrects nothing. A histogram
// has one writer; each worker records into its own, and whoever reports merges
// them when the worker has let go of them. Corrections for a load generator that
// waited (coordinated omission) are the generator's business: it records the time
// from the intended start.
//
// Start reading at histogram.go; bucket.go says where a value belongs, json.go how a
// histogram is saved, log.go writes the HDR histogram log that other tools read.
package hist
