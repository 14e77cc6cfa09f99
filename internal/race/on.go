//go:build race

package race

// Enabled reports whether this build has the race detector.
const Enabled = true
