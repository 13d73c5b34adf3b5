package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// maxRecord is the most bytes of body, key and headers together.
const maxRecord = 1 << 20

var errEarlier = errors.New("an earlier record of its key failed")

// A sender sends to one queue.
type sender struct {
	b      *Broker
	topic  string
	closed bool // guarded by the lock of the server
}

// Limits say nothing of batches, since one call here costs what its records cost.
func (s *sender) Limits() driver.SendLimits { return driver.SendLimits{MaxRecord: maxRecord} }

// Send says of each record whether it is at the server.
func (s *sender) Send(ctx context.Context, batch []driver.Record) error {
	server := s.b.server
	server.mu.Lock()
	defer server.mu.Unlock()
	q := server.queues[s.topic]
	switch {
	case s.closed || s.b.closed:
		return notSent(s.b.over("sender"))
	case ctx.Err() != nil:
		return notSent(ctx.Err())
	case q == nil:
		return notSent(fmt.Errorf("example: queue %q: %w", s.topic, driver.ErrNoTopic))
	}
	var failed failures
	broken := map[string]bool{} // keys of which a record was not sent
	for i := range batch {
		r := &batch[i]
		switch key := string(r.Key); {
		case r.Size() > maxRecord:
			failed.add(len(batch), i, notSent(driver.ErrTooLarge))
			broken[key] = key != ""
		case broken[key]:
			failed.add(len(batch), i, notSent(errEarlier))
		default:
			server.put(q, encode(r))
		}
	}
	return failed.err()
}

// Close has nothing to flush.
func (s *sender) Close(context.Context) error {
	s.b.server.mu.Lock()
	defer s.b.server.mu.Unlock()
	s.closed = true
	return nil
}

// encode copies a record into what the server keeps, since its bytes are the engine's again after Send. What the server has no
// place for goes into headers under the reserved prefix.
func encode(r *driver.Record) *message {
	m := &message{key: bytes.Clone(r.Key), body: bytes.Clone(r.Body), headers: slices.Clone(r.Headers)}
	for _, h := range []driver.Header{
		{Key: driver.IDHeader, Value: r.ID.String()},
		{Key: driver.ContentTypeHeader, Value: r.ContentType},
		{Key: driver.ControlHeader, Value: string(r.Control.Append(nil))},
	} {
		if h.Value != "" {
			m.headers = append(m.headers, h)
		}
	}
	return m
}

// notSent marks the error of a record that certainly is not at the server.
func notSent(err error) error { return fmt.Errorf("%w: %w", err, driver.ErrNotSent) }

// failures are those of a batch, by entry. The zero value is none.
type failures struct{ errs []error }

func (f *failures) add(of, i int, err error) {
	if f.errs == nil {
		f.errs = make([]error, of)
	}
	f.errs[i] = err
}

// err has an entry for each of the batch, or is nil.
func (f *failures) err() error {
	if f.errs == nil {
		return nil
	}
	return &driver.BatchError{Errs: f.errs}
}
