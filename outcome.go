package wherry

import (
	"fmt"
	"time"

	"github.com/wherryhq/wherry/internal/errtext"
)

// An Outcome is a handler's word on a message. The zero Outcome is a retry without an error, so that a forgotten return
// value never loses a message.
type Outcome struct {
	err   error
	delay time.Duration
	kind  OutcomeKind
	exact bool // delay was given by the handler
}

// OutcomeKind is what an [Outcome] asks for.
type OutcomeKind uint8

const (
	// KindRetry counts a failed attempt and brings the message again by the retry policy. It is the zero value.
	KindRetry OutcomeKind = iota
	// KindAck ends the message.
	KindAck
	// KindDefer brings the message again later without counting an attempt.
	KindDefer
	// KindReject sends the message to the dead letters.
	KindReject
)

// String returns "retry", "ack", "defer" or "reject".
func (k OutcomeKind) String() string {
	switch k {
	case KindRetry:
		return "retry"
	case KindAck:
		return "ack"
	case KindDefer:
		return "defer"
	case KindReject:
		return "reject"
	default:
		return fmt.Sprintf("OutcomeKind(%d)", uint8(k))
	}
}

// Ack says that the message is done.
func Ack() Outcome { return Outcome{kind: KindAck} }

// Retry says that handling failed and should be tried again. It counts as an attempt; the retry policy decides when the
// next one is, and when it was the last. A nil err is allowed.
func Retry(err error) Outcome { return Outcome{kind: KindRetry, err: err} }

// RetryAfter is [Retry] with a delay of its own instead of the policy's, without jitter and never shorter than d. A
// negative d is zero. The number of attempts stays bounded by the policy.
func RetryAfter(d time.Duration, err error) Outcome {
	return Outcome{kind: KindRetry, err: err, delay: max(d, 0), exact: true}
}

// Defer says that the message cannot be handled yet, without having failed: it comes again after d, never earlier, with
// the same attempt number. A d of less than 100 ms is 100 ms, so that a message which is never ready leaves time for
// others. A defer that would make it more than 24 hours in all, be it the first, sends the message to the dead letters at once.
func Defer(d time.Duration) Outcome { return Outcome{kind: KindDefer, delay: max(d, 0)} }

// Reject says that trying again is pointless: the message goes to the dead letters at once, with err as its reason. A
// nil err is allowed.
func Reject(err error) Outcome { return Outcome{kind: KindReject, err: err} }

// Kind returns what o asks for.
func (o Outcome) Kind() OutcomeKind { return o.kind }

// Err returns the error of a retry or a reject, nil where there is none.
func (o Outcome) Err() error { return o.err }

// Delay returns the delay of [RetryAfter] or [Defer], and whether o carries one.
func (o Outcome) Delay() (time.Duration, bool) { return o.delay, o.exact || o.kind == KindDefer }

// String returns the kind with its delay and error, for logs.
func (o Outcome) String() string {
	s := o.kind.String()
	if d, ok := o.Delay(); ok {
		s += " after " + d.String()
	}
	if o.err != nil {
		s += ": " + errtext.Of(o.err)
	}
	return s
}
