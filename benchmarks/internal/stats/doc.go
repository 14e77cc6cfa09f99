// Package stats holds the few statistics by which clients are compared: the median,
// the order-statistic interval of a median, and a histogram of latencies.
//
// It never assumes a distribution: rounds on a shared machine are skewed and have
// outliers, so there are no means and no standard deviations here. Nothing in it is
// safe for concurrent use; each worker has a [Histogram] of its own, merged when the
// workers are done.
//
// Invariants: no function changes its argument; an interval that cannot have the
// confidence asked for is said to be missing, never made up.
//
// Start reading at interval.go.
package stats
