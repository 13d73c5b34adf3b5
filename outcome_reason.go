package wherry

import (
	"errors"
	"fmt"

	"github.com/wherryhq/wherry/driver"
)

// A Reason is why a message is in the dead letters.
type Reason string

const (
	// ReasonRejected is a handler that returned [Reject].
	ReasonRejected Reason = "rejected"
	// ReasonExhausted is a message that failed as often as its retry policy allows.
	ReasonExhausted Reason = "exhausted"
	// ReasonUndecodable is a body that the topic's codec refused.
	ReasonUndecodable Reason = "undecodable"
	// ReasonTooLarge is a body or headers over the consumer's limit.
	ReasonTooLarge Reason = "too large"
	// ReasonAbandoned is a message that was delivered too often without an outcome: its handlers crashed, or their
	// processes.
	ReasonAbandoned Reason = "abandoned"
	// ReasonDeferred is a message that was deferred for too long in all.
	ReasonDeferred Reason = "deferred too long"
	// ReasonFollows is a message of a sequence that was not handled because an earlier one of its key failed for good, under
	// [FailAll].
	ReasonFollows Reason = "follows a failed one"
	// ReasonParked is the same under [Park]: it is handled once all that was set aside of its key is redriven.
	ReasonParked Reason = "parked"
)

// allReasons are those that there are.
var allReasons = []Reason{
	ReasonRejected, ReasonExhausted, ReasonUndecodable, ReasonTooLarge, ReasonAbandoned, ReasonDeferred, ReasonFollows, ReasonParked,
}

// refusal is why a delivery never reaches its handler; 0 is that it does.
type refusal uint8

const (
	refusedBody refusal = iota + 1
	refusedHeaders
	refusedAbandoned
	refusedEarly // it came before it was due, and waits on
)

var errAbandoned = errors.New("delivered too often without an outcome")

// refuse says why a delivery must not reach its handler.
func refuse(c *consumeSpec, d *driver.Delivery) refusal {
	switch {
	case len(d.Body) > c.bodyLimit:
		return refusedBody
	case len(d.Headers) > 0 && d.HeaderSize() > c.headerLimit:
		return refusedHeaders
	case d.Delivered > c.maxDelivered:
		return refusedAbandoned
	case d.Control.Hold != nil:
		return refusedEarly
	default:
		return 0
	}
}

// refused is the outcome of a delivery that never reached its handler.
func refused(c *consumeSpec, d *driver.Delivery, why refusal) Outcome {
	switch why {
	case refusedBody:
		return rejectFor(ReasonTooLarge, fmt.Errorf("%w: body of %d bytes, limit %d", ErrTooLarge, len(d.Body), c.bodyLimit))
	case refusedHeaders:
		return rejectFor(ReasonTooLarge,
			fmt.Errorf("%w: headers of %d bytes, limit %d", ErrTooLarge, d.HeaderSize(), c.headerLimit))
	case refusedAbandoned:
		return rejectFor(ReasonAbandoned, fmt.Errorf("%w: %d times, limit %d", errAbandoned, d.Delivered, c.maxDelivered))
	default:
		return Outcome{kind: kindHop}
	}
}

// kindHop is the outcome of a message that came before it was due: it waits on, uncounted. No handler can return it.
const kindHop OutcomeKind = 255

// reasonError is a reject whose reason the engine knows.
type reasonError struct {
	reason Reason
	err    error
}

func (e *reasonError) Error() string { return e.err.Error() }
func (e *reasonError) Unwrap() error { return e.err }

func rejectFor(why Reason, err error) Outcome { return Reject(&reasonError{reason: why, err: err}) }

// reasonOf is why a rejected message is in the dead letters. The engine's own rejects carry their reason outermost,
// where no handler can put one.
func reasonOf(err error) Reason {
	if re, ok := err.(*reasonError); ok { //nolint:errorlint // Only the outermost counts.
		return re.reason
	}
	return ReasonRejected
}
