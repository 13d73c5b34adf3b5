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

// sendAt sends records that become visible at their Due, never earlier.
func (o *outlet) sendAt(ctx context.Context, recs []driver.Record) error {
	if o.holder == nil {
		return o.hold(ctx, recs)
	}
	longest := o.holder.MaxHold()
	if longest > 0 {
		horizon := driver.StampOf(time.Now().Add(longest))
		for i := range recs {
			if recs[i].Due > horizon {
				// It comes back before it is due, as a message of this topic, and whoever receives it sends it on.
				recs[i].Control.Hold = o.holdData(recs[i].Due, horizon)
				recs[i].Due = horizon
			}
		}
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
	var batches [len(holdSteps)][]driver.Record
	var places [len(holdSteps)][]int
	for i, r := range recs {
		class, stay := holdHop(r.Due.Time().Sub(now))
		hop := driver.StampOf(now.Add(stay))
		r.Control.Hold = o.holdData(r.Due, hop)
		batches[class], places[class] = append(batches[class], r), append(places[class], i)
	}
	errs := make([]error, len(recs))
	failed := false
	for class, batch := range batches {
		if len(batch) == 0 {
			continue
		}
		s, err := o.holdSender(ctx, class)
		if err == nil {
			err = s.Send(ctx, batch)
		}
		for i, place := range places[class] {
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
		if _, err := o.holdSender(ctx, class); err != nil {
			return err
		}
	}
	return nil
}

func (o *outlet) holdSender(ctx context.Context, class int) (driver.Sender, error) {
	o.mu.Lock()
	s := o.holds[class]
	o.mu.Unlock()
	if s != nil {
		return s, nil
	}
	t := holdTopic(o.target.Topic.Name, o.target.Group, class)
	fresh, err := o.broker.OpenSender(ctx, driver.Target{Topic: t, Topology: o.target.Topology})
	if err != nil {
		return nil, fmt.Errorf("%w: hold topic %s: %w", ErrNotSent, t.Name, err)
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
