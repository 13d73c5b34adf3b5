package wherry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// An outlet sends to one target, now or later. Later is the broker's own delay where it has one, and hold topics
// elsewhere. It is what publishers, retries, dead letters and redrives send through.
type outlet struct {
	broker driver.Broker
	target driver.Target
	sender driver.Sender
	holder driver.Holder // nil: the broker cannot delay
	limits driver.SendLimits

	mu    sync.Mutex // guards the fields below
	holds [len(holdSteps)]driver.Sender
}

// openOutlet opens the sender of a target. The hold topics are opened by openHolds or when one is first needed.
func openOutlet(ctx context.Context, b driver.Broker, t driver.Target) (*outlet, error) {
	s, err := b.OpenSender(ctx, t)
	if err != nil {
		return nil, err
	}
	o := &outlet{broker: b, target: t, sender: s, limits: s.Limits()}
	o.holder, _ = s.(driver.Holder)
	return o, nil
}

// fit is how many of the first n records go in a call of no more than most: as many as the limits allow, and at least
// one. size gives the bytes of each.
func fit(l driver.SendLimits, most, n int, size func(i int) int) int {
	if l.MaxBatch > 0 {
		most = min(most, l.MaxBatch)
	}
	taken, bytes := 0, 0
	for taken < n && taken < most {
		bytes += size(taken)
		if taken > 0 && l.MaxBytes > 0 && bytes > l.MaxBytes {
			break
		}
		taken++
	}
	return taken
}

// sendOnce sends records now, or later where they are due later.
func (o *outlet) sendOnce(ctx context.Context, recs []driver.Record) error {
	for i := range recs {
		if recs[i].Due != 0 {
			return o.sendAt(ctx, recs)
		}
	}
	return o.sender.Send(ctx, recs)
}

// atOnce is in place of a delay class for what goes to the outlet's own target.
const atOnce = -1

// route is the delay class whose hold topic a record goes to, or atOnce, and the record as it goes there.
func (o *outlet) route(rec driver.Record, now time.Time) (class int, as driver.Record) {
	if rec.Due == 0 {
		return atOnce, rec
	}
	if o.holder == nil {
		class, stay := holdHop(rec.Due.Time().Sub(now))
		rec.Control.Hold = o.holdData(rec.Due, driver.StampOf(now.Add(stay)))
		return class, rec
	}
	if longest := o.holder.MaxHold(); longest > 0 {
		if horizon := driver.StampOf(now.Add(longest)); rec.Due > horizon {
			// It comes back before it is due, as a message of this topic, and whoever receives it sends it on.
			rec.Control.Hold = o.holdData(rec.Due, horizon)
			rec.Due = horizon
		}
	}
	return atOnce, rec
}

// targetOf is where records of a class go.
func (o *outlet) targetOf(class int) driver.Target {
	if class == atOnce {
		return o.target
	}
	return driver.Target{Topic: holdTopic(o.target.Topic.Name, o.target.Group, class), Topology: o.target.Topology}
}

// sendAt sends records that become visible at their Due, never earlier. Those without one are visible at once.
func (o *outlet) sendAt(ctx context.Context, recs []driver.Record) error {
	if o.holder == nil {
		return o.hold(ctx, recs)
	}
	now := time.Now()
	for i := range recs {
		_, recs[i] = o.route(recs[i], now)
	}
	return o.holder.SendAt(ctx, recs)
}

func (o *outlet) holdData(due, hop driver.Stamp) *driver.HoldData {
	return &driver.HoldData{
		Topic: o.target.Topic.Name, Group: o.target.Group, Fanout: o.target.Topic.Fanout, Due: due, Hop: hop,
	}
}

// hold sends records through the hold topics of their delay classes, those of one class together.
func (o *outlet) hold(ctx context.Context, recs []driver.Record) error {
	now := time.Now()
	var batches [len(holdSteps) + 1][]driver.Record // the first is at once
	var places [len(holdSteps) + 1][]int
	for i := range recs {
		class, rec := o.route(recs[i], now)
		at := class - atOnce
		batches[at], places[at] = append(batches[at], rec), append(places[at], i)
	}
	errs := make([]error, len(recs))
	failed := false
	for at, batch := range batches {
		if len(batch) == 0 {
			continue
		}
		s, err := o.senderOf(ctx, at+atOnce)
		if err == nil {
			err = s.Send(ctx, batch)
		}
		for i, place := range places[at] {
			errs[place] = driver.EntryError(err, i)
			failed = failed || errs[place] != nil
		}
	}
	if !failed {
		return nil
	}
	return &driver.BatchError{Errs: errs}
}

// openHolds opens every hold topic, where the broker needs them.
func (o *outlet) openHolds(ctx context.Context) error {
	for class := range holdSteps {
		if _, err := o.senderOf(ctx, class); err != nil {
			return err
		}
	}
	return nil
}

// senderOf is the sender to where records of a class go.
func (o *outlet) senderOf(ctx context.Context, class int) (driver.Sender, error) {
	if class == atOnce {
		return o.sender, nil
	}
	o.mu.Lock()
	s := o.holds[class]
	o.mu.Unlock()
	if s != nil {
		return s, nil
	}
	t := o.targetOf(class)
	fresh, err := o.broker.OpenSender(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("%w: hold topic %s: %w", ErrNotSent, t.Topic.Name, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.holds[class]; s != nil { // another was quicker
		_ = fresh.Close(ctx)
		return s, nil
	}
	o.holds[class] = fresh
	return fresh, nil
}

// close flushes and ends all senders.
func (o *outlet) close(ctx context.Context) error {
	errs := []error{o.sender.Close(ctx)}
	o.mu.Lock()
	holds := o.holds
	o.mu.Unlock()
	for _, s := range holds {
		if s != nil {
			errs = append(errs, s.Close(ctx))
		}
	}
	return errors.Join(errs...)
}
