// Command benchmarks measures Evenkeel side by side with the other Go clients, in one
// run on one private server, and says what holds of what it promises.
//
//	go run . all                 # everything, about a quarter of an hour
//	go run . closed -callers 64  # one experiment, one number of callers
//	go run . report FILE         # judge a run again
//
// It never listens on, and never connects to, anything but loopback, and never touches a
// server that it did not start. README.md says how to read the tables; in the code,
// start at internal/experiment, which measures, and internal/verdict, which judges.
package main
