package driver

import (
	"context"
	"time"
)

// A Broker is a connection to a message system, ready for use: its constructor has dialled, authenticated and probed.
// All methods may be called concurrently. It belongs to whoever dialled it; the engine never closes it.
type Broker interface {
	// OpenSender prepares to send to one target, declaring or verifying what it needs by the target's topology.
	// Every sender is closed by its opener. The context bounds the opening only: what was opened works after it has ended.
	// A target that the broker has no place for is refused and not read as another: a Group of a topic that is no fan-out, and
	// a fan-out where no method of the broker receives from one.
	OpenSender(ctx context.Context, t Target) (Sender, error)

	// Close ends the connection and everything opened from it. It may be called more than once, from any goroutine;
	// all calls but the first wait for the first and return nil. Afterwards every other call returns [ErrClosed].
	Close(ctx context.Context) error
}

// A Queuer delivers each record of a topic to one of its consumers.
type Queuer interface {
	Broker
	// OpenQueue opens one competing consumer. The source's Group is empty, and its topics are no fan-outs; one that is
	// otherwise is refused, as in every method that opens. The context bounds the opening only.
	OpenQueue(ctx context.Context, s Source) (Receiver, error)
}

// A Grouper delivers each record of a fan-out topic to one member of each group.
type Grouper interface {
	Broker
	// OpenGroup opens one member of the source's Group, which is not empty. It reads the topics of the source, which are
	// fan-outs, and whatever was sent to that group alone (see [Target.Group]). A group that the topics do not name begins
	// with its first member, where the topology lets it. The context bounds the opening only.
	OpenGroup(ctx context.Context, s Source) (Receiver, error)
}

// A Broadcaster delivers each record of a fan-out topic to every reader.
type Broadcaster interface {
	Broker
	// OpenBroadcast opens a reader at the source's From. "Now" is fixed before it returns: what is sent afterwards is
	// seen, however late the first Receive comes. A broker without the history that From asks for returns an error that
	// matches [errors.ErrUnsupported]. A reader that does not receive keeps neither senders nor other readers waiting;
	// what it may lose by that is the broker's to say. It ends with Close and leaves nothing at the broker. The source's Group
	// is empty, and its topics are fan-outs. The context bounds the opening only.
	OpenBroadcast(ctx context.Context, s Source) (Receiver, error)
}

// A Sequencer is a [Queuer] whose receivers can own keys: all unsettled deliveries of a key are at one receiver, in
// publish order, and none of a key is handed to another receiver before its earlier ones are settled or their tenure
// ended. A tenure given up as a whole re-enters in publish order.
//
// Nothing is promised of the order in which single deliveries come again that were released while later ones of their key
// were in hand or waited. Records without a key have no order among each other, and may be at any receiver. Whether a queue
// may have receivers of OpenQueue and of OpenSequence at once is the broker's to say; one that may not refuses the later one
// in Open.
type Sequencer interface {
	Broker
	// OpenSequence opens a receiver that owns keys. The source's Group is empty. The context bounds the opening only.
	OpenSequence(ctx context.Context, s Source) (Receiver, error)
}

// A GroupSequencer is to a [Grouper] what a [Sequencer] is to a [Queuer].
type GroupSequencer interface {
	Broker
	// OpenGroupSequence opens a member of the source's Group that owns keys. The context bounds the opening only.
	OpenGroupSequence(ctx context.Context, s Source) (Receiver, error)
}

// An Inspector can say how much waits. Its answer is a snapshot and may be late.
type Inspector interface {
	// Depth reports on what the source's consumers would receive: those of its group and no other. Fields that the broker does
	// not know are -1. It may be called concurrently, and beside everything else. The engine asks about once a second for each
	// consumer and ends ctx after a second.
	Depth(ctx context.Context, s Source) (Depth, error)
}

// Depth is a snapshot of a source.
type Depth struct {
	Ready    int64     // waiting to be received; -1 unknown
	Held     int64     // delayed, not yet ready; -1 unknown
	InFlight int64     // received and not settled, by anybody; -1 unknown
	Oldest   time.Time // when the oldest ready record was first published; zero unknown, or none is ready
}

// A Declarer makes a topic, its groups and their companions exist, or checks that they do, without opening anything.
// It is idempotent and may be called concurrently. The engine does not ask for it, since whatever it opens declares what it
// needs: it is for what prepares a broker before a service starts, as a deployment or a test does, and a broker may lack it.
type Declarer interface {
	// Declare does for t, and for its groups, what an opening would: it creates what is missing under [Declare], fails with
	// [ErrNoTopic] under [Verify], and does nothing to the broker under [External].
	Declare(ctx context.Context, t Topic, mode Topology) error
}
