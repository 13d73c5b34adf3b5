// Package load measures what package matrix names: how fast a backlog is drained, how fast messages go through when they
// are published and consumed at once, and how long one waits when they come at a rate.
//
// Each run is a process of its own, which [Child] is, so that none inherits the heap or the goroutines of another. [Run]
// starts them in turn and makes rows of what they say. Every run has a ledger; one that lost, repeated or reordered a
// message, or whose broker settled one before its handler said so, makes its row a failure without a number.
package load
