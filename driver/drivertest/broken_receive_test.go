package drivertest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

type (
	receiveFunc = func(*brokenReceiver, context.Context, []*driver.Delivery) ([]*driver.Delivery, error)
	settleFunc  = func(*brokenReceiver, context.Context, []driver.Settlement) error
)

// beforeSettle is a settle that calls f before every batch.
func beforeSettle(f func(r *brokenReceiver, batch []driver.Settlement)) settleFunc {
	return func(r *brokenReceiver, ctx context.Context, batch []driver.Settlement) error {
		r.b.mu.Lock()
		f(r, batch)
		r.b.mu.Unlock()
		return r.Receiver.Settle(ctx, batch)
	}
}

// afterReceive is a receive that calls f with what came.
func afterReceive(f func(r *brokenReceiver, ds []*driver.Delivery)) receiveFunc {
	return func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
		n := len(dst)
		dst, err := r.Receiver.Receive(ctx, dst)
		r.b.mu.Lock()
		f(r, dst[n:])
		r.b.mu.Unlock()
		return dst, err
	}
}

func keepInHand(r *brokenReceiver, ds []*driver.Delivery) { r.kept = append(r.kept, ds...) }

func dropSettled(r *brokenReceiver, batch []driver.Settlement) {
	r.kept = slices.DeleteFunc(r.kept, func(d *driver.Delivery) bool {
		return slices.ContainsFunc(batch, func(s driver.Settlement) bool { return s.Delivery == d })
	})
}

// afterClose is a close that calls f with what is in hand.
func afterClose(f func(d *driver.Delivery)) func(*brokenReceiver, context.Context) error {
	return func(r *brokenReceiver, ctx context.Context) error {
		err := r.Receiver.Close(ctx)
		r.b.mu.Lock()
		defer r.b.mu.Unlock()
		for _, d := range r.kept {
			f(d)
		}
		r.kept = nil
		return err
	}
}

func TestBrokenReceivers(t *testing.T) {
	t.Parallel()
	checkBreakages(t, map[string]breakage{
		"settles early": {
			b: broken{
				receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
					n := len(dst)
					dst, err := r.Receiver.Receive(ctx, dst)
					for i, d := range dst[n:] {
						h := hold(d)
						if serr := r.Receiver.Settle(ctx, settlements(driver.Done, d)); serr != nil {
							return dst[:n], serr
						}
						dst[n+i] = &h.copy
					}
					return dst, err
				},
				settle: func(*brokenReceiver, context.Context, []driver.Settlement) error { return nil },
			},
			some: []string{
				"queue/close/returns-unsettled", "queue/settle/release", "queue/settle/many-releases", "queue/settle/gap",
				"queue/inspect/counts",
			},
		},
		"ignores the capacity": {
			b: broken{receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
				n := len(dst)
				got, err := r.Receiver.Receive(ctx, make([]*driver.Delivery, 0, 2*(cap(dst)-n)))
				return append(dst, got...), err
			}},
			some: []string{"queue/receive/append"},
		},
		"forgets what dst held": {
			b: broken{receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
				return r.Receiver.Receive(ctx, dst[:0])
			}},
			some: []string{"queue/receive/append"},
		},
		"waits for a full batch": {
			b: broken{receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
				n := len(dst)
				for len(dst) < cap(dst) {
					short, cancel := context.WithTimeout(ctx, time.Second)
					var err error
					dst, err = r.Receiver.Receive(short, dst)
					cancel()
					switch {
					case err == nil:
					case ctx.Err() != nil, !errors.Is(err, context.DeadlineExceeded):
						return dst, err
					case len(dst) > n:
						return dst, nil
					}
				}
				return dst, nil
			}},
			want: []string{"queue/receive/waits"},
		},
		"returns nothing and no error": {
			b: broken{receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
				dst, err := r.Receiver.Receive(ctx, dst)
				if errors.Is(err, context.DeadlineExceeded) {
					err = nil
				}
				return dst, err
			}},
			some: []string{"queue/receive/stop", "queue/receive/waits"},
		},
		"reuses memory after close": {
			b: broken{
				receive: afterReceive(keepInHand), settle: beforeSettle(dropSettled),
				closing: afterClose(func(d *driver.Delivery) {
					for i := range d.Body {
						d.Body[i] = 'x'
					}
				}),
			},
			some: []string{"queue/close/keeps-memory", "queue/close/returns-unsettled", "queue/close/late-settlement"},
		},
		"uses the slot": {
			b: broken{
				receive: afterReceive(keepInHand), settle: beforeSettle(dropSettled),
				closing: afterClose(func(d *driver.Delivery) { d.Slot = -1 }),
			},
			some: []string{"queue/close/keeps-memory", "queue/close/returns-unsettled", "queue/close/late-settlement"},
		},
		"counts releases as attempts": {
			b: broken{receive: afterReceive(func(_ *brokenReceiver, ds []*driver.Delivery) {
				for _, d := range ds {
					d.Control.Attempt = max(d.Control.Attempt, 1) + d.Delivered - 1
				}
			})},
			some: []string{"queue/close/returns-unsettled"},
		},
		"drops after twenty deliveries": {
			b: broken{settle: beforeSettle(func(r *brokenReceiver, batch []driver.Settlement) {
				for i := range batch {
					r.count++
					if r.count == 20 && len(batch) == 1 {
						batch[i].Verdict = driver.Done
					}
				}
			})},
			some: []string{"queue/settle/many-releases"},
		},
		"releases for good": {
			b: broken{settle: beforeSettle(func(_ *brokenReceiver, batch []driver.Settlement) {
				for i := range batch {
					batch[i].Verdict = driver.Done
				}
			})},
			want: []string{
				"queue/settle/release", "queue/settle/mixed", "queue/settle/many-releases", "group/release", "queue/share/wanted",
				"queue/delay/release", "queue/delay/short-first", "queue/delay/close", "queue/delay/credit",
			},
		},
		"never finishes": {
			b: broken{settle: beforeSettle(func(_ *brokenReceiver, batch []driver.Settlement) {
				for i := range batch {
					batch[i].Verdict = driver.Release
				}
			})},
			some: []string{"queue/settle/done", "queue/settle/mixed", "queue/load/ledger"},
		},
		"ignores delays": {
			b: broken{settle: beforeSettle(func(_ *brokenReceiver, batch []driver.Settlement) {
				for i := range batch {
					batch[i].Delay = 0
				}
			})},
			want: []string{"queue/delay/release", "queue/delay/short-first", "queue/delay/close", "queue/delay/credit"},
		},
		"takes neighbours with a stale one": {
			b: broken{settle: func(r *brokenReceiver, ctx context.Context, batch []driver.Settlement) error {
				if len(batch) > 1 && batch[len(batch)/2].Delivery != nil && len(batch) == 6 {
					return nil // the server closed the channel, and the client does not know yet
				}
				return r.Receiver.Settle(ctx, batch)
			}},
			some: []string{"queue/settle/stale-in-batch"},
		},
		"hides errors of settling": {
			b: broken{settle: func(r *brokenReceiver, ctx context.Context, batch []driver.Settlement) error {
				_ = r.Receiver.Settle(ctx, batch)
				return nil
			}},
			want: []string{"queue/close/late-settlement", "queue/close/broker-in-hand"},
		},
		"is not closed": {
			b:    broken{closing: func(*brokenReceiver, context.Context) error { return nil }},
			some: []string{"queue/close/beside-receive", "queue/close/returns-unsettled", "queue/revoke/closed"},
		},
		"fetches when opened": {
			b: broken{open: func(b *mem.Broker, s driver.Source) (driver.Source, error) {
				if s.Group != "" {
					return s, nil
				}
				r, err := b.OpenQueue(context.Background(), s)
				if err == nil {
					go func() { _, _ = r.Receive(context.Background(), make([]*driver.Delivery, 0, 1)) }()
				}
				return s, err
			}},
			some: []string{"queue/receive/lazy"},
		},
		"keeps what it delivered": {
			b: broken{
				receive: afterReceive(func(r *brokenReceiver, ds []*driver.Delivery) {
					for _, d := range ds {
						d.Body = append([]byte(nil), d.Body...)
					}
					r.b.hoard(ds)
				}),
			},
			want: []string{"queue/bounds/memory"},
		},
		"has info that changes": {
			b: broken{info: func(i driver.Info) driver.Info { i.SettleBatch = 1 + rand.IntN(1000); return i }},
		},
		"says that it counts and does not": {
			b: broken{receive: afterReceive(func(_ *brokenReceiver, ds []*driver.Delivery) {
				for _, d := range ds {
					d.Delivered = 0
				}
			})},
			some: []string{"queue/receive/append"},
		},
		"names another topic": {
			b: broken{receive: afterReceive(func(_ *brokenReceiver, ds []*driver.Delivery) {
				for _, d := range ds {
					d.Topic = "other"
				}
			})},
			some: []string{"queue/receive/topics"},
		},
		"says of itself what it is not": {
			b:    broken{describe: func(d driver.Description) driver.Description { d.Info.HasCount = !d.Info.HasCount; return d }},
			want: []string{"queue/describe/true", "transact/describe"},
		},
		"is said to hold and does not say for how long": {
			b:    broken{describe: func(d driver.Description) driver.Description { d.MaxHold = time.Hour; return d }},
			want: []string{"queue/describe/true"},
		},
		"is said to take nothing back": {
			b:    broken{describe: func(d driver.Description) driver.Description { d.Revokes = false; return d }},
			want: []string{"queue/describe/true", "transact/describe"},
		},
		"counts too much": {
			b: broken{depth: func(d driver.Depth) driver.Depth { d.Ready++; return d }},
			want: []string{
				"queue/settle/done", "queue/inspect/counts", "queue/inspect/held", "queue/inspect/volatile", "group/inspect/groups",
			},
		},
		"declares under verify": {
			b:    broken{declare: func(error) error { return nil }},
			want: []string{"queue/topology/declare", "queue/close/broker"},
		},
	})
}
