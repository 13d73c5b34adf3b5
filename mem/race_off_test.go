//go:build !race

package mem_test

// raceEnabled tells that the race detector is on, which makes a test several times as long.
const raceEnabled = false
