//go:build race

package load

// messages are fewer where each is watched.
const messages = 5_000
