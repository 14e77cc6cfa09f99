//go:build !race

package evenkeel_test

const raceEnabled = false
