package mem

import (
	"fmt"

	"github.com/wherryhq/wherry/driver"
)

// What a call found closed. All of them match [driver.ErrClosed].
var (
	errBrokerClosed   = fmt.Errorf("mem: broker %w", driver.ErrClosed)
	errSenderClosed   = fmt.Errorf("mem: sender %w", driver.ErrClosed)
	errReceiverClosed = fmt.Errorf("mem: receiver %w", driver.ErrClosed)
)

// over says what was closed of a sender that is.
func (s *sender) over() error {
	if s.b.closed.Load() {
		return errBrokerClosed
	}
	return errSenderClosed
}

// over says what was closed of a receiver that is.
func (r *receiver) over() error {
	if r.b.closed.Load() {
		return errBrokerClosed
	}
	return errReceiverClosed
}
