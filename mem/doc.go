// Package mem is the broker inside the process: queues and groups over rings in memory. It is the reference for every
// ability of package driver, the broker for tests, and the fastest one.
//
//	b := mem.New(mem.Config{})
//	defer b.Close(ctx)
//
// # Delivery
//
// A queue topic has one queue; a fan-out has one for each group. A record is copied in by Send, which returns when the
// record is in every queue that it goes to, all of them or none. A receiver takes from the front, in publish order.
// What is released goes back to its place in that order, and what a receiver held when it closed, lost its tenure or let
// its lease end does too, with its count raised. A delivery that was lost in this way is never handed out again under the
// same pointer and its memory is not used again, so a handler that still reads it reads what it was given.
//
// [Broker.OpenSequence] and [Broker.OpenGroupSequence] open receivers that own keys: all of a key that is in hand is at one of
// them, in publish order. [Broker.OpenBroadcast] opens a reader that gets all that is sent to a fan-out while it is open.
//
// # Limits
//
// What is ready counts against [Config.MaxMessages] and [Config.MaxBytes]; what is in flight does not, since receivers
// bound it themselves. Send waits while its queue is full. Records that wait for a due time are counted apart, against
// the same bounds, and enter their queue when due even if it is full; what is above the bound then counts as waiting.
// Releases never wait and are never refused. So a queue keeps at most twice its bound and what was in flight. A broadcast
// reader that is too slow does not make Send wait: it loses its oldest records.
//
// The memory of settled records is used for the next ones: each queue keeps up to 16,384 free ones, their buffers of more
// than 1 KiB up to 4 MiB in all. Of a key nothing is kept once all its records are settled, and when none of any key is left, a
// queue whose receivers own keys keeps 1,024 free records.
//
// # What a crash does
//
// Everything is lost with the process. Receivers say so ([driver.Info] Volatile).
//
// # A log
//
// [NewLog] makes another kind of broker: a log with partitions and history, in which a group has commit positions. It proves what
// drivers of logs do, and is for tests of what will run on one.
//
// # Faults
//
// [Broker.Faults] makes a broker misbehave while it runs, and [Config.Weak] makes it as weak as some of the others are.
// Both exist for tests.
//
// # Goroutines and time
//
// The package starts no goroutine. Timers belong to a queue, are made when first needed and stopped by Close, so a broker
// that is made, used and closed inside a testing/synctest bubble behaves there as outside.
package mem
