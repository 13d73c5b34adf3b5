//go:build !race

package load

// messages are those of a run with a fault in one of them.
const messages = 100_000
