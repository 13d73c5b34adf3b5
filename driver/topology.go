package driver

import "time"

// Topology says what Open may do about queues, streams, topics and bindings that it needs.
type Topology uint8

const (
	// Declare creates what is missing. It is the zero value.
	Declare Topology = iota
	// Verify creates nothing and fails in Open when something is missing or differs.
	Verify
	// External creates, alters and verifies nothing, and writes nothing beside the topic itself. What is missing may fail in
	// Open or later.
	External
)

// String returns "declare", "verify" or "external".
func (t Topology) String() string {
	switch t {
	case Declare:
		return "declare"
	case Verify:
		return "verify"
	case External:
		return "external"
	default:
		return "unknown topology"
	}
}

// Role says what a topic is for, where that changes how a broker must treat it.
type Role uint8

const (
	// Main is a topic that users publish to. Where the broker bounds it, a full one makes Send wait.
	Main Role = iota
	// DeadLetter collects what was given up. A full one never makes Send wait: it fails with [ErrFull].
	DeadLetter
	// Hold keeps records until they are due. A full one fails with [ErrFull], as dead letters do.
	Hold
)

// A Topic is a topic's declaration, as far as a broker needs to know it. The zero Topic is invalid: a topic has a name.
type Topic struct {
	Name string
	Role Role
	// Fanout topics give every group (and every broadcast reader) each record; others are queues.
	Fanout bool
	// Groups are the groups that a fan-out declares. A broker that keeps a queue per group creates these with the
	// topic, so that what is published before a group's first consumer is kept for it. Nil is allowed.
	Groups []string
	// Keyed topics carry a key in every record.
	Keyed bool
}

// A Target is where a sender sends.
type Target struct {
	Topic Topic
	// Group, when not empty, addresses one group of a fan-out alone: no other group and no broadcast reader sees the
	// record. The engine uses it for retries and redrives.
	Group    string
	Topology Topology
}

// A Source is what a receiver receives from.
type Source struct {
	// Topics has at least one topic. Several share one membership where the broker has such a thing.
	Topics []Topic
	// Group is the consuming group; empty for a queue or a broadcast.
	Group string
	// Prefetch is how many deliveries the engine will hold at once; a driver that grants credit grants no more. It is
	// at least 1.
	Prefetch int
	Topology Topology
	// From is where a broadcast begins. The zero value is now. Head and Time are not both set.
	From Position
	// Shards is the number of shards of a sequence where the broker needs them; 0 is the driver's default.
	Shards int
	// Name tells the consumer apart in the broker's own tools. It may be empty, and several may have the same.
	Name string
	// Manner is how it is opened, for a [Describer], which has the source alone to go by. Open goes by its own name.
	Manner Manner
}

// A Manner is how a source is received from.
type Manner uint8

const (
	// Competing is OpenQueue and OpenGroup. It is the zero value.
	Competing Manner = iota
	// Sequenced is OpenSequence and OpenGroupSequence.
	Sequenced
	// Broadcasting is OpenBroadcast.
	Broadcasting
	// Transacted is OpenTransacted.
	Transacted
)

// String returns "competing", "sequenced", "broadcasting" or "transacted".
func (m Manner) String() string {
	switch m {
	case Competing:
		return "competing"
	case Sequenced:
		return "sequenced"
	case Broadcasting:
		return "broadcasting"
	case Transacted:
		return "transacted"
	default:
		return "unknown manner"
	}
}

// A Position is a place in a topic's history. The zero Position is now.
type Position struct {
	Head bool      // the oldest record that the broker still has
	Time time.Time // the first record at or after it, when not zero; it may not have come yet
}
