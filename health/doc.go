// Package health serves the health of consumers over HTTP, for what starts, stops and routes to a process.
//
//	checks := health.Of(billing, shipping)
//	mux.Handle("/live", checks.Live())
//	mux.Handle("/ready", checks.Ready())
//
// A process is ready when each of its consumers is fit for traffic: not before it receives, not while its broker is away,
// not when it makes no progress although work waits, and not from the moment it drains. It is live as long as it answers;
// that a stall ends this too is an option, for what a restart can mend.
//
// [Set.Replicas] is for what decides how many processes there are.
//
// Answers are JSON with the state of each consumer and its cause in words: topics, message ids and reasons for pauses, no
// payload, no stack, and no text of an error unless asked for. Stacks and errors are in the consumer's events.
package health
