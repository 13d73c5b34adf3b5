package driver

import (
	"errors"
	"fmt"
	"strings"
)

// The errors that a driver tells apart. They are matched with [errors.Is]; a driver wraps them with what it knows.
var (
	// ErrClosed is a use after Close. Of a Send it comes with ErrNotSent or ErrUnconfirmed.
	ErrClosed = errors.New("closed")
	// ErrNotSent is a record that certainly is not at the broker.
	ErrNotSent = errors.New("not sent")
	// ErrUnconfirmed is a record that may be at the broker.
	ErrUnconfirmed = errors.New("sent but not confirmed")
	// ErrRevoked is a delivery whose tenure ended before its settlement.
	ErrRevoked = errors.New("delivery revoked")
	// ErrFull is a dead-letter or hold topic that takes no more. Of a Send it comes with ErrNotSent.
	ErrFull = errors.New("full")
	// ErrTooLarge is a record over a limit. Of a Send it comes with ErrNotSent.
	ErrTooLarge = errors.New("too large")
	// ErrNoTopic is a topic, queue or group that does not exist and was not to be created.
	ErrNoTopic = errors.New("no such topic")
	// ErrDisconnected is a broker that is away for the moment.
	ErrDisconnected = errors.New("broker away")
)

// A BatchError says what became of each entry of a batch of which at least one failed.
type BatchError struct {
	// Errs has an entry per record, settlement or delivery of the call, in its order; nil is success.
	Errs []error
}

// Error names the number of failed entries and the first few of them.
func (e *BatchError) Error() string {
	const most = 3
	var b strings.Builder
	failed := 0
	for i, err := range e.Errs {
		if err == nil {
			continue
		}
		if failed < most {
			fmt.Fprintf(&b, "; %d: %v", i, err)
		}
		failed++
	}
	if failed > most {
		b.WriteString("; …")
	}
	return fmt.Sprintf("%d of %d failed%s", failed, len(e.Errs), b.String())
}

// Unwrap returns the failed entries, so that [errors.Is] finds what any of them matches.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, 0, len(e.Errs))
	for _, err := range e.Errs {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// EntryError returns what err, the result of a batch call, says of entry i: the entry of a [*BatchError], else err itself.
func EntryError(err error, i int) error {
	if err == nil {
		return nil
	}
	if be, ok := errors.AsType[*BatchError](err); ok && i < len(be.Errs) {
		return be.Errs[i]
	}
	return err
}
