package driver

import (
	"context"
	"time"
)

// A Receiver brings deliveries. Receive has one caller at a time; Settle, Info and Close may be called beside it and beside
// each other, and so may Extend, but not beside Settle: these two take turns.
type Receiver interface {
	// Receive appends deliveries to dst, up to its capacity, and returns the extended slice. There is room for one at least,
	// and for no more than the prefetch leaves. It waits for the first and takes what else is there without waiting for more.
	// When ctx ends it returns within Info().StopWithin, with whatever it has and ctx's error. Where ctx has ended before, it
	// may bring what is there or leave it for the next call. Deliveries and an error may come together; the deliveries count.
	//
	// An error that matches [ErrClosed] is final. After any other the engine waits a while and calls again: the driver
	// reconnects and declares its topology anew in the meantime, or in the next call. While the broker is away a receiver says
	// so, or its consumer is ready all the same: either Receive fails, and again in each call, or it waits and the receiver
	// is a [Waiter] that says so. Nothing is fetched and no credit is granted before the first Receive.
	Receive(ctx context.Context, dst []*Delivery) ([]*Delivery, error)

	// Settle answers for deliveries of this receiver. Nil means that the answers were given to the broker as surely as
	// its protocol tells cheaply; a lost Done may bring a duplicate, never a loss. Otherwise it returns a [*BatchError]
	// with an entry per settlement, or one error for all: an entry that matches [ErrRevoked] concerns a delivery whose
	// tenure ended, and never reached the broker; any other failed entry may be tried again. One bad entry does not
	// take its neighbours with it. The engine ends ctx after 10 s.
	//
	// A delivery is settled once; a settled one belongs to the driver again. What a second settlement of it returns is the
	// driver's to say: it is refused or does nothing, and touches no other delivery, though it be in the same memory. After
	// Close of the receiver or the broker it is ErrRevoked or ErrClosed.
	Settle(ctx context.Context, batch []Settlement) error

	// Info is constant for the life of the receiver.
	Info() Info

	// Close gives back what is unsettled and ends the receiver. It may be called beside Receive, which then returns
	// [ErrClosed], and more than once. The memory of an unsettled delivery is not reused: its handler may still read it.
	Close(ctx context.Context) error
}

// Info says how a receiver wants to be driven. Its zero value is a receiver without batches, leases or counts.
type Info struct {
	// SettleBatch is the number of settlements that pays; 0 is 1.
	SettleBatch int
	// SettleLinger is the longest that a settlement may wait for others; 0 is 1 ms.
	SettleLinger time.Duration
	// StopWithin is how long Receive may take to return after its context ended; 0 is at once. That late a consumer stops, and
	// a batch that is not full is handled: keep it well below a second. The engine does not wait for it apart: a stop whose
	// drain and grace are over closes the receiver beside its Receive. The conformance suite holds the driver to it.
	StopWithin time.Duration
	// Lease is how long a delivery stays with its receiver without an Extend; 0 is for ever.
	Lease time.Duration
	// MaxDelay is the longest Delay of a Release that the broker takes; 0 is that it takes none.
	MaxDelay time.Duration
	// DelayGrain is the unit that delays are rounded up to; 0 is none.
	DelayGrain time.Duration
	// HasCount tells that deliveries carry the broker's count in Delivered.
	HasCount bool
	// Volatile brokers forget at exit what they hold, so that a stopping consumer empties them first. For that they are an
	// [Inspector] that knows all of its numbers; else nobody can tell whether they are empty, and every stop says so.
	Volatile bool
}

// A Verdict is what a settlement says. The zero Verdict releases.
type Verdict uint8

const (
	// Release gives the delivery back, to come again after the settlement's Delay. It is not a failure.
	Release Verdict = iota
	// Done ends the delivery for good.
	Done
)

// String returns "release" or "done".
func (v Verdict) String() string {
	switch v {
	case Release:
		return "release"
	case Done:
		return "done"
	default:
		return "unknown verdict"
	}
}

// A Settlement answers for one delivery. The zero Verdict releases it at once.
type Settlement struct {
	Delivery *Delivery
	Verdict  Verdict
	// Delay applies to a Release where Info().MaxDelay allows it, and is never longer than that. It is rounded up.
	Delay time.Duration
}

// An Extender is a [Receiver] with leases.
type Extender interface {
	// Extend renews the lease of each delivery for Info().Lease from now. Entries of its [*BatchError] answer per
	// delivery; [ErrRevoked] is a lease that was lost. After Close it is ErrRevoked or ErrClosed. It has one caller at a time,
	// a third of the lease apart, and is never called beside Settle. The engine ends ctx after 10 s.
	Extend(ctx context.Context, batch []*Delivery) error
}

// A Revoker is a [Receiver] whose tenures can end while it lives.
type Revoker interface {
	// Revocations is closed by Close. The engine reads it always. A revocation's tenure may still bring deliveries
	// after it was sent, which the engine drops.
	Revocations() <-chan Revocation
}

// A Revocation tells that a tenure ends. One that is ending may be told again, as lost before its time; Done of each is called.
type Revocation struct {
	Tenure uint64
	// Until is when settlements of the tenure stop being applied; afterwards they are [ErrRevoked].
	Until time.Time
	// Lost tells that it already ended: nothing of it can be settled any more.
	Lost bool
	// Done is called once, when the engine holds nothing of the tenure any more. It may be nil. It does not block and calls
	// nothing of the engine, which may hold a lock meanwhile.
	Done func()
}

// A Waiter is a [Receiver] that knows why it brings nothing.
type Waiter interface {
	// Waiting returns the reason in a few words ("paused", "rebalancing", "broker away"), or "" when it only waits for
	// records. The text of [ErrDisconnected], exactly, says that the broker does not answer; the consumer is not ready
	// meanwhile. Any other text, and "", says that it does. It may be called at any time, also before the first Receive and
	// after Close, and does not block.
	Waiting() string
}

// A Sharer is a [Receiver] whose untouched deliveries another receiver of the process could use at once.
type Sharer interface {
	// Wanted carries a value when another receiver has been idle for a moment while this one holds deliveries that
	// may be untouched. The engine answers by releasing what no handler has touched. In a sequence a release gives work
	// to another only where nothing of the key stays in hand. It may be closed by Close, or never be.
	Wanted() <-chan struct{}
}

// A ReceiverInspector is a [Receiver] that can say how much waits for itself, where others of its source may have what it never
// gets: other broadcast readers, those that own keys, and those that have partitions.
type ReceiverInspector interface {
	// Depth reports on what this receiver could be given as things are: not what waits for another reader, behind a key that
	// another owns, or in a partition that another has. InFlight is what it has in hand itself. It is like that of [Inspector]
	// in all else, and after Close an error. One that matches [errors.ErrUnsupported] says that it never knows.
	Depth(ctx context.Context) (Depth, error)
}
