package wherry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// end commits or aborts a transaction of which all is answered for, or of which the rest is left to the broker.
func (t *txReceiver) end(ctx context.Context, open *openTx) {
	open.age.Stop()
	c := commit{t: t, open: open}
	var err error
	t.turn <- struct{}{}
	if err = open.doomed; err != nil {
		_ = open.tx.Abort(ctx)
	} else {
		err = c.run(ctx)
	}
	<-t.turn
	if open.renew != nil {
		open.renew.Stop()
	}
	next := t.ended(&c, err)
	for i := range open.units {
		giveAll(open.units[i].out)
	}
	c.tell(err, next)
	close(open.over)
	for _, f := range open.after {
		f()
	}
}

// ended notes how a transaction ended, and returns how long the next waits after a failure.
func (t *txReceiver) ended(c *commit, err error) (next time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = nil
	t.size = c.nextSize(t.size)
	t.cause, t.detail = "", ""
	if err == nil {
		t.failures, t.pause = 0, 0
		t.progress += uint64(c.done())
		t.refusals.forget(c.answered)
		if c.refusal != nil {
			t.cause, t.detail = fmt.Sprintf("cannot publish to %s: %d kept", c.refusedBy, c.refused), errorText(c.refusal)
			if t.info.MaxDelay == 0 {
				t.failures = 1 // or what was refused would come again at once
				t.pause = moveBackoff.after(1)
			}
		}
		return 0
	}
	if errors.Is(err, ErrRevoked) {
		return 0 // which is no fault, and mended by the next
	}
	t.failures++
	t.cause, t.detail = "cannot commit its transactions", errorText(err)
	for _, n := range c.never {
		t.refusals.note(n)
	}
	t.pause = moveBackoff.after(t.failures)
	return t.pause
}

// A commit sends and settles what a transaction came to.
type commit struct {
	t         *txReceiver
	open      *openTx
	batches   []txBatch
	refusedBy string // where copies were refused, which therefore are not part of the transaction
	refused   int
	refusal   error
	never     []unsendable
	answered  []refusedMessage // of what was unsendable before
	sent      int
}

// nextSize is how many messages the next transaction may take: no more than were handled in time, or twice as many again. Of
// one that was full it is no more than had room, were that fewer than there are lanes: in the end one message is alone.
func (c *commit) nextSize(size int) int {
	spec := c.t.spec
	if c.open.full {
		return min(max(c.done(), 1), spec.size)
	}
	if !c.open.aged {
		return twice(size, spec.size)
	}
	return min(max(c.done(), c.t.w.r.c.spec.concurrency), spec.size)
}

// A txBatch is what goes to one target.
type txBatch struct {
	target driver.Target
	limits driver.SendLimits
	recs   []driver.Record
	units  []int // of each
}

// run commits. After an error nothing of the transaction is done, as far as the broker tells.
func (c *commit) run(ctx context.Context) error {
	c.collect()
	for i := range c.batches {
		if err := c.send(ctx, &c.batches[i]); err != nil {
			_ = c.open.tx.Abort(ctx)
			return err
		}
	}
	var settlements []driver.Settlement
	for i := range c.open.units {
		switch u := &c.open.units[i]; {
		case u.done:
			settlements = append(settlements, driver.Settlement{Delivery: u.d, Verdict: driver.Done})
		case u.delay > 0:
			settlements = append(settlements, driver.Settlement{Delivery: u.d, Delay: u.delay})
		}
	}
	if len(settlements) == 0 {
		return c.open.tx.Abort(ctx) // nothing was handled, so that nothing was published
	}
	c.t.mu.Lock()
	c.answered = c.t.refusals.answered(c.open.units)
	c.t.mu.Unlock()
	return c.open.tx.Commit(ctx, settlements)
}

// collect sorts what is to be sent by its target, in the order of the messages that it follows from.
func (c *commit) collect() {
	for i := range c.open.units {
		u := &c.open.units[i]
		if !u.done {
			continue
		}
		if u.move != nil {
			c.add(i, u.move.out, u.move.rec)
			continue
		}
		for _, r := range u.out {
			c.add(i, r.core.out, r.e.rec[0])
		}
	}
}

func (c *commit) add(i int, out *outlet, rec driver.Record) {
	class, rec := out.route(rec, time.Now())
	target := out.targetOf(class)
	b := slices.IndexFunc(c.batches, func(b txBatch) bool {
		return b.target.Topic.Name == target.Topic.Name && b.target.Group == target.Group
	})
	if b < 0 {
		b = len(c.batches)
		c.batches = append(c.batches, txBatch{target: target, limits: out.limits})
	}
	c.batches[b].recs = append(c.batches[b].recs, rec)
	c.batches[b].units = append(c.batches[b].units, i)
}

// send adds a batch to the transaction. A copy that is refused takes its own message out of the transaction; what a handler
// published and is refused fails the whole, since the rest of it may be in already.
func (c *commit) send(ctx context.Context, b *txBatch) error {
	for at := 0; at < len(b.recs); {
		rest := b.recs[at:]
		n := fit(b.limits, publishChunk, len(rest), func(i int) int { return rest[i].Size() })
		err := c.open.tx.Send(ctx, b.target, rest[:n])
		var failed error
		for i := range n {
			e := driver.EntryError(err, i)
			if e == nil {
				c.sent++
				continue
			}
			u := &c.open.units[b.units[at+i]]
			why := fmt.Errorf("cannot publish to %s: %w", b.target.Topic.Name, e)
			if u.move == nil {
				if errors.Is(e, ErrTooLarge) || errors.Is(e, ErrNoTopic) {
					c.never = append(c.never, unsendable{c.t.refusals.name(u.d), why})
				}
				failed = cmp.Or(failed, why)
				continue // each of them, or as many transactions would fail as there are
			}
			c.refusedBy, c.refusal = b.target.Topic.Name, why
			c.refused++
			u.done, u.delay = false, min(moveBackoff.longest, c.t.info.MaxDelay)
		}
		if failed != nil {
			return failed
		}
		at += n
	}
	return nil
}

// done is how many messages the transaction settled.
func (c *commit) done() int {
	n := 0
	for i := range c.open.units {
		if c.open.units[i].done {
			n++
		}
	}
	return n
}

// tell emits what happened, after it did.
func (c *commit) tell(err error, next time.Duration) {
	r := c.t.w.r
	if !r.listening() {
		return
	}
	if err != nil {
		r.emit(&CommitFailed{Origin: r.origin, Count: len(c.open.units), Err: err, Next: next})
		return
	}
	for i := range c.open.units {
		if u := &c.open.units[i]; u.done && u.move != nil && u.move.event != nil {
			r.emit(u.move.event)
		}
	}
	if c.refusal != nil {
		r.emit(&MoveBlocked{Origin: r.origin, To: c.refusedBy, Err: c.refusal, Next: min(moveBackoff.longest, c.t.info.MaxDelay)})
	}
	if n := c.done(); n > 0 {
		r.emit(&Committed{Origin: r.origin, Count: n, Sent: c.sent})
	}
}
