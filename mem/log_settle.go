package mem

import (
	"bytes"
	"context"
	"slices"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/driver/gap"
)

// A logEntry is a delivery with what it stands for. It is used once, and its delivery has memory of its own.
type logEntry struct {
	c        *cursor
	tracker  *gap.Tracker // of the tenure
	tenure   uint64
	position uint64
	record   *logRecord
	settled  bool
	delivery driver.Delivery
}

// deliver makes a delivery of a record.
func (c *cursor) deliver(r *logReceiver, position uint64, rec *logRecord) *driver.Delivery {
	e := &logEntry{c: c, tracker: c.tracker, tenure: c.share.tenure, position: position, record: rec}
	from := &rec.rec
	e.delivery = driver.Delivery{
		Token:       driver.Token{A: position, B: r.b.number(), Ref: e},
		Tenure:      e.tenure,
		Body:        bytes.Clone(from.Body),
		ID:          from.ID,
		ContentType: from.ContentType,
		Control:     from.Control.Clone(),
		Headers:     slices.Clone(from.Headers),
		Key:         bytes.Clone(from.Key),
		Topic:       c.log.t.name,
	}
	return &e.delivery
}

// entry returns what a delivery stands for, if the receiver has it in hand. The caller holds the lock.
func (r *logReceiver) entry(d *driver.Delivery) (*logEntry, error) {
	if d == nil {
		return nil, errForeign
	}
	e, ok := d.Token.Ref.(*logEntry)
	switch {
	case !ok || e.c.share.b != r.b:
		return nil, errForeign
	case e.settled || e.isLate() && !r.b.cfg.AcceptLateSettlements:
		return nil, errSettled
	case e.isLate():
		return e, nil
	case e.c.share.owner != r:
		return nil, errForeign
	default:
		return e, nil
	}
}

// isLate reports whether its tenure is over.
func (e *logEntry) isLate() bool { return e.tenure != e.c.share.tenure || e.c.share.owner == nil }

// Settle applies each verdict, and then commits each partition once.
func (r *logReceiver) Settle(_ context.Context, batch []driver.Settlement) error {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	var f failures
	var changed []*cursor
	refused := map[string]bool{}
	for i := range batch {
		e, err := r.entry(batch[i].Delivery)
		if err == nil {
			err = r.b.refuses(e.c.log.t.name, refused) // before anything is noted: the engine tries it again
		}
		late := err == nil && e.isLate()
		if err == nil {
			err = e.settle(batch[i].Verdict)
		}
		if err != nil {
			f.add(len(batch), i, err)
			continue
		}
		if r.b.unanswered.happens(e.c.log.t.name) {
			f.add(len(batch), i, errSettleLost) // and its memory stays as it is
		} else {
			e.spoil()
		}
		if !late && !slices.Contains(changed, e.c) {
			changed = append(changed, e.c)
		}
	}
	for _, c := range changed {
		if !r.b.lose.happens(c.log.t.name) {
			c.save()
		}
	}
	return f.err(len(batch))
}

// settle applies a verdict. What is released waits in memory, since a log gives nothing back.
func (e *logEntry) settle(v driver.Verdict) error {
	c := e.c
	switch {
	case e.isLate():
		if v == driver.Done && e.tracker.Done(e.position) == nil {
			c.overwrite(e.tracker)
		}
	case v == driver.Done:
		paused := c.tracker.Paused()
		if err := c.tracker.Done(e.position); err != nil {
			return errSettled
		}
		if paused && !c.tracker.Paused() {
			c.share.owner.rouse() // a Receive may wait for the window
		}
	default:
		if err := c.tracker.Release(e.position); err != nil {
			return errSettled
		}
		c.released[e.position] = e.record
		c.share.owner.rouse()
	}
	e.settled = true
	e.record, e.tracker = nil, nil
	return nil
}

// spoil overwrites what a receiver may have kept of a delivery that it settled.
func (e *logEntry) spoil() {
	if e.c.share.b.cfg.Poison {
		overwrite(e.delivery.Body)
		overwrite(e.delivery.Key)
	}
}
