package driver

import (
	"context"
	"time"
)

// A Sender sends to one target. All methods may be called concurrently.
type Sender interface {
	// Send returns nil when the broker has every record of the batch, confirmed as surely as the broker confirms.
	// Otherwise it returns a [*BatchError] with one entry per record, or one error for all of them. An error matches
	// [ErrNotSent] where the record certainly is not at the broker, and [ErrUnconfirmed] where it may be. Records are
	// accepted in order: of two records of a key, the later is not sent after the earlier failed. An error that matches neither
	// is taken for ErrUnconfirmed.
	//
	// Send waits while the broker is full or away, until ctx ends. One that is away may also be ErrDisconnected and ErrNotSent at
	// once, and the engine asks again, under the same ids, until ctx ends. The batch and its bytes belong to the driver until
	// Send returns, which after a cancel is when the client library has let go of them. It does not keep them.
	Send(ctx context.Context, batch []Record) error

	// Limits is constant for the life of the sender.
	Limits() SendLimits

	// Close flushes what Send accepted and ends the sender. It does not wait out lingers. It may be called more than
	// once; a Send that begins afterwards returns [ErrClosed] with [ErrNotSent], one that is waiting is woken with it at once,
	// and says beside which of the two became of its record.
	Close(ctx context.Context) error
}

// SendLimits says how a sender wants to be used.
type SendLimits struct {
	// Batch is the number of records that pays: the engine joins concurrent publishes up to it. 0 or 1 means that a
	// batch gains nothing and every publish is sent as it comes.
	Batch int
	// MaxBatch and MaxBytes bound one call; 0 is no bound. A call's bytes are bodies, keys and headers together.
	MaxBatch int
	MaxBytes int
	// MaxRecord is the most bytes of one record (body, key, headers); 0 is no bound. A larger record is
	// [ErrTooLarge], before it reaches the wire.
	MaxRecord int
	// Overlap is how many calls may usefully be in flight together; 0 is 1.
	Overlap int
}

// An Accepter is a [Sender] that may take a record at once, without leaving the process: that saves a context, and a copy
// of the body or its encoding. Both methods may be called concurrently, and after Close, where they accept nothing.
type Accepter interface {
	// Accept is a Send of one record where that succeeds without waiting for anything, and reports whether it did. Where
	// it did not it has done nothing, for whatever reason, and the caller sends the record. The body is the driver's once
	// it is accepted: r.Body is then another buffer of length zero, or nil, which is the caller's. The rest of r is as in
	// Send.
	Accept(r *Record) bool
	// AcceptCopy is Accept for a record of nothing but a body, of which it keeps a copy: body stays the caller's. The driver
	// gives it an id of two numbers, which no other record has.
	AcceptCopy(body []byte, contentType string, published Stamp) bool
}

// A Holder is a [Sender] whose broker can delay a record.
type Holder interface {
	// SendAt is Send, with its limits, for records that become visible at their Due, never earlier. It fails with [ErrFull] rather than
	// wait when the broker can hold no more. A record whose Due is past or zero is visible at once.
	SendAt(ctx context.Context, batch []Record) error
	// MaxHold is the longest delay that the broker takes; the engine hops past it. 0 is no bound.
	MaxHold() time.Duration
}
