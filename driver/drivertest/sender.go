package drivertest

import (
	"context"
	"errors"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A sender is a driver.Sender under observation: the records that go through it are the driver's until Send returns,
// must be unchanged then, and are overwritten at once.
type sender struct {
	t      *T
	s      driver.Sender
	limits driver.SendLimits
}

func watchSender(t *T, s driver.Sender) *sender {
	w := &sender{t: t, s: s, limits: s.Limits()}
	t.Cleanup(w.close)
	return w
}

func (s *sender) close() { s.t.closing("Sender.Close", s.s.Close) }

// send sends records in as few calls as the limits allow; each must be confirmed.
func (s *sender) send(records ...driver.Record) {
	for _, part := range s.parts(records) {
		ctx, cancel := context.WithTimeout(context.Background(), s.t.h.Wait)
		err := s.try(ctx, part...)
		cancel()
		if err != nil {
			s.t.Fatalf("Send of %d records: %v", len(part), err)
		}
	}
}

// parts cuts records into calls that the limits allow.
func (s *sender) parts(records []driver.Record) [][]driver.Record {
	var parts [][]driver.Record
	for len(records) > 0 {
		n, size := 0, 0
		for n < len(records) {
			size += records[n].Size()
			over := s.limits.MaxBytes > 0 && size > s.limits.MaxBytes || s.limits.MaxBatch > 0 && n == s.limits.MaxBatch
			if n > 0 && over {
				break
			}
			n++
		}
		parts = append(parts, records[:n])
		records = records[n:]
	}
	return parts
}

// try sends records in one call and returns its error.
func (s *sender) try(ctx context.Context, records ...driver.Record) error {
	return s.call(ctx, "Send", records, s.s.Send)
}

// tryAt is try with SendAt.
func (s *sender) tryAt(ctx context.Context, records ...driver.Record) error {
	return s.call(ctx, "SendAt", records, func(ctx context.Context, batch []driver.Record) error {
		h, ok := s.s.(driver.Holder)
		if !ok {
			s.t.Errorf("a sender of this broker is no Holder, though another was")
			return errors.ErrUnsupported
		}
		return h.SendAt(ctx, batch)
	})
}

// sendAt sends records that are due at the same time; each must be confirmed.
func (s *sender) sendAt(due time.Time, records ...driver.Record) {
	for i := range records {
		records[i].Due = driver.StampOf(due)
	}
	for _, part := range s.parts(records) {
		ctx, cancel := context.WithTimeout(context.Background(), s.t.h.Wait)
		err := s.tryAt(ctx, part...)
		cancel()
		if err != nil {
			s.t.Fatalf("SendAt of %d records: %v", len(part), err)
		}
	}
}

func (s *sender) call(
	ctx context.Context, what string, records []driver.Record, send func(context.Context, []driver.Record) error,
) error {
	t := s.t
	batch := cloneRecords(records)
	var err error
	if !t.until(ctx, what, t.h.Wait, func() { err = send(ctx, batch) }) {
		t.FailNow()
	}
	for i := range batch {
		if !sameRecord(&records[i], &batch[i]) {
			t.Errorf("%s changed record %s", what, records[i].ID)
		}
	}
	poison(batch)
	s.checkError(what, len(records), err)
	return err
}

func sameRecord(a, b *driver.Record) bool {
	d := driver.Delivery{
		ID: b.ID, Key: b.Key, Body: b.Body, Headers: b.Headers, ContentType: b.ContentType, Control: b.Control,
	}
	return a.Due == b.Due && a.Unique == b.Unique && difference(a, &d) == ""
}

// checkError fails the case when the error of a call does not say what became of each record.
func (s *sender) checkError(what string, n int, err error) {
	if be, ok := errors.AsType[*driver.BatchError](err); ok && len(be.Errs) != n {
		s.t.Errorf("%s of %d records returned a BatchError of %d entries: %v", what, n, len(be.Errs), err)
	}
	for i := range n {
		if entry := driver.EntryError(err, i); fateOf(entry) == bare {
			s.t.Errorf("%s: the error of entry %d does not tell whether the record is at the broker: %v; "+
				"wrap ErrNotSent where it certainly is not, as after Close or of a full topic, and else ErrUnconfirmed", what, i, entry)
		}
	}
}

// A fate is what an error says of one record.
type fate int

const (
	arrived fate = iota // confirmed
	stayed              // certainly not at the broker
	unknown             // perhaps at the broker
	bare                // an error that does not tell
)

func fateOf(err error) fate {
	switch {
	case err == nil:
		return arrived
	case errors.Is(err, driver.ErrUnconfirmed):
		return unknown
	case errors.Is(err, driver.ErrNotSent):
		return stayed
	default:
		return bare
	}
}
