// Package driver is the seam between the engine and a broker.
//
// A user's code talks to package wherry, wherry talks to this package, and a backend implements it. A backend imports
// this package and its client library, never package wherry. What a backend does not do is as important as what it does:
// it does not retry messages, count, time, or decide anything about a message. It carries records out, brings deliveries
// in, settles them, and says truthfully what happened.
//
// # Abilities
//
// What a broker can do is found in its method set, once, when something is constructed. Where the engine has a fallback,
// the ability is an optional interface ([Accepter], [Holder], [Extender], [Revoker], [Waiter], [Sharer], [Inspector],
// [ReceiverInspector], [Describer]). A [Declarer] is for what stands beside the engine. Where there is none, the ability is
// the type of a parameter ([Queuer], [Grouper], [Broadcaster], [Sequencer], [GroupSequencer], [Transactor]), so that a
// program that asks a broker for what it lacks does not compile. A backend therefore returns its concrete type from its
// constructors. Each ability is one small interface that never grows, and says what this kind of broker can do on its
// lowest supported server; a newer server changes only how. What a setting forbids fails in Open, with the setting's name
// in the error.
//
// # Words
//
// A [Record] goes out and a [Delivery] comes in. A [Settlement] is the answer to the broker and its [Verdict] the word in
// it. A tenure is the period for which a delivery belongs to its receiver: an assignment of a partition, a channel of a
// connection, a lease of a shard, a visibility period.
//
// # Concurrency and ownership
//
// Brokers and senders may be used by any number of goroutines. A receiver has one caller of Receive at a time, beside
// which Settle and Extend may be called by others. A delivery belongs to the engine from Receive until it is settled or
// its receiver is closed; the driver neither reads nor writes it in between, whatever the broker does meanwhile. A
// record's bytes belong to the driver until Send returns, and not a moment longer.
//
// The conformance suite for this contract is package drivertest, and docs/drivers.md goes through both, step by step, with a
// small driver that is whole. A driver of a log, which keeps one commit position instead of an answer for each delivery,
// tracks what is finished above it with package gap.
package driver
