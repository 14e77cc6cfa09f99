// Package record is what a run writes down: one line of JSON for the environment, then
// one for each slot measured, so that a run can be judged again later, by other rules
// or by other people.
//
// It never computes anything: medians, ratios and verdicts are made from the slots when
// they are wanted. A [Writer] is safe for concurrent use.
//
// Invariants: the first line of a file is its environment; a slot is complete when it
// is written, and an interrupted run leaves whole lines; times are in microseconds
// unless a metric's name says otherwise.
//
// Start reading at slot.go.
package record
