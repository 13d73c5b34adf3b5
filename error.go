package wherry

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/errtext"
)

// Errors that callers tell apart with [errors.Is].
var (
	// ErrNotSent is a publish whose message certainly is not at the broker.
	ErrNotSent = driver.ErrNotSent
	// ErrUnconfirmed is a publish whose message may be at the broker. Publishing it again under the same id is safe
	// for consumers that de-duplicate.
	ErrUnconfirmed = driver.ErrUnconfirmed
	// ErrClosed is a use after Close.
	ErrClosed = driver.ErrClosed
	// ErrTooLarge is a message over a limit.
	ErrTooLarge = driver.ErrTooLarge
	// ErrFull is a dead-letter or hold topic that takes no more.
	ErrFull = driver.ErrFull
	// ErrNoTopic is a topic, queue or group that does not exist and was not to be created.
	ErrNoTopic = driver.ErrNoTopic

	// ErrRevoked is the cause of a handler's context that ended because the broker gave the message to another.
	ErrRevoked = driver.ErrRevoked
	// ErrDraining is the cause of a handler's context that ended because the drain time was over.
	ErrDraining = errors.New("wherry: drain time is over")
	// ErrHandlerTimeout is the cause of a handler's context that ended because the handler took too long. It matches
	// [context.DeadlineExceeded].
	ErrHandlerTimeout error = timeoutError("wherry: handler timeout")
	// ErrReturned is the cause of a handler's context after the handler returned.
	ErrReturned = errors.New("wherry: handler returned")

	// ErrAlreadyRunning is a second Run of a consumer whose first has not returned.
	ErrAlreadyRunning = errors.New("already running")
	// ErrNoConsumer is a name that no consumer of a [Router] has.
	ErrNoConsumer = errors.New("no consumer has this name")
	// ErrStopping is an addition to a [Router] that is stopping.
	ErrStopping = errors.New("the router is stopping")
)

// An Error says which operation on which topic failed. It is made once, where the error leaves the package, and unwraps
// to what went wrong.
type Error struct {
	Op    string // "publish", "consume", "run", …
	Topic string // may be empty
	Err   error
}

// Error returns "wherry: op topic: err".
func (e *Error) Error() string {
	if e.Topic == "" {
		return fmt.Sprintf("wherry: %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("wherry: %s %s: %v", e.Op, e.Topic, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// mistakes are those of an operation, each an [Error] of its own where several were joined, so that every line says where it
// belongs.
func mistakes(op, topic string, err error) error {
	each := separate(err)
	for i, e := range each {
		each[i] = &Error{Op: op, Topic: topic, Err: e}
	}
	if len(each) == 1 {
		return each[0]
	}
	return errors.Join(each...)
}

// separate returns the errors of which err was joined, those that were joined of others in their place.
func separate(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, separate(e)...)
	}
	if texts := errors.Join(all...); texts == nil || texts.Error() != err.Error() {
		return []error{err} // it says more than those that it wraps
	}
	return all
}

// A DecodeError is a body that the topic's codec refused. The message goes to the dead letters without a handler call.
type DecodeError struct {
	ContentType string // what the message says of itself
	Size        int    // bytes of the body
	Err         error
}

// Error says what was refused, without any of the body.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("cannot decode %d bytes of %q: %v", e.Size, e.ContentType, e.Err)
}

// Unwrap returns the codec's error.
func (e *DecodeError) Unwrap() error { return e.Err }

// A PanicError is a handler that panicked. The message is retried.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine that panicked
}

// Error names the value, not the stack.
func (e *PanicError) Error() string {
	if err, ok := e.Value.(error); ok {
		return "handler panicked: " + errtext.Of(err)
	}
	return fmt.Sprintf("handler panicked: %v", e.Value)
}

// Unwrap returns the value when it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func newPanicError(v any) *PanicError { return &PanicError{Value: v, Stack: debug.Stack()} }

// permanentError marks an error that trying again cannot mend.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Permanent marks err as one that trying again cannot mend, so that [Func] rejects the message. It returns nil for nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err: err}
}

// IsPermanent reports whether err, or anything it wraps, was marked with [Permanent].
func IsPermanent(err error) bool {
	_, ok := errors.AsType[*permanentError](err)
	return ok
}

// A closedUnderError is a broker that was closed while a consumer ran on it.
type closedUnderError struct{ err error }

func (e *closedUnderError) Error() string {
	return "the broker was closed under it (close brokers after Run has returned): " + e.err.Error()
}

func (e *closedUnderError) Unwrap() error { return e.err }

// A loopCutError is a receiver that ended while a loop read from it.
type loopCutError struct{ err error }

func (e *loopCutError) Error() string {
	return "its receiver ended before the loop did (close brokers after the loop): " + e.err.Error()
}

func (e *loopCutError) Unwrap() error { return e.err }

// A timeoutError is a time limit of the engine's own that is over.
type timeoutError string

func (e timeoutError) Error() string { return string(e) }

// Is reports whether target is the error of a context that ended at its deadline.
func (e timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout is how package net tells time limits from other failures.
func (e timeoutError) Timeout() bool { return true }
