package drivertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A mixedBroker counts for all groups what there is for one.
type mixedBroker struct{ *broken }

func (b *mixedBroker) Depth(ctx context.Context, s driver.Source) (driver.Depth, error) {
	if s.Group != "" {
		s.Group = "one"
	}
	return b.broken.Depth(ctx, s)
}

func TestFlawsOfReadiness(t *testing.T) {
	t.Parallel()
	checkFlaws(t, map[string]flaw{
		"brings one delivery a call": {
			b: broken{receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
				n := len(dst)
				return r.Receiver.Receive(ctx, dst[:n:n+1])
			}},
			finds: []string{"queue/receive/takes-what-is-there"}, text: "was called 64 times",
		},
		"does not know what is in flight": {
			b:     broken{depth: func(d driver.Depth) driver.Depth { d.InFlight = -1; return d }},
			finds: []string{"queue/inspect/volatile", "sequence/inspect/volatile"}, text: "none of them -1",
		},
		"does not know what is held": {
			b:     broken{depth: func(d driver.Depth) driver.Depth { d.Held = -1; return d }},
			finds: []string{"queue/inspect/volatile"}, text: "none of them -1",
		},
		"counts one group for another": {
			h:     on(func(b *broken) driver.Broker { return &mixedBroker{b} }),
			finds: []string{"group/inspect/groups", "group-sequence/inspect/groups"}, text: "received none",
		},
		"has an oldest of nothing": {
			b:     broken{depth: func(d driver.Depth) driver.Depth { d.Oldest = time.Unix(1, 0); return d }},
			finds: []string{"queue/inspect/oldest"}, text: "no oldest where none is ready",
		},
		"settles after the broker's close": {
			b: broken{settle: func(r *brokenReceiver, ctx context.Context, batch []driver.Settlement) error {
				if err := r.Receiver.Settle(ctx, batch); err != nil && !errors.Is(err, driver.ErrRevoked) && !errors.Is(err, driver.ErrClosed) {
					return err
				}
				return nil
			}},
			finds: []string{"queue/close/broker-in-hand"}, text: "Settle as done after Broker.Close",
		},
		"fetches more than its prefetch": {
			b: broken{receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
				if len(r.kept) == 0 {
					got, err := r.Receiver.Receive(ctx, make([]*driver.Delivery, 0, 20))
					if len(got) == 0 {
						return dst, err
					}
					r.kept = got
				}
				n := min(cap(dst)-len(dst), len(r.kept))
				dst = append(dst, r.kept[:n]...)
				r.kept = r.kept[n:]
				return dst, nil
			}},
			finds: []string{"queue/inspect/prefetch"}, text: "with a prefetch of 4",
		},
		"settles another in the place of one that is settled": {
			b: broken{
				receive: afterReceive(keepInHand),
				settle: func(r *brokenReceiver, ctx context.Context, batch []driver.Settlement) error {
					r.b.mu.Lock()
					own := slices.Clone(batch)
					for i := range own {
						if !slices.Contains(r.kept, own[i].Delivery) && len(r.kept) > i {
							own[i].Delivery = r.kept[i]
						}
					}
					dropSettled(r, own)
					r.b.mu.Unlock()
					return r.Receiver.Settle(ctx, own)
				},
			},
			finds: []string{"queue/settle/double"}, text: "deliveries came",
		},
		"does not say in any way that it is away": {
			b: broken{
				waiting: func(string) string { return "" },
				receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
					for {
						dst, err := r.Receiver.Receive(ctx, dst)
						if !errors.Is(err, driver.ErrDisconnected) {
							return dst, err
						}
						wait(nil, 10*time.Millisecond)
					}
				},
			},
			finds: []string{"queue/engine/cut-health", "group/engine/cut-health"}, text: "ready",
		},
		"waits for something else when it is away": {
			b: broken{
				waiting: func(why string) string {
					return strings.ReplaceAll(why, driver.ErrDisconnected.Error(), "reconnecting")
				},
				receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
					for {
						dst, err := r.Receiver.Receive(ctx, dst)
						if !errors.Is(err, driver.ErrDisconnected) {
							return dst, err
						}
						wait(nil, 10*time.Millisecond)
					}
				},
			},
			finds: []string{"queue/engine/cut-health"}, text: "ready",
		},
		"closes its senders after a linger": {
			b: broken{closed: func(s *brokenSender, ctx context.Context) error {
				wait(nil, time.Second)
				return s.Sender.Close(ctx)
			}},
			finds: []string{"queue/send/close-race"}, text: "does not wait out a linger",
		},
		"drops what has no key": {
			b:     broken{send: each(func(r *driver.Record) bool { return len(r.Key) > 0 })},
			finds: []string{"queue/send/round-trip"}, text: "deliveries came",
		},
	})
}

// A Waiting that waits for the Receive beside it would keep a bubble from ending.
func TestWaitingThatWaitsIsFound(t *testing.T) {
	t.Parallel()
	h := broken{
		waiting: func(why string) string {
			wait(nil, 500*time.Millisecond)
			return why
		},
	}.quick()
	err := caseNamed(t, "queue/waiting/any-time").Check(t, h)
	if err == nil || !strings.Contains(err.Error(), "did not return within") {
		t.Errorf("%v, want an error that says that Waiting did not return", err)
	}
	if err := caseNamed(t, "queue/waiting/any-time").Check(t, broken{}.quick()); err != nil {
		t.Errorf("a right broker fails: %v", err)
	}
}
