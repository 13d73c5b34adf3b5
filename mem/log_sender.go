package mem

import (
	"context"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry/driver"
)

// A logSender sends to the partitions of a target.
type logSender struct {
	b      *LogBroker
	target driver.Target
	to     *partitions // guarded by the broker's lock, as is closed
	topic  *logTopic
	closed bool
	done   chan struct{} // closed by Close
}

// find looks for the target. The caller holds the lock.
func (s *logSender) find() error {
	t, err := s.b.declare(s.target.Topic, s.target.Topology)
	if err != nil {
		return err
	}
	to := t.main
	switch name := s.target.Group; {
	case name == "":
	case !t.fanout:
		return fmt.Errorf("mem: topic %q is a queue and has no group %q", t.name, name)
	default:
		g, err := t.declareGroup(name, s.target.Topology)
		if err != nil {
			return err
		}
		to = g.own
	}
	s.topic, s.to = t, to
	return nil
}

// Limits is what the broker's config says.
func (s *logSender) Limits() driver.SendLimits {
	return driver.SendLimits{Batch: s.b.cfg.SendBatch, MaxRecord: s.b.cfg.MaxRecord}
}

// Send places record by record, waiting where a partition is full.
func (s *logSender) Send(ctx context.Context, batch []driver.Record) error {
	if ctx.Err() != nil {
		return notSent(context.Cause(ctx))
	}
	var f failures
	for i := range batch {
		r := &batch[i]
		err := f.earlier(batch[:i], r)
		size := r.Size()
		switch {
		case err != nil:
		case size > s.b.cfg.MaxRecord:
			err = errTooLarge
		default:
			err = s.put(ctx, r, size)
		}
		if err == nil {
			continue
		}
		f.add(len(batch), i, err)
		if errors.Is(err, errStopped) {
			for i++; i < len(batch); i++ {
				f.add(len(batch), i, err)
			}
			break
		}
	}
	return f.err(len(batch))
}

// errStopped is in the error of a record behind which nothing more of its batch is sent.
var errStopped = errors.New("stopped")

// stopped is an error for a record and all behind it.
type stopped struct{ error }

func (s stopped) Unwrap() []error { return []error{s.error, errStopped} }

// A logPlace is a record on its way into a partition.
type logPlace struct {
	rec *logRecord
	p   *partition
	w   *logWait // its place among those that wait for room
}

// put places one record.
func (s *logSender) put(ctx context.Context, r *driver.Record, size int) error {
	pl := logPlace{rec: newLogRecord(r, size)}
	for {
		wait, err := s.try(&pl)
		if err != nil || wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-s.done:
		case <-ctx.Done():
			return stopped{notSent(fmt.Errorf("%w: %w", s.giveUp(&pl), context.Cause(ctx)))}
		}
	}
}

// try places the record, or returns what to wait for.
func (s *logSender) try(pl *logPlace) (<-chan struct{}, error) {
	b := s.b
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		pl.leave()
		return nil, stopped{notSent(errBrokerClosed)}
	case s.closed:
		pl.leave()
		return nil, stopped{notSent(errSenderClosed)}
	case b.cut != Connected:
		return b.change, nil
	case pl.p != nil && pl.p.t.gone:
		// Whether or not another Send of this sender has found the new topic.
		pl.leave()
	}
	if s.topic.gone {
		if err := s.find(); err != nil {
			return nil, stopped{notSent(err)}
		}
	}
	if pl.p == nil {
		pl.p = s.to.pick(pl.rec.rec.Key)
	}
	if pl.w == nil && b.cutBefore.happens(s.topic.name) { // it is asked about once, and not after each wait
		pl.leave()
		return nil, errCutBefore
	}
	p := pl.p
	turn := len(p.waiting) == 0
	if pl.w != nil {
		turn = pl.w.woken
	}
	switch {
	case turn && p.makeRoom(pl.rec.size):
		p.push(pl.rec)
		pl.leave()
		if b.cutAfter.happens(s.topic.name) {
			return nil, errCutAfter
		}
		return nil, nil
	case s.target.Topic.Role != driver.Main: // whoever declared the topic, and as what
		return nil, errFull
	case pl.w == nil:
		pl.w = p.wait()
	case pl.w.woken: // there is room, and not enough
		pl.w.woken, pl.w.ready = false, make(chan struct{})
	}
	return pl.w.ready, nil
}

// leave takes the record out of those that wait.
func (pl *logPlace) leave() {
	if pl.w != nil {
		pl.p.leave(pl.w)
	}
	pl.p, pl.w = nil, nil
}

// giveUp ends the wait, and says what it was for.
func (s *logSender) giveUp(pl *logPlace) error {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	why := errAway
	if s.b.cut == Connected && pl.p != nil {
		why = fmt.Errorf("partition %s is full", pl.p.name)
	}
	pl.leave()
	return why
}

// Close wakes each Send that waits.
func (s *logSender) Close(context.Context) error {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	return nil
}
