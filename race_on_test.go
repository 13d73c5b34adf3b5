//go:build race

package wherry

// RaceEnabled tells that the race detector is on, which allocates by itself and is slow.
const RaceEnabled = true
