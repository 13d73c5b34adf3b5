package drivertest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// faulty is the harness of a broken broker that has every hook but a restart.
func (b broken) faulty(cfg mem.Config) Harness {
	h := b.harness()
	cfg.MaxRecord = 128 << 10
	h.Setup = func(_ testing.TB, h *Harness) {
		one := b.new()
		one.Broker = mem.New(cfg)
		h.Open = func(testing.TB) driver.Broker { return one }
		faults := one.Faults()
		h.Inject = func(tb testing.TB, t driver.Topic, r driver.Record) {
			if err := faults.Inject(t.Name, r); err != nil {
				tb.Fatal(err)
			}
		}
		h.Cut = func(testing.TB, driver.Broker) func() {
			faults.Disconnect(mem.HardCut)
			return faults.Reconnect
		}
		h.CutBeforeWrite = func(_ testing.TB, _ driver.Broker, t driver.Topic) func() {
			faults.CutBefore(t.Name, -1)
			faults.CutBeforeSettle(t.Name, -1)
			return func() { faults.CutBefore(t.Name, 0); faults.CutBeforeSettle(t.Name, 0) }
		}
		h.CutAfterWrite = func(_ testing.TB, _ driver.Broker, t driver.Topic) func() {
			faults.CutAfter(t.Name, -1)
			faults.CutAfterSettle(t.Name, -1)
			return func() { faults.CutAfter(t.Name, 0); faults.CutAfterSettle(t.Name, 0) }
		}
		h.Wipe = func(testing.TB) { faults.WipeTopology() }
		h.Revoke = func(tb testing.TB, r driver.Receiver) {
			if w, ok := r.(*brokenReceiver); ok {
				r = w.Receiver
			}
			if err := faults.RevokeReceiver(r, time.Second); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return h
}

func TestBrokenUnderFaults(t *testing.T) {
	t.Parallel()
	for name, br := range map[string]breakage{
		"correct": {want: []string{}},
		"says sent while it is cut": {
			b:    broken{send: flat(func(error) error { return nil })},
			some: []string{"queue/fault/cut-send", "queue/fault/cut-close", "queue/send/closed"},
		},
		"says not sent where it may be": {
			b:    broken{send: flat(func(error) error { return driver.ErrNotSent })},
			some: []string{"queue/fault/cut-after-send"},
		},
		"says sent where it was cut off": {
			b:    broken{send: flat(func(error) error { return nil })},
			some: []string{"queue/fault/cut-before-send"},
		},
		"loses what was released when it was cut off": {
			b:    forgetful(),
			some: []string{"queue/fault/cut-before-settle", "queue/fault/cut-after-settle"},
		},
		"does not say why it waits": {
			b: broken{mute: true}, want: []string{"queue/fault/waiting"},
		},
		"does not tell of revocations": {
			b: broken{deaf: true},
			want: []string{
				"queue/revoke/settle-until", "queue/revoke/late-settlement", "queue/revoke/new-tenure", "queue/revoke/keeps-memory",
				"queue/revoke/unanswered",
				"queue/revoke/closed", "queue/bounds/goroutines", // the suite's own, which waits for news
			},
		},
		"reads attempts from headers": {
			b: broken{receive: afterReceive(func(_ *brokenReceiver, ds []*driver.Delivery) {
				for _, d := range ds {
					if slices.Contains(d.Headers, driver.Header{Key: "attempt", Value: "9"}) {
						d.Control.Attempt = 9
					}
				}
			})},
			want: []string{"queue/foreign/headers"},
		},
		"drops what it cannot parse": {
			b: broken{receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
				n := len(dst)
				for {
					var err error
					dst, err = r.Receiver.Receive(ctx, dst)
					dst = slices.Concat(dst[:n], slices.DeleteFunc(dst[n:], func(d *driver.Delivery) bool {
						return bytes.HasPrefix(d.Body, []byte("garbage "))
					}))
					if len(dst) > n || err != nil {
						return dst, err
					}
				}
			}},
			want: []string{"queue/foreign/garbage"},
		},
		"is early": {
			b: broken{send: each(func(r *driver.Record) bool {
				if r.Due != 0 {
					r.Due -= driver.Stamp(2 * time.Millisecond)
				}
				return true
			})},
			want: []string{"queue/hold/due", "queue/hold/batch", "queue/hold/short-first", "group/hold/group"},
		},
		"holds in the order of sending": {
			b: func() broken {
				return broken{sendAt: func(s *brokenHolder, batch []driver.Record) []driver.Record {
					s.b.mu.Lock()
					defer s.b.mu.Unlock()
					own := cloneRecords(batch)
					for i := range own {
						s.b.latest = max(s.b.latest, own[i].Due)
						own[i].Due = s.b.latest
					}
					return own
				}}
			}(),
			want: []string{"queue/hold/batch", "queue/hold/short-first"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			br.check(t, br.b.faulty(mem.Config{}))
		})
	}
}

// forgetful ends whatever a settlement was cut off of when it comes again.
func forgetful() broken {
	var cut sync.Map
	return broken{
		settle: func(r *brokenReceiver, ctx context.Context, batch []driver.Settlement) error {
			var names []string
			for i := range batch {
				names = append(names, batch[i].Delivery.ID.String())
			}
			err := r.Receiver.Settle(ctx, batch)
			for i, name := range names {
				if errors.Is(driver.EntryError(err, i), driver.ErrDisconnected) {
					cut.Store(name, true)
				}
			}
			return err
		},
		receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
			for {
				had := len(dst)
				got, err := r.Receiver.Receive(ctx, dst)
				kept := got[:had]
				for _, d := range got[had:] {
					if _, lost := cut.Load(d.ID.String()); !lost {
						kept = append(kept, d)
					} else if err := r.Receiver.Settle(ctx, settlements(driver.Done, d)); err != nil {
						return kept, err
					}
				}
				if len(kept) > had || err != nil {
					return kept, err
				}
			}
		},
	}
}

// A broker that applies late settlements is caught wherever a tenure ends.
func TestLateSettlementsAreFound(t *testing.T) {
	t.Parallel()
	br := breakage{some: []string{"queue/close/late-settlement", "queue/lease/late-settlement", "queue/revoke/late-settlement"}}
	cfg := mem.Config{Lease: 30 * time.Second, Weak: mem.Weak{AcceptLateSettlements: true}}
	br.check(t, plain(cfg))
}

// So is a log that takes commits of receivers that lost their partitions.
func TestLateCommitsAreFound(t *testing.T) {
	t.Parallel()
	br := breakage{want: []string{
		"queue/close/late-settlement", "queue/revoke/late-settlement", "queue/revoke/unanswered", "queue/close/broker-in-hand",
	}}
	h := broken{}.harness()
	h.Setup = func(_ testing.TB, h *Harness) {
		b := mem.NewLog(mem.LogConfig{AcceptLateSettlements: true})
		h.Open = func(testing.TB) driver.Broker { return b }
		h.Revoke = func(tb testing.TB, r driver.Receiver) {
			if err := b.Faults().RevokeReceiver(r, time.Second); err != nil {
				tb.Fatal(err)
			}
		}
	}
	br.check(t, h)
}

// plain is a harness of unbroken brokers, with every ability that cfg gives them.
func plain(cfg mem.Config) Harness {
	h := broken{}.faulty(cfg)
	setup := h.Setup
	h.Setup = func(tb testing.TB, h *Harness) {
		setup(tb, h)
		b, ok := h.Open(tb).(*broken)
		if !ok {
			tb.Fatal("the harness opened another broker")
		}
		h.Open = func(testing.TB) driver.Broker { return b.Broker }
	}
	return h
}
