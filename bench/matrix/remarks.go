package matrix

import "slices"

// What rows say of themselves, where their cells do not say it.
const (
	remarkHarness     = "what the benchmark adds to an empty loop: a number written, read and noted for each message"
	remarkChannel     = "a channel of values of a delivery's size; the producer copies a body in, the receiver copies it out"
	remarkBare        = "a floor: no copy, no number, no acknowledgement; messages are counted and not told apart"
	remarkPublishers  = "the consumers are goroutines that publish; one handler looks afterwards at what arrived"
	remarkLast        = "the first batch of each consumer and as many messages at the end are judged and not timed: the last may wait for its age"
	remarkTrip        = "each receive and each settlement is made to take longer, as by a round trip"
	remarkBroadcast   = "consumers are readers, each of which gets every message: the rate is that of all together; they are open, and paused, while the corpus is published"
	remarkPoisoned    = "every message of one key fails, after 10 ms again and then for a minute, and its key blocks; the rate is that of the other keys, and after the window the key is mended and its messages are handled"
	remarkTransaction = "a transaction has as many messages as a batch, each with a handler call of its own; the commit of the last is not timed"
	remarkDead        = "the dead letters are messages that a handler rejected before"
)

// remark adds to what the row of the spec says.
func (s *Spec) remark(text string) { s.Notes = append(slices.Clip(s.Notes), text) }
