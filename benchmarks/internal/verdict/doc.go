// Package verdict says what a run shows: a table of medians for each case, ours against
// each other client round by round, and for each thing that must hold whether it does.
//
// It never mixes rounds: a ratio is that of two slots of one round and case, and only
// the median of these ratios is judged, by its 95 % interval. It never turns noise into
// a result: when the interval holds the bound, the verdict is "open".
//
// Invariants: slots that failed, or had wrong replies, take no part and are reported;
// a requirement without data is "no data", not left out.
//
// Start reading at requirement.go; judge.go applies one, table.go prints.
package verdict
