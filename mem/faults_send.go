package mem

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/driver"
)

var (
	errCutBefore = fmt.Errorf("%w: connection cut before the write: %w", driver.ErrNotSent, driver.ErrDisconnected)
	errCutAfter  = fmt.Errorf("%w: connection cut after the write: %w", driver.ErrUnconfirmed, driver.ErrDisconnected)
	errRefused   = errors.New("refused")
)

// CutBefore cuts the connection before the next n records sent to the topic are written: they fail with
// [driver.ErrNotSent] and are not stored.
func (f *Faults) CutBefore(topic string, n int) {
	f.set(topic, func(t *topicFaults) { t.cutBefore = counter(n) })
}

// CutAfter cuts the connection after the next n records sent to the topic were written: they are stored and fail with
// [driver.ErrUnconfirmed].
func (f *Faults) CutAfter(topic string, n int) {
	f.set(topic, func(t *topicFaults) { t.cutAfter = counter(n) })
}

// WithholdConfirms stores what is sent to the topic and has Send wait for the confirm, until [Faults.ReleaseConfirms] or
// the end of its context, which is [driver.ErrUnconfirmed].
func (f *Faults) WithholdConfirms(topic string) {
	f.set(topic, func(t *topicFaults) { t.withheld = true })
}

// ReleaseConfirms confirms what [Faults.WithholdConfirms] held back.
func (f *Faults) ReleaseConfirms(topic string) {
	f.set(topic, func(t *topicFaults) { t.withheld = false })
}

// FailSend refuses the next n records sent to the topic with err and [driver.ErrNotSent]. A nil err is a plain refusal.
func (f *Faults) FailSend(topic string, n int, err error) {
	if err == nil {
		err = errRefused
	}
	f.set(topic, func(t *topicFaults) { t.refuse, t.refusal = counter(n), err })
}

// RejectSize refuses records over this many bytes with [driver.ErrTooLarge], as a topic with a limit of its own does
// that senders do not advertise. 0 is no limit.
func (f *Faults) RejectSize(topic string, most int) {
	f.set(topic, func(t *topicFaults) { t.reject = most })
}

// Delay holds what is sent to the topic from now on for d before it can be received. It is counted as held meanwhile.
// 0 is no delay.
func (f *Faults) Delay(topic string, d time.Duration) {
	f.set(topic, func(t *topicFaults) { t.delay = d })
}

// fate is what happens to a record on its way.
type fate struct {
	err      error // it is not stored
	lost     error // it is stored, and this is returned
	delay    time.Duration
	withheld bool
}

// onSend decides about one record.
func (f *Faults) onSend(topic string, size int) fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	var o fate
	switch {
	case f.any(topic, func(t *topicFaults) bool { return t.reject > 0 && size > t.reject }):
		o.err = errTooLarge
	case f.any(topic, func(t *topicFaults) bool { o.err = t.refusal; return t.refuse.next() }):
		o.err = notSent(o.err)
	case f.any(topic, func(t *topicFaults) bool { return t.cutBefore.next() }):
		o.err = errCutBefore
	default:
		o.err = nil
		if f.any(topic, func(t *topicFaults) bool { return t.cutAfter.next() }) {
			o.lost = errCutAfter
		}
		f.any(topic, func(t *topicFaults) bool { o.delay = t.delay; return t.delay > 0 })
		o.withheld = f.withholds(topic)
	}
	return o
}

func (f *Faults) withholds(topic string) bool {
	return f.any(topic, func(t *topicFaults) bool { return t.withheld })
}

// sendOdd is Send while something is switched on. It goes record by record.
func (s *sender) sendOdd(ctx context.Context, batch []driver.Record) error {
	return s.each(ctx, batch, func(one []driver.Record, delay time.Duration) error {
		if delay == 0 {
			return s.put(ctx, one)
		}
		at := s.b.now() + delay
		return s.putAt(one, func(*driver.Record) time.Duration { return at })
	})
}

// sendAtOdd is SendAt while something is switched on.
func (s *sender) sendAtOdd(ctx context.Context, batch []driver.Record) error {
	return s.each(ctx, batch, func(one []driver.Record, delay time.Duration) error {
		return s.putAt(one, func(r *driver.Record) time.Duration { return max(s.b.dueAt(r), s.b.now()) + delay })
	})
}

// each sends record by record, each as put does after a delay.
func (s *sender) each(ctx context.Context, batch []driver.Record, put func([]driver.Record, time.Duration) error) error {
	var failed failures
	var withheld []int
	fail := func(i int, err error) { failed.add(len(batch), i, err) }
	f, topic := &s.b.faults, s.target.Topic.Name
	for i := range batch {
		r := &batch[i]
		if err := failed.earlier(batch[:i], r); err != nil {
			fail(i, err)
			continue
		}
		if err := s.reach(ctx); err != nil {
			fail(i, err)
			continue
		}
		o := f.onSend(topic, r.Size())
		if o.err != nil {
			fail(i, o.err)
			continue
		}
		one := batch[i : i+1]
		if err := s.once(ctx, r, func() error { return put(one, o.delay) }); err != nil {
			fail(i, err)
			continue
		}
		switch {
		case o.lost != nil:
			fail(i, o.lost)
		case o.withheld:
			withheld = append(withheld, i)
		}
	}
	if len(withheld) > 0 {
		if err := s.confirm(ctx); err != nil {
			for _, i := range withheld {
				fail(i, err)
			}
		}
	}
	return failed.err(len(batch))
}

// reach waits while the broker is away.
func (s *sender) reach(ctx context.Context) error {
	err := s.until(ctx, func(f *Faults) bool { return f.cut == Connected })
	if err != nil {
		return fmt.Errorf("%w: %w: %w", driver.ErrNotSent, driver.ErrDisconnected, err)
	}
	return nil
}

// confirm waits while confirms are withheld.
func (s *sender) confirm(ctx context.Context) error {
	err := s.until(ctx, func(f *Faults) bool { return !f.withholds(s.target.Topic.Name) })
	if err != nil {
		return fmt.Errorf("%w: %w", driver.ErrUnconfirmed, err)
	}
	return nil
}

// until waits for is, which is called under the lock of the faults.
func (s *sender) until(ctx context.Context, is func(*Faults) bool) error {
	f := &s.b.faults
	for {
		f.mu.Lock()
		ok := is(f)
		change := f.waitForChange()
		f.mu.Unlock()
		switch {
		case ok:
			return nil
		case s.closed.Load() || s.b.closed.Load():
			return s.over()
		}
		select {
		case <-change:
		case <-s.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
