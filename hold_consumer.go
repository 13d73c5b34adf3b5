package wherry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// holdConsumer moves what is due from the hold topics of one target to that target. It runs inside every consumer on a
// broker that cannot delay, as one of competing movers: one goroutine per class, which has at most one record in hand and
// waits for it. It never drops one: the copy is confirmed before the hold is settled.
type holdConsumer struct {
	r         *running
	b         driver.Queuer
	out       *outlet
	receivers [len(holdSteps)]*sideline // each is its class's goroutine's; nil while another is to be opened
	settling  context.Context           //nolint:containedctx // A phase of the run: ends when nothing is settled again.

	mu   sync.Mutex // guards the fields below
	lost [len(holdSteps)]lostHold
}

// A lostHold is a class whose receiver ended and was not replaced; its zero value is one that is well.
type lostHold struct {
	err   error
	since time.Time
}

func openHoldConsumer(ctx context.Context, b driver.Queuer, r *running) (*holdConsumer, error) {
	h := &holdConsumer{r: r, b: b, out: r.retries}
	for class := range holdSteps {
		if err := h.open(ctx, class); err != nil {
			h.close()
			return nil, err
		}
	}
	return h, nil
}

func (h *holdConsumer) topic(class int) driver.Topic { return h.out.targetOf(class).Topic }

func (h *holdConsumer) source(class int) driver.Source {
	return driver.Source{
		Topics: []driver.Topic{h.topic(class)}, Prefetch: 1, Topology: h.out.target.Topology, Name: h.r.c.spec.name,
	}
}

func (h *holdConsumer) open(ctx context.Context, class int) error {
	r, err := h.b.OpenQueue(ctx, h.source(class))
	if err == nil {
		h.receivers[class] = newSideline(r)
	}
	return err
}

// run moves until ctx ends, then returns what it holds to the broker. For that it has the grace.
func (h *holdConsumer) run(ctx context.Context) {
	settling, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	h.settling = settling
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(h.r.c.spec.grace, end) })
	defer stop()
	var wg sync.WaitGroup
	for class := range holdSteps {
		wg.Go(func() { h.move(ctx, class) })
	}
	wg.Wait()
}

func (h *holdConsumer) move(ctx context.Context, class int) {
	failures := 0 // of Receive, in a row
	reopen := reopening{h: h, class: class}
	dst := make([]*driver.Delivery, 0, 1)
	for ctx.Err() == nil {
		r := h.receivers[class]
		got, err := r.Receive(ctx, dst[:0])
		for _, d := range got {
			h.deliver(ctx, r, d)
		}
		switch {
		case err == nil:
			failures = 0
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrClosed):
			if !reopen.run(ctx, err) {
				return
			}
		default:
			failures++
			_ = sleep(ctx, publishBackoff.after(failures))
		}
	}
}

// A reopening replaces the receivers of one class that end for good while the broker does not, as a tender does with workers.
type reopening struct {
	h        *holdConsumer
	class    int
	failures int       // in a row
	failed   time.Time // the last
}

// run opens another receiver in place of one that ended with err: at once, if nothing was wrong for a while, and then with growing
// pauses. It is false when ctx ends before, or the broker itself is closed, which ends the run.
func (o *reopening) run(ctx context.Context, err error) bool {
	h := o.h
	h.closeReceiver(o.class)
	if time.Since(o.failed) >= steadyAfter {
		o.failures = 0
	}
	for {
		pause := openBackoff.after(o.failures)
		o.failures++
		o.failed = time.Now()
		h.lose(o.class, err)
		if pause > 0 {
			h.tell(o.class, err, pause)
		}
		if sleep(ctx, pause) != nil {
			return false
		}
		opening, stop := context.WithTimeout(ctx, openTimeout)
		again := h.open(opening, o.class)
		stop()
		switch {
		case again != nil && ctx.Err() != nil:
			return false
		case errors.Is(again, ErrClosed):
			if errors.Is(err, ErrClosed) {
				again = err
			}
			h.r.closedUnder(again)
			return false
		case pause == 0: // and told only now, since it is not the broker that is closed
			h.tell(o.class, err, 0)
		}
		if again == nil {
			h.found(o.class)
			return true
		}
		err = fmt.Errorf("open hold topic %s: %w", h.topic(o.class).Name, again)
	}
}

// lose notes that nothing comes out of a hold topic.
func (h *holdConsumer) lose(class int, err error) {
	h.mu.Lock()
	l := &h.lost[class]
	if l.err == nil {
		l.since = time.Now()
	}
	l.err = err
	h.mu.Unlock()
}

func (h *holdConsumer) tell(class int, err error, next time.Duration) {
	h.r.emit(&HoldLost{Origin: h.r.origin, Hold: h.topic(class).Name, Err: err, Next: next})
}

func (h *holdConsumer) found(class int) {
	h.mu.Lock()
	after := time.Since(h.lost[class].since)
	h.lost[class] = lostHold{}
	h.mu.Unlock()
	h.r.emit(&HoldBack{Origin: h.r.origin, Hold: h.topic(class).Name, After: after})
}

// blocked says which hold topics nothing comes out of and why, nothing where all are well, and of a nil consumer.
func (h *holdConsumer) blocked() (causes, details []string) {
	if h == nil {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for class, l := range h.lost {
		if l.err != nil {
			causes = append(causes, "cannot receive from "+h.topic(class).Name)
			details = append(details, errorText(l.err))
		}
	}
	return causes, details
}

// deliver waits until d may leave its hold topic and sends it on. When ctx ends first, or the broker takes d back, d goes
// back.
func (h *holdConsumer) deliver(ctx context.Context, r *sideline, d *driver.Delivery) {
	verdict := driver.Release
	if h.wait(ctx, r, d) {
		verdict = h.send(ctx, r, d)
	}
	h.settle(r, driver.Settlement{Delivery: d, Verdict: verdict})
}

// settle gives the answer to the broker until that has it or takes no more of it. What is left unanswered would use up the credit
// of its class, and hold back the commit of a log. Meanwhile it keeps its lease.
func (h *holdConsumer) settle(r *sideline, s driver.Settlement) {
	for failures := 1; ; failures++ {
		if s.Verdict == driver.Release && !r.holds(s.Delivery) {
			return // the broker took it back
		}
		ctx, stop := context.WithTimeoutCause(context.WithoutCancel(h.settling), settleTimeout, errSettleTimeout)
		err := r.Settle(ctx, []driver.Settlement{s})
		stop()
		again, failed, last := sortFailed(1, err)
		if failed > 0 {
			h.r.emit(&SettleFailed{Origin: h.r.origin, Count: 1, Err: last})
		}
		if len(again) == 0 || sleep(h.settling, settleBackoff.after(failures)) != nil {
			return
		}
	}
}

// wait waits until d may leave, and reports whether it may: not when ctx ends first, or the broker takes d back.
func (h *holdConsumer) wait(ctx context.Context, r *sideline, d *driver.Delivery) bool {
	if d.Control.Hold == nil {
		return true // foreign: nothing says that it should wait
	}
	due := time.NewTimer(time.Until(d.Control.Hold.Hop.Time()))
	defer due.Stop()
	for {
		gone, changed := r.gone(d)
		if gone {
			return false
		}
		select {
		case <-due.C:
			return true
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// send sends d to its target, or to its next hold topic, until that has it. It does not try again when the broker took d back:
// somebody else has it, and would send it too.
func (h *holdConsumer) send(ctx context.Context, r *sideline, d *driver.Delivery) driver.Verdict {
	rec := recordOf(d)
	due := driver.Stamp(0)
	if hold := d.Control.Hold; hold != nil && hold.Due > driver.StampOf(time.Now()) {
		due = hold.Due
	}
	try := func(ctx context.Context, recs []driver.Record) error {
		if gone, _ := r.gone(d); gone {
			return ErrRevoked
		}
		return h.out.sendOnce(ctx, recs)
	}
	for failures := 1; ; failures++ {
		rec.Due, rec.Control.Hold = due, nil
		recs := []driver.Record{rec}
		err := h.out.deliverAgain(ctx, recs, try, try(ctx, recs))
		switch gone, _ := r.gone(d); {
		case err == nil:
			return driver.Done
		case gone:
			return driver.Release
		}
		pause := publishBackoff.after(failures)
		h.r.emit(&MoveBlocked{
			Origin: h.r.origin, ID: d.ID.String(), To: h.out.target.Topic.Name, Err: driver.EntryError(err, 0), Next: pause,
		})
		if sleep(ctx, pause) != nil {
			return driver.Release
		}
	}
}

// close closes the receivers. What is unsettled goes back to the broker.
func (h *holdConsumer) close() {
	for class := range h.receivers {
		h.closeReceiver(class)
	}
}

func (h *holdConsumer) closeReceiver(class int) {
	if r := h.receivers[class]; r != nil {
		h.receivers[class] = nil
		h.r.closeReceiver(r)
	}
}
