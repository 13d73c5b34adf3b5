package wherry

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// holdSteps are the delay classes of brokers that cannot delay: one hold topic each, so that a short delay never waits
// behind a long one.
var holdSteps = [...]time.Duration{
	200 * time.Millisecond, 800 * time.Millisecond, 3200 * time.Millisecond, 12800 * time.Millisecond,
	30 * time.Second, 5 * time.Minute, time.Hour, 6 * time.Hour,
}

// holdHop is the class that a record with this long to wait enters, and how long it stays there. A wait up to a quarter
// over a step, as jitter makes it, stays for the whole of it: what is behind it waits at most that quarter longer. Any
// other is rounded up to a step that is not much longer, or else goes through several.
func holdHop(wait time.Duration) (class int, stay time.Duration) {
	wait = max(wait, 0)
	last := len(holdSteps) - 1
	for class, step := range holdSteps {
		switch {
		case wait <= step && (class == 0 || step <= wait+wait/2):
			return class, step
		case wait >= step && wait <= step+step/4:
			return class, wait
		case wait < step:
			return class - 1, holdSteps[class-1]
		}
	}
	return last, holdSteps[last]
}

// holdTopic is the hold topic of a class.
func holdTopic(topic, group string, class int) driver.Topic {
	parts := []string{topic}
	if group != "" {
		parts = append(parts, group)
	}
	parts = append(parts, "hold", holdStepName(holdSteps[class]))
	return driver.Topic{Name: strings.Join(parts, "."), Role: driver.Hold}
}

// holdStepName is a step's name in a topic's: "200ms", "30s", "5m0s" without what is zero.
func holdStepName(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.String()
	case d%time.Hour == 0:
		return strings.TrimSuffix(d.String(), "0m0s")
	case d%time.Minute == 0:
		return strings.TrimSuffix(d.String(), "0s")
	default:
		return strings.ReplaceAll(d.String(), ".", "_")
	}
}

// holdConsumer moves what is due from the hold topics of one target to that target. It runs inside every consumer on a
// broker that cannot delay, as one of competing movers: one goroutine per class, which has at most one record in hand and
// waits for it. It never drops one: the copy is confirmed before the hold is settled.
type holdConsumer struct {
	out       *outlet
	receivers [len(holdSteps)]*sideline
	r         *running
	settling  context.Context //nolint:containedctx // A phase of the run: ends when nothing is settled again.
}

func openHoldConsumer(ctx context.Context, b driver.Queuer, r *running) (*holdConsumer, error) {
	out := r.retries
	h := &holdConsumer{out: out, r: r}
	for class := range holdSteps {
		t := holdTopic(out.target.Topic.Name, out.target.Group, class)
		r, err := b.OpenQueue(ctx, driver.Source{
			Topics: []driver.Topic{t}, Prefetch: 1, Topology: out.target.Topology, Name: r.c.spec.name,
		})
		if err != nil {
			h.close(ctx)
			return nil, err
		}
		h.receivers[class] = newSideline(r)
	}
	return h, nil
}

// run moves until ctx ends, then returns what it holds to the broker. For that it has the grace.
func (h *holdConsumer) run(ctx context.Context) {
	settling, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	h.settling = settling
	defer context.AfterFunc(ctx, func() { time.AfterFunc(h.r.c.spec.grace, end) })()
	var wg sync.WaitGroup
	for _, r := range h.receivers {
		wg.Go(func() { h.move(ctx, r) })
	}
	wg.Wait()
}

func (h *holdConsumer) move(ctx context.Context, r *sideline) {
	failures := 0 // in a row
	dst := make([]*driver.Delivery, 0, 1)
	for ctx.Err() == nil {
		got, err := r.Receive(ctx, dst[:0])
		for _, d := range got {
			h.deliver(ctx, r, d)
		}
		if err == nil {
			failures = 0
			continue
		}
		failures++
		if errors.Is(err, ErrClosed) || sleep(ctx, publishBackoff.after(failures)) != nil {
			return
		}
	}
}

// deliver waits until d may leave its hold topic and sends it on. When ctx ends first, or the broker takes d back, d goes
// back.
func (h *holdConsumer) deliver(ctx context.Context, r *sideline, d *driver.Delivery) {
	verdict := driver.Release
	if h.wait(ctx, r, d) {
		verdict = h.send(ctx, d)
	}
	h.settle(r, driver.Settlement{Delivery: d, Verdict: verdict})
}

// settle gives the answer to the broker until that has it or takes no more of it. What is left unanswered would use up the credit
// of its class, and hold back the commit of a log. Meanwhile it keeps its lease.
func (h *holdConsumer) settle(r *sideline, s driver.Settlement) {
	for failures := 1; ; failures++ {
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

// send sends d to its target, or to its next hold topic, until that has it.
func (h *holdConsumer) send(ctx context.Context, d *driver.Delivery) driver.Verdict {
	rec := recordOf(d)
	due := driver.Stamp(0)
	if hold := d.Control.Hold; hold != nil && hold.Due > driver.StampOf(time.Now()) {
		due = hold.Due
	}
	for failures := 1; ; failures++ {
		rec.Due, rec.Control.Hold = due, nil
		err := h.out.deliver(ctx, []driver.Record{rec})
		if err == nil {
			return driver.Done
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

func (h *holdConsumer) close(ctx context.Context) {
	for _, r := range h.receivers {
		if r != nil {
			_ = r.Close(ctx)
		}
	}
}

// recordOf is a copy of a delivery, to be sent while the delivery is unsettled. It shares the delivery's memory.
func recordOf(d *driver.Delivery) driver.Record {
	return driver.Record{
		ID: d.ID, Key: d.Key, Body: d.Body, Headers: d.Headers, ContentType: d.ContentType, Control: d.Control, Unique: true,
	}
}
