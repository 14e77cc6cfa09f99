// Package pools sets up our pool and others over things that cost nothing, so that what
// is left to measure is the pool itself: taking a thing out and putting it back.
//
// It never dials and never measures. Two of the pools are sketches, a channel and a
// mutex with strict hand-over; they do nothing a pool must do beyond that (no limits,
// no lifetimes, no statistics), and stand for what the language itself costs.
//
// Invariants: every pool holds exactly Size things, all made before it is handed out;
// a thing is out with one goroutine at a time.
//
// Start reading at spec.go.
package pools
