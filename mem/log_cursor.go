package mem

import (
	"fmt"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/driver/gap"
)

// A cursor is a partition as one group or reader sees it. The broker's lock guards it.
type cursor struct {
	share *share
	log   *partition
	lost  *int64 // counts what was dropped before it was received
	// from is when a reader begins that may have been opened before; zero is at once.
	from time.Time

	// What the broker keeps: all below commit is finished, and what state says above it.
	commit uint64
	state  string

	// What the owner knows, in one tenure; the tracker is nil while there is none.
	tracker  *gap.Tracker
	read     uint64                // the next to read
	released map[uint64]*logRecord // by position; a log gives nothing back
	text     []byte                // of the state, used again
}

// open begins a tenure with what the broker keeps, as after a crash: nothing else is known.
func (c *cursor) open() {
	cfg := &c.share.b.cfg
	c.tracker = c.tracked(gap.Config{MaxState: cfg.MaxState, MaxSpan: cfg.MaxSpan})
	c.read = c.commit
	c.released = map[uint64]*logRecord{}
	c.passOver()
}

// tracked is a tracker with what the broker keeps.
func (c *cursor) tracked(cfg gap.Config) *gap.Tracker {
	cfg.Log = fmt.Sprintf("%d/%s", c.log.t.id, c.log.name)
	t := gap.New(cfg, c.commit)
	// A state that does not fit its position repeats what is above it, and loses nothing.
	_ = t.Restore(c.state, c.log.end())
	return t
}

// end ends the tenure with all that its owner knew.
func (c *cursor) end() { c.tracker, c.released = nil, nil }

// passOver goes on behind what the log dropped before it was read. What of it nobody finished is lost.
func (c *cursor) passOver() {
	if c.tracker == nil || c.read >= c.log.base {
		return
	}
	for ; c.read < c.log.base; c.read++ {
		if fresh, err := c.tracker.Receive(c.read); err != nil || !fresh {
			continue
		}
		if c.tracker.Done(c.read) == nil {
			*c.lost++
		}
	}
	c.save()
}

// next takes what is to be delivered next, what was released first.
func (c *cursor) next() (uint64, *logRecord, error) {
	if position, ok := c.tracker.Redeliver(); ok {
		r := c.released[position]
		delete(c.released, position)
		return position, r, nil
	}
	for c.read < c.log.end() && !c.tracker.Paused() {
		position := c.read
		fresh, err := c.tracker.Receive(position)
		if err != nil {
			return 0, nil, fmt.Errorf("mem: partition %s: %w", c.log.name, err)
		}
		c.read++
		if !fresh {
			continue
		}
		r := c.log.at(position)
		if !r.at.Before(c.from) {
			return position, r, nil
		}
		if err := c.tracker.Done(position); err != nil {
			return 0, nil, fmt.Errorf("mem: partition %s: %w", c.log.name, err)
		}
		c.save()
	}
	return 0, nil, nil
}

// save commits what is finished: the position, and beside it what is finished above it.
func (c *cursor) save() {
	c.commit = c.tracker.Commit()
	c.text = c.tracker.AppendState(c.text[:0])
	if string(c.text) != c.state {
		c.state = string(c.text)
	}
	c.log.settled()
}

// overwrite commits what the owner of an earlier tenure knew.
func (c *cursor) overwrite(t *gap.Tracker) {
	c.commit, c.state = max(t.Commit(), c.log.base), string(t.AppendState(nil))
}

// status is what the owner knows, or what the next would.
func (c *cursor) status() gap.Status {
	if c.tracker != nil {
		return c.tracker.Status()
	}
	t := c.tracked(gap.Config{})
	if c.commit < c.log.base {
		// What was dropped waits for nobody. To receive the position above it passes it over, and nothing is read here.
		if _, err := t.Receive(c.log.base); err != nil {
			return gap.Status{Commit: c.log.base}
		}
	}
	s := t.Status()
	s.InHand = 0
	return s
}

// depth adds what waits in the partition for the cursor: its end less what is committed, finished above that, and in hand.
func (c *cursor) depth(d *driver.Depth, oldest *driver.Stamp) {
	s := c.status()
	if s.Commit > c.log.end() {
		return
	}
	inHand := uint64(s.InHand)
	d.InFlight += int64(s.InHand)
	d.Ready += int64(c.log.end() - s.Commit - s.Finished - inHand)
	for _, r := range c.released {
		older(oldest, r.rec.Control.Published)
	}
	first := s.Commit
	if c.tracker != nil {
		first = c.tracker.Next()
	}
	if first >= c.log.base && first < c.log.end() {
		older(oldest, c.log.at(first).rec.Control.Published)
	}
}
