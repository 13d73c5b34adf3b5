// Package gap tracks what of a log is finished, for drivers of brokers that are logs: partitions of Kafka, streams, a log mode
// in process.
//
// # What is wrong with a log
//
// A queue settles each message by itself. A log has one number for a group and a partition, the commit position: everything
// below it is finished, everything from it on comes again after a restart. The engine handles messages side by side, finishes
// them in any order, and gives some back. So between the two stands a [Tracker], one for each partition that is assigned:
//
//	            commit                              next
//	               │                                  │
//	… ■ ■ ■ ■ ■ ■  □ ■ ■ ■ · ■ ■ □ □ ■ ■ ■ ■ ■ ■ ■ □  ▏
//	               │ └────┬────┘     └─────┬─────┘
//	               │   first run       second run         ■ finished  □ in hand or released  · not in the log
//	               └ the position that all waits for
//
// # The commit position never passes an unfinished one
//
// [Tracker.Commit] is the lowest position that is not finished. A commit above it would lose that message in a crash, in
// silence, since the broker has no other mark of it. What a slow message costs is that the number stands still.
//
// # What is finished above it is remembered
//
// Otherwise a crash behind one slow message would bring back all that was done since. [Tracker.AppendState] writes the finished
// positions above the commit position for the place that the broker keeps beside it: the metadata of an offset, a field of a
// cursor. [Tracker.Restore] reads them at the next assignment, and [Tracker.Receive] then reports false for each of them.
//
// Finished positions are kept as runs, since that is how they come: one stuck message with a million finished above it is one
// run, a few bytes. Positions that the log does not have, compacted records and marks of transactions, join the runs on both
// sides of them. Nothing is kept per message. To finish in order moves one number, to finish at either end of the window moves
// little, and nothing allocates once there is room for the runs.
//
// A state is worth what it says only for the log, the position and the version that it was written for. So it has a checksum
// over all of them. A state that is damaged, that another program wrote, that belongs to another position because somebody set
// the group back, or to another log of the same name, is refused, and all from the commit position on is handled again. In
// doubt a message is repeated, never lost.
//
// A log may also lose its end, as a partition does whose leader is elected out of those that were behind: other records get the
// positions that a state says are finished. So Restore is told where the log ends now, and refuses what is above. A log that has
// grown again since does not show it by its end. A driver that can tell otherwise, as by the leader's epoch beside a commit in
// Kafka, does not restore.
//
// # The window has a bound
//
// Brokers bound the place: some refuse the whole commit when the state is too large, and then nothing is committed any more.
// So the state is cut at the bound, at its far end, which costs repetition in a crash. Before it comes to that,
// [Tracker.Paused] is true: at three quarters of the bound, since what is in hand still finishes and may add to it. It is
// false again at half. [Config.MaxSpan] bounds the distance in the same way. While intake pauses, [Tracker.Waiting] says behind
// which position, and the driver reports that as its driver.Waiter: a window behind a stuck handler looks like an idle
// consumer, and is not.
//
// A pause always ends by what is in hand or released, never by what was not read yet. So a tracker that restored a large state
// first reads what the state is about: each position of that part which finishes closes a gap. It does so up to twice the bounds, so
// that a state which was made to say so cannot switch them off.
//
// # A log gives nothing back
//
// A released message stays in the log below the reader, and would come again only after a restart. So the driver keeps its
// delivery, and brings it again with a new token when [Tracker.Redeliver] names it, the lowest first: it is the one that the
// commit waits for. [Tracker.Release] leaves it unfinished until then.
//
// # What the driver does
//
//   - At an assignment: [New] with the committed position, Restore with what stood beside it, read on from [Tracker.Next].
//   - For each record of the log: Receive. Deliver it if that reports true.
//   - For each settlement: Done or Release, if the delivery's tenure still lives. The tracker does not know tenures.
//   - Before it fetches: nothing for a partition that is paused, but what Redeliver names.
//   - From time to time and at a revocation: commit Commit and AppendState, in one go, if something finished.
//   - When the assignment ends: drop the tracker and what was released. Another owner has the partition.
//
// A position is a number that grows along the log. A broker whose positions are two numbers, or that settles each message by
// itself, needs no tracker or a numbering of its own.
package gap
